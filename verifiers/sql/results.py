"""What goes to and from the processes of `sql`: one question, and one answer that is hostile until it is validated."""

import datetime
import decimal
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any  # Any: msgpack values

import msgpack

MOST_CHARACTERS = 500
"""Of a message."""
_TYPED, _WIDE, _DECIMAL = 1, 2, 3
_WIDE_DIGITS = 80  # 128 bits have 39, and 256 have 78
_DECIMAL_TEXT = re.compile(rb"-?[0-9]{1,80}\.[0-9]{1,80}")
_MORE = 4096  # beside the rows of an answer


class Kind(StrEnum):
    """What an answer is; all but the first two hold a message."""

    ROWS = "rows"
    BUILT = "built"
    """An image of a database."""
    ERROR = "error"
    """Something is wrong with the query."""
    REFUSED = "refused"
    """It did what it must not."""
    LARGE = "large"
    """It has more than `Caps` allow."""
    MEMORY = "memory"
    """The engine found too little."""
    MISSING = "missing"
    """There is no engine."""


@dataclass(frozen=True)
class Typed:
    """A value that is no number, text or bytes, such as a date or a list: equal if its type and its text are."""

    type: str
    text: str


Cell = None | bool | int | float | Fraction | str | bytes | Typed
Row = tuple[Cell, ...]
Tables = Sequence[tuple[str, Sequence[Sequence[Any]]]]
"""Rows to insert, by table."""


@dataclass(frozen=True)
class Table:
    """The result of a query."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    engine: str = ""
    """The version of what found them, as that says itself."""


@dataclass(frozen=True)
class Caps:
    """What a result may hold at most."""

    rows: int
    size_bytes: int


@dataclass(frozen=True)
class Question:
    """What a process is asked: to build an image of a database (`sql` is None), or to run a query on one."""

    sql: str | None
    schema: str
    tables: Tables
    caps: Caps
    memory_mb: int


class BadAnswer(ValueError):
    """A process did not answer in the agreed way."""


def pack_question(question: Question) -> bytes:
    """Return the payload of a process."""
    caps = [question.caps.rows, question.caps.size_bytes]
    asked = [question.sql, question.schema, list(question.tables), caps, question.memory_mb]
    return bytes(msgpack.packb(asked, unicode_errors="surrogatepass"))


def unpack_question(payload: bytes) -> Question:
    """Return what a process is asked."""
    sql, schema, tables, caps, memory_mb = msgpack.unpackb(payload, unicode_errors="surrogatepass")
    return Question(sql, schema, tables, Caps(*caps), memory_mb)


def row_packer() -> Callable[[Sequence[Any]], bytes]:
    """Return what puts a row in the form in which it travels; values of types that do not go by type and text.

    One for all rows: each new one takes 256 kB of memory first.
    """
    pack: Callable[[Sequence[Any]], bytes] = msgpack.Packer(default=_pack, unicode_errors="surrogateescape").pack
    return pack


def room_for(caps: Caps) -> int:
    """Return how many bytes an answer within these bounds has at most."""
    return caps.size_bytes + _MORE


def unpack_answer(said: bytes, question: Question) -> tuple[Kind, Any]:
    """Return the kind of an answer and its content: a Table, bytes or a message.

    Raises BadAnswer, for an image in answer to a query too, and for rows in answer to none.
    """
    try:
        kind, *content = msgpack.unpackb(said, ext_hook=_unpack, unicode_errors="surrogateescape")
    except (ValueError, TypeError, RecursionError) as error:
        raise BadAnswer("unreadable") from error
    match kind, content:
        case Kind.ROWS, [str(engine), list(columns), list(rows)] if question.sql is not None:
            return Kind.ROWS, _table(engine, columns, rows, question.caps)
        case Kind.BUILT, [bytes(image)] if question.sql is None:
            return Kind.BUILT, image
        case ((Kind.ERROR | Kind.REFUSED | Kind.LARGE | Kind.MEMORY | Kind.MISSING), [str(message)]):
            return Kind(kind), message[:MOST_CHARACTERS].encode("utf-8", "replace").decode()
    raise BadAnswer("of an unknown kind, or to another question")


def _table(engine: str, columns: list[Any], rows: list[Any], caps: Caps) -> Table:
    if len(rows) > caps.rows or not all(isinstance(name, str) for name in columns):
        raise BadAnswer("bad columns, or too many rows")
    width, known = len(columns), frozenset({type(None), bool, int, float, Fraction, str, bytes, Typed})
    for row in rows:
        if type(row) is not list or len(row) != width or not known.issuperset(map(type, row)):
            raise BadAnswer("a bad row")
    return Table(tuple(columns), tuple(map(tuple, rows)), engine)


def _pack(value: object) -> object:
    if isinstance(value, int):
        return msgpack.ExtType(_WIDE, str(value).encode())
    if isinstance(value, decimal.Decimal):
        return _number(value)
    if isinstance(value, Typed):
        return _typed(value.type, value.text)
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, (datetime.date, datetime.time, uuid.UUID)):
        return _typed(type(value).__name__, value.isoformat() if not isinstance(value, uuid.UUID) else str(value))
    return _typed(type(value).__name__, repr(value))


def _number(value: decimal.Decimal) -> object:
    """Integers stay exact, and decimals that no float is written as; the nearest float stands for every other."""
    if not value.is_finite():
        return float(value)
    whole = int(value)
    if whole != value:
        nearest = float(value)
        if decimal.Decimal(repr(nearest)) == value:
            return nearest
        return msgpack.ExtType(_DECIMAL, f"{value:f}".encode())
    return whole if whole.bit_length() < 64 else msgpack.ExtType(_WIDE, str(whole).encode())


def _typed(name: str, text: str) -> object:
    return msgpack.ExtType(_TYPED, msgpack.packb([name, text], unicode_errors="surrogatepass"))


def _unpack(code: int, data: bytes) -> object:
    if code == _WIDE:
        if len(data) > _WIDE_DIGITS:
            raise BadAnswer("a number of too many digits")
        return int(data)
    if code == _DECIMAL:
        if not _DECIMAL_TEXT.fullmatch(data):
            raise BadAnswer("no decimal, or one of too many digits")
        return Fraction(data.decode())
    if code != _TYPED:
        raise BadAnswer("an unknown type")
    name, text = msgpack.unpackb(data, unicode_errors="surrogatepass")
    if not (isinstance(name, str) and isinstance(text, str)):
        raise BadAnswer("a bad value")
    return Typed(name, text)
