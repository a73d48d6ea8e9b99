"""Values, classes and a port without handles, for tests of the codec."""

import collections
import datetime as dt
import enum
import math
import operator
import pathlib
import re
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any  # values of every type cross

import msgpack
import pytest

from assay.verifiers.split.codec import Codec
from assay.verifiers.split.wire import ProtocolError

numpy = pytest.importorskip("numpy")


class Node:
    def __init__(self, value: Any, following: Any = None) -> None:
        self.value = value
        self.following = following

    def sum(self) -> Any:
        return self.value

    @classmethod
    def of(cls, value: Any) -> "Node":
        return cls(value)


class Slotted:
    __slots__ = ("left", "right")
    left: Any
    right: Any


class Pair(collections.namedtuple("Pair", "x y")):
    __slots__ = ()


class Numbers(list[Any]):
    pass


class Way(enum.Enum):
    NORTH = 0


CLASSES: dict[str, type] = {cls.__name__: cls for cls in (Node, Slotted, Pair, Numbers, Way)}


class NoHandles:
    """A port without handles: whatever has no form of its own is refused."""

    def give(self, obj: Any) -> tuple[int, bytes]:
        raise TypeError(f"{type(obj).__name__} does not cross")

    def take(self, code: int, data: bytes) -> object:
        raise ProtocolError(f"no handle {code} {data!r}")

    def class_key(self, cls: type) -> str | None:
        return cls.__name__ if CLASSES.get(cls.__name__) is cls else None

    def class_named(self, key: str) -> type:
        return CLASSES[key]


@pytest.fixture
def codec() -> Codec:
    return Codec(NoHandles())


PLAIN = [
    None, True, False, 0, -1, 2**63 - 1, -(2**63), 2**64 - 1, 1.5, -0.0, math.inf, -math.inf, 1j, complex(-0.0, 2),
    "", "text", "\ud83d", "naïve 漢字", b"", b"\x00\xff", [], [1, [2, [3]]], (), (1, (2, [3]), ()), {},
    {"a": 1, 2: [3]},
    {(1, 2): "t", None: 0, 1.5: "f", b"k": 1, frozenset({1}): 2},
    set(), {1, "a", (2, 3)}, frozenset(), frozenset({1}),
    range(1, 10, 3), slice(1, None, -1), ..., NotImplemented,
]  # fmt: skip
LIBRARY = [
    bytearray(b"abc"), collections.OrderedDict([("b", 1), ("a", [2])]), collections.defaultdict(list, {1: [2]}),
    collections.defaultdict(None, {1: 2}), collections.Counter("abca"), collections.deque([1, [2]], maxlen=4),
    collections.deque([1]), Decimal("1.50"), Decimal("-Infinity"), Fraction(-1, 3), dt.date(2024, 2, 29),
    dt.time(1, 2, 3, 4, dt.UTC, fold=1), dt.datetime(2024, 1, 2, 3, 4, 5, 6), dt.timedelta(-1, 5, 7),
    dt.datetime(2024, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=2), "X")), dt.timezone(dt.timedelta(minutes=30)),
    uuid.UUID(int=5), re.compile("a+", re.IGNORECASE), re.compile(b"x"), pathlib.PurePosixPath("a/b"),
    pathlib.PureWindowsPath("c:/x"), {1: 2}.keys(), {1: 2}.items(),
]  # fmt: skip
NAMED = [int, str, type(None), object, ValueError, KeyError, len, sorted, math.sin, operator.add, Decimal, dt.date]
ARRAYS = [
    numpy.arange(6).reshape(2, 3), numpy.array(["a", "bcd"]), numpy.array([True, False]), numpy.array(3.5),
    numpy.zeros((0, 3)), numpy.array([1 + 2j]), numpy.array(["2024-01-01"], dtype="M8[D]"), numpy.array([b"x", b"yz"]),
    numpy.arange(4, dtype=">i2"), numpy.float64(1.5), numpy.int32(-7), numpy.bool_(True), numpy.str_("ab"),
    numpy.datetime64("2024-01-01"), numpy.array([1, None, "x"], dtype=object),
]  # fmt: skip


def extension(code: int, body: bytes) -> bytes:
    """One extension value."""
    return bytes(msgpack.packb(msgpack.ExtType(code, body)))
