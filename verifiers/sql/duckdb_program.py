"""The jailed program that runs a query on a copy of a DuckDB database, or makes the image of one.

The copy is a file in this process's own folder, attached read-only; then everything outside is locked away, for good.
Where the extra `sql` is not installed the program can be started all the same, and says so.
"""

import importlib.util
import os
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any  # Any: connections are untyped where duckdb is not installed, cells are of any type

from assay.verifiers.sql import answering
from assay.verifiers.sql.results import BUILT, ERROR, MEMORY, MISSING, REFUSED, Question, Typed, unpack_question

_MODULE = "duckdb"
_NAME = "task"
# No threads: this process is forked from a warm interpreter, which a library's own threads would not survive.
_CONFIG = {
    "threads": "1", "async_threads": "0", "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false", "temp_directory": "", "python_enable_replacements": "false",
}  # fmt: skip
_MEMORY_SHARE = 0.6  # of the memory limit: DuckDB itself then says that there is no more, before the jail does
_BLOCK_BYTES = 16_384  # the least: every query copies the image, which is 800 kB with the default
_ROWS_AT_ONCE = 256
_READ_ONLY = "read-only mode"


def warm() -> None:
    """Start the engine, which takes 20 ms, and let it plan and run a query."""
    if importlib.util.find_spec(_MODULE) is not None:
        _engine().execute(
            "SELECT x, count(*), avg(x) FROM range(9) AS t(x) WHERE x > 1 GROUP BY x ORDER BY x"
        ).fetchall()


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Answer one question on `fds[0]`; an image is read from `fds[1]`."""
    if importlib.util.find_spec(_MODULE) is None:
        said = answering.answer(MISSING, "duckdb is not installed")
    else:
        question = unpack_question(payload)
        said = _guarded(question, fds)
    answering.send(fds[0], said)
    return 0


@cache
def _engine() -> Any:
    import duckdb  # here, not at the top: without the extra this module must be importable, to say so

    return duckdb.connect(":memory:", config=_known(_CONFIG))


def _known(wanted: Mapping[str, str]) -> dict[str, Any]:
    """Return those settings that the installed version has."""
    import duckdb  # see above

    with duckdb.connect(":memory:") as connection:
        names = {name for (name,) in connection.execute("SELECT name FROM duckdb_settings()").fetchall()}
    return {name: value for name, value in wanted.items() if name in names}


def _guarded(question: Question, fds: tuple[int, ...]) -> bytes:
    import duckdb  # see above

    try:
        return _build(question) if question.sql is None else _run(question, question.sql, fds[answering.IMAGE])
    except (duckdb.OutOfMemoryException, MemoryError):
        return answering.answer(MEMORY, "out of memory")
    except duckdb.PermissionException as error:
        return answering.answer(REFUSED, f"refused: {error}")
    except (duckdb.TransactionException, duckdb.InvalidInputException) as error:
        return answering.answer(REFUSED if _READ_ONLY in str(error) else ERROR, str(error))
    except (duckdb.Error, ValueError, OverflowError, RecursionError, RuntimeError) as error:
        return answering.answer(ERROR, str(error))


def _build(question: Question) -> bytes:
    connection = _engine()
    path = os.path.join(tempfile.mkdtemp(), _NAME)
    connection.execute(f"ATTACH '{path}' AS {_NAME} (BLOCK_SIZE {_BLOCK_BYTES}); USE {_NAME}")
    connection.execute(question.schema)
    for table, rows in question.tables:
        name = '"' + table.replace('"', '""') + '"'
        for row in rows:
            connection.execute(f"INSERT INTO {name} VALUES ({','.join('?' * len(row))})", row)
    connection.execute(f"USE memory; DETACH {_NAME}")
    with open(path, "rb") as file:
        image = file.read()
    _remove(path)
    return answering.answer(BUILT, image)


def _run(question: Question, sql: str, image_fd: int) -> bytes:
    sql.encode()  # a lone surrogate is an error to be told
    connection = _open(image_fd, question.memory_mb)
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        return answering.answer(ERROR, "more than one statement" if statements else "no statement")
    kind = statements[0].type.name
    if kind != "SELECT":
        return answering.answer(ERROR if kind in ("EXPLAIN", "MULTI") else REFUSED, f"not a query: {kind}")
    connection.execute(statements[0])
    columns = [described[0] for described in connection.description]
    return answering.answer_rows(columns, _rows(connection), question.caps)


def _open(image_fd: int, memory_mb: int) -> Any:
    path = os.path.join(tempfile.mkdtemp(), _NAME)
    _copy(image_fd, path)
    connection = _engine()
    connection.execute(f"ATTACH '{path}' AS {_NAME} (READ_ONLY); USE {_NAME}")
    _remove(path)  # it is open; whatever ends this process, nothing of it remains
    connection.execute(f"SET memory_limit = '{max(1, int(memory_mb * _MEMORY_SHARE))}MiB'")
    connection.execute("SET enable_external_access = false; SET lock_configuration = true")
    connection.execute("BEGIN TRANSACTION READ ONLY")
    return connection


def _copy(image_fd: int, path: str) -> None:
    with open(path, "wb") as file:
        size, done = os.fstat(image_fd).st_size, 0
        while done < size:
            done += os.sendfile(file.fileno(), image_fd, done, size - done)


def _remove(path: str) -> None:
    os.unlink(path)
    os.rmdir(os.path.dirname(path))


def _rows(connection: Any) -> Iterator[list[Any]]:
    while rows := connection.fetchmany(_ROWS_AT_ONCE):
        yield from ([_travelling(cell) for cell in row] for row in rows)


def _travelling(cell: Any) -> Any:
    """Return what goes by type and text as that: what holds other values, and floats that do not equal themselves."""
    if isinstance(cell, (list, tuple, dict)):
        return Typed(type(cell).__name__, repr(cell))
    return cell if cell == cell else Typed("float", str(cell))
