"""The jailed program that runs a query on a copy of a DuckDB database, or makes the image of one.

The copy is a file in this process's own folder, attached read-only; then everything outside is locked away, for good.
Where the extra `sql` is not installed the program can be started all the same, and says so.
"""

import gc
import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any  # Any: connections are untyped where duckdb is not installed, cells are of any type

from assay.sandboxes.pages import fill_holes, library_in_large_pages, room_in_large_pages
from assay.verifiers.sql import answering
from assay.verifiers.sql.lexing import leading_words
from assay.verifiers.sql.results import Caps, Kind, Question, Tables, Typed, unpack_question

_MODULE = "_duckdb"  # the extension: the package `duckdb` around it would import 60 modules that no query needs
_NAME = "task"
USUAL_MEMORY_MB = 512
"""The limit of a task that sets none: the warm engine has it already."""
_MEMORY_SHARE = 0.6  # of the memory limit: DuckDB itself then says that there is no more, before the jail does
# No threads: this process is forked from a warm interpreter, which a library's own threads would not survive.
_CONFIG = {
    "threads": "1", "async_threads": "0", "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false", "temp_directory": "", "python_enable_replacements": "false",
}  # fmt: skip
_OPENING = (f"ATTACH '{_NAME}' (TYPE duckdb, READ_ONLY)", f"USE {_NAME}")
_CLOSING = (
    "SET enable_external_access = false", "SET lock_configuration = true", "BEGIN TRANSACTION READ ONLY",
)  # fmt: skip
_BLOCK_BYTES = 16_384  # the least: every query copies the image, which is 800 kB with the default
_ROWS_AT_ONCE = 256
_ALLOCATOR = "duckdb_je_"  # how the engine's own jemalloc begins its names
_ROOM_BYTES = 8 << 20  # the engine clears 2 MB for the groups of every query that has some
_READ_ONLY = "read-only mode"
_QUERIES = frozenset({
    "DESCRIBE", "FROM", "PIVOT", "PIVOT_LONGER", "PIVOT_WIDER", "SELECT", "SHOW", "SUMMARIZE", "TABLE", "UNPIVOT",
    "VALUES", "WITH",
})  # fmt: skip
_PRAGMAS = frozenset({
    "collations", "functions", "show", "show_tables", "show_tables_expanded", "storage_info", "table_info",
})  # fmt: skip
"""Those that tell of tables and settings, and change nothing."""
_REHEARSED = (
    "SELECT s.name, count(*), avg(t.x) FROM t JOIN s ON t.s = s.id WHERE t.x > 1 GROUP BY s.name ORDER BY 2 DESC, 1"
)


def warm() -> None:
    """Start the engine, which takes 20 ms, rehearse a question, and make forks of this process cheap."""
    if importlib.util.find_spec(_MODULE) is None:
        return
    _rehearse()
    library_in_large_pages(_library())
    gc.collect()
    fill_holes()
    room_in_large_pages(_library(), _ALLOCATOR, _ROOM_BYTES)


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Answer one question on `fds[0]`; an image is read from `fds[1]`."""
    if importlib.util.find_spec(_MODULE) is None:
        said = answering.answer(Kind.MISSING, "duckdb is not installed")
    else:
        question = unpack_question(payload)
        said = _guarded(question, fds)
    answering.send(fds[0], said)
    return 0


@cache  # of the process: the warm interpreter's is there in every child, and nothing could hand it over
def _engine() -> Any:
    import _duckdb as duckdb  # here, not at the top: without the extra this module must be importable, to say so

    connection = duckdb.connect(":memory:", config=_known(_CONFIG))
    connection.execute(_memory_limit(USUAL_MEMORY_MB))
    return connection


@cache  # likewise: parsed once, before any child
def _steps(statements: tuple[str, ...]) -> list[Any]:
    """Return statements in the form in which they need no parsing any more."""
    return [step for statement in statements for step in _engine().extract_statements(statement)]


def _memory_limit(memory_mb: int) -> str:
    return f"SET memory_limit = '{max(1, int(memory_mb * _MEMORY_SHARE))}MiB'"


def _known(wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return those settings that the installed version has."""
    import _duckdb as duckdb  # see above

    with duckdb.connect(":memory:") as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM duckdb_settings()").fetchall()}
    return {name: value for name, value in wanted.items() if name in names}


def _library() -> str:
    """Return the file that the engine's code is in."""
    import _duckdb as duckdb  # see above

    return str(duckdb.__file__)


def _rehearse() -> None:
    """Do all that a query's process does, up to what cannot be taken back."""
    schema = "CREATE TABLE s(id INTEGER PRIMARY KEY, name VARCHAR); CREATE TABLE t(x DOUBLE, s INTEGER)"
    rows: Tables = [("s", [[1, "a"], [2, "b"]]), ("t", [[n / 2, n % 2 + 1] for n in range(9)])]
    caps = Caps(100, 10_000)
    fd = os.memfd_create("rehearsal")
    os.write(fd, _image(Question(None, schema, rows, caps, USUAL_MEMORY_MB)))
    _attach(fd)
    os.close(fd)
    _steps(_CLOSING)
    _answer_query(_engine().extract_statements(_REHEARSED)[0], caps)
    _engine().execute(f"USE memory; DETACH {_NAME}")


def _guarded(question: Question, fds: tuple[int, ...]) -> bytes:
    import _duckdb as duckdb  # see above

    try:
        return _build(question) if question.sql is None else _run(question, question.sql, fds[answering.IMAGE])
    except (duckdb.OutOfMemoryException, MemoryError):
        return answering.answer(Kind.MEMORY, "out of memory")
    except duckdb.PermissionException as error:
        return answering.answer(Kind.REFUSED, f"refused: {error}")
    except (duckdb.TransactionException, duckdb.InvalidInputException) as error:
        return answering.answer(Kind.REFUSED if _READ_ONLY in str(error) else Kind.ERROR, str(error))
    except (duckdb.Error, ValueError, OverflowError, RecursionError, RuntimeError) as error:
        return answering.answer(Kind.ERROR, str(error))


def _build(question: Question) -> bytes:
    return answering.answer(Kind.BUILT, _image(question))


def _image(question: Question) -> bytes:
    """Return the bytes of a database with that schema and those rows."""
    import _duckdb as duckdb  # see above

    connection = _engine()
    with _own_folder():
        connection.execute(f"ATTACH '{_NAME}' (BLOCK_SIZE {_BLOCK_BYTES}); USE {_NAME}")
        connection.execute(question.schema)
        faults = (duckdb.DataError, duckdb.IntegrityError, duckdb.ProgrammingError, duckdb.NotSupportedError)
        answering.insert(connection.execute, question.tables, faults)
        connection.execute(f"USE memory; DETACH {_NAME}")
        with open(_NAME, "rb") as file:
            return file.read()


def _run(question: Question, sql: str, image_fd: int) -> bytes:
    sql.encode()  # a lone surrogate is an error to be told
    connection = _open(image_fd, question.memory_mb)
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        return answering.answer(Kind.ERROR, "more than one statement" if statements else "no statement")
    refusal = _refusal(_kind(statements[0]), leading_words(sql, 2))
    if refusal is not None:
        return refusal
    return _answer_query(statements[0], question.caps)


def _answer_query(statement: Any, caps: Caps) -> bytes:
    import _duckdb as duckdb  # see above

    connection = _engine()
    connection.execute(statement)
    columns = [described[0] for described in connection.description]
    return answering.answer_rows(columns, _rows(connection), caps, str(duckdb.__version__))


def _kind(statement: Any) -> str:
    """Return what the engine calls such a statement; some that it parses have no name in this package."""
    try:
        return str(statement.type.name)
    except ValueError:
        return "unnamed"


def _refusal(kind: str, words: Sequence[str]) -> bytes | None:
    """Return the answer to what is no query; None for one. `words` are the statement's first ones, in capitals.

    Some queries are several steps to the engine (MULTI): those with a PIVOT whose columns it has to find first.
    """
    first = words[0] if words else ""
    if kind == "SELECT" or (kind == "MULTI" and first in _QUERIES):
        return None
    if kind == "PRAGMA" and first == "PRAGMA" and words[1:] and words[1].lower() in _PRAGMAS:
        return None
    name = kind if first in _QUERIES else first or kind
    return answering.answer(Kind.ERROR if name == "EXPLAIN" else Kind.REFUSED, f"not a query: {name}")


def _open(image_fd: int, memory_mb: int) -> Any:
    connection = _engine()
    _attach(image_fd)
    if memory_mb != USUAL_MEMORY_MB:
        connection.execute(_memory_limit(memory_mb))
    for step in _steps(_CLOSING):
        connection.execute(step)
    return connection


def _attach(image_fd: int) -> None:
    """Attach a copy of the image, read-only. It has no name any more: whatever ends this process, nothing remains."""
    with _own_folder():
        _copy(image_fd, _NAME)
        for step in _steps(_OPENING):
            _engine().execute(step)


@contextmanager
def _own_folder() -> Iterator[None]:
    """Work in a new folder, which is removed again: names in it are the same for every process."""
    folder = f"{os.environ.get('TMPDIR', '/tmp')}/{os.urandom(16).hex()}"
    os.mkdir(folder, 0o700)
    os.chdir(folder)
    try:
        yield
    finally:
        for name in os.listdir():
            os.unlink(name)
        os.chdir("/")
        os.rmdir(folder)


def _copy(image_fd: int, path: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    size, done = os.fstat(image_fd).st_size, 0
    while done < size:
        done += os.sendfile(file, image_fd, done, size - done)
    os.close(file)


def _rows(connection: Any) -> Iterator[list[Any]]:
    while rows := connection.fetchmany(_ROWS_AT_ONCE):
        yield from ([_travelling(cell) for cell in row] for row in rows)


def _travelling(cell: Any) -> Any:
    """Return what goes by type and text as that: what holds other values, and floats that do not equal themselves."""
    if isinstance(cell, (list, tuple, dict)):
        return Typed(type(cell).__name__, repr(cell))
    return cell if cell == cell else Typed("float", str(cell))
