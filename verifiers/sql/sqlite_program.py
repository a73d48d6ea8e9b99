"""The jailed program that runs a query on a copy of an SQLite database, or makes the image of one.

The copy is in this process's memory; the query may read it and nothing else. What refuses the rest is SQLite's own
authorizer, which is asked for every single thing that a statement would do, before it does any.
"""

import mmap
import os
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any  # Any: cells are of whatever SQLite stores

from assay.verifiers.sql import answering
from assay.verifiers.sql.lexing import leading_words, only_statement
from assay.verifiers.sql.results import Caps, Kind, Question, unpack_question

_READS = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
_PRAGMAS = frozenset({
    "collation_list", "data_version", "foreign_key_list", "function_list", "index_info", "index_list", "index_xinfo",
    "table_info", "table_list", "table_xinfo",
})  # fmt: skip
_FUNCTIONS = frozenset({"edit", "fts3_tokenizer", "load_extension", "readfile", "writefile", "zipfile"})
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 16_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 2_000_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 1000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 500,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 5_000_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 10_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_CATALOGUE = "sqlite_master"  # asked for when a virtual table is opened; nothing lets a statement itself change it
_QUERIES = frozenset({"SELECT", "VALUES", "WITH"})
_NAMES = {
    sqlite3.SQLITE_FUNCTION: "a function that is not for queries", sqlite3.SQLITE_INSERT: "INSERT",
    sqlite3.SQLITE_UPDATE: "UPDATE", sqlite3.SQLITE_DELETE: "DELETE", sqlite3.SQLITE_PRAGMA: "a pragma that sets",
}  # fmt: skip
"""What is refused in statements that begin as queries do; all others are named by their first word."""
_HEAP_SHARE = 0.8  # of the memory limit: SQLite itself then says that there is no more, before the jail does
_ROWS_AT_ONCE = 256


def warm() -> None:
    """Run a query, so that whatever SQLite sets up once is set up."""
    tables = [("t", [[1]])]
    question = Question("SELECT x, count(*) FROM t GROUP BY x", "CREATE TABLE t(x)", tables, Caps(1, 1000), 64)
    _run(_build(question), question)


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Answer one question on `fds[0]`; an image is read from `fds[1]`."""
    question = unpack_question(payload)
    answering.send(fds[0], _answer(question, fds))
    return 0


def _answer(question: Question, fds: tuple[int, ...]) -> bytes:
    if question.sql is None:
        try:
            return answering.answer(Kind.BUILT, _build(question))
        except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError) as error:
            return answering.answer(Kind.ERROR, str(error))
        except MemoryError:
            return answering.answer(Kind.MEMORY, "out of memory")
    with mmap.mmap(
        fds[answering.IMAGE], os.fstat(fds[answering.IMAGE]).st_size, mmap.MAP_PRIVATE, mmap.PROT_READ
    ) as image:
        return _run(image, question)


def _build(question: Question) -> bytes:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(question.schema)
    connection.execute("BEGIN")
    answering.insert(connection.execute, question.tables, (sqlite3.Error, OverflowError))
    if connection.in_transaction:
        connection.execute("COMMIT")
    return connection.serialize()


def _run(image: bytes | mmap.mmap, question: Question) -> bytes:
    assert question.sql is not None
    refused: list[str] = []
    try:
        connection = _open(image, question.memory_mb, refused)
        statement = only_statement(question.sql)
        if statement is None:
            return answering.answer(Kind.ERROR, "more than one statement")
        if leading_words(statement, 1) == ["EXPLAIN"]:
            return answering.answer(Kind.ERROR, "not a query: EXPLAIN")
        cursor = connection.execute(statement)
        if cursor.description is None:
            return answering.answer(Kind.ERROR, "the statement gives no rows")
        columns = [described[0] for described in cursor.description]
        return answering.answer_rows(columns, _rows(cursor), question.caps, sqlite3.sqlite_version)
    except MemoryError:
        return answering.answer(Kind.MEMORY, "out of memory")
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, RecursionError) as error:
        if refused:
            return answering.answer(Kind.REFUSED, f"refused: {_name(question.sql, refused[0])}")
        return answering.answer(Kind.ERROR, str(error))


def _name(sql: str, refused: str) -> str:
    """Return what a refused statement is called; the engine's own word for it may be one of its steps."""
    first = next(iter(leading_words(sql, 1)), refused)
    return refused if first in _QUERIES else first


def _open(image: bytes | mmap.mmap, memory_mb: int, refused: list[str]) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
    connection.deserialize(image)
    connection.text_factory = _text
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"PRAGMA hard_heap_limit = {int(memory_mb * _HEAP_SHARE) << 20}")
    if hasattr(connection, "enable_load_extension"):  # builds of Python without it cannot load any
        connection.enable_load_extension(False)
    for category, value in _LIMITS.items():
        connection.setlimit(category, value)
    _open_virtual_tables(connection)
    connection.set_authorizer(_authorizer(refused))
    return connection


def _open_virtual_tables(connection: sqlite3.Connection) -> None:
    """Have them opened before anything is refused: some prepare their own writes then, long before any is made."""
    virtual = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%'"
    for (table,) in connection.execute(virtual).fetchall():
        try:
            connection.execute(f"SELECT 1 FROM {answering.quoted(table)} LIMIT 0")
        except sqlite3.Error:
            continue  # whoever names it will be told


def _text(stored: bytes) -> str:
    """Texts need not be UTF-8; bytes that are not stay apart from all others."""
    return stored.decode("utf-8", "surrogateescape")


def _rows(cursor: sqlite3.Cursor) -> Iterator[tuple[Any, ...]]:
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield from rows


def _authorizer(refused: list[str]) -> Callable[..., int]:
    """Return what SQLite asks before it does anything; what was refused is noted."""

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in _READS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in _FUNCTIONS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() in _PRAGMAS:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_UPDATE and first == _CATALOGUE:
            return sqlite3.SQLITE_OK
        refused.append(_NAMES.get(action, "a statement that is no query"))
        return sqlite3.SQLITE_DENY

    return authorize
