"""Values as bytes: nothing lost from honest values, nothing but ProtocolError from hostile bytes."""

import collections
import datetime as dt
import enum
import math
import operator
import pathlib
import random
import re
import sys
import uuid
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any  # values of every type cross

import msgpack
import pytest

from assay.verifiers.split.codec import Codec
from assay.verifiers.split.wire import Code, ProtocolError

numpy = pytest.importorskip("numpy")


class Node:
    def __init__(self, value: Any, following: Any = None) -> None:
        self.value = value
        self.following = following

    def sum(self) -> Any:
        return self.value


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


@pytest.fixture
def long_integers() -> Iterator[None]:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


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


@pytest.mark.parametrize("value", PLAIN + LIBRARY + ARRAYS, ids=lambda value: f"{type(value).__name__}")
def test_a_value_comes_back_equal_and_of_the_same_type(codec: Codec, value: Any) -> None:
    """Decoding the encoding of a value gives an equal value of exactly the same type."""
    back = codec.unpack(codec.pack(value))

    assert type(back) is type(value)
    assert repr(back) == repr(value)


@pytest.mark.parametrize("value", NAMED, ids=lambda value: value.__name__)
def test_a_named_object_comes_back_as_itself(codec: Codec, value: Any) -> None:
    """Builtin types and pure functions cross by name and are the same object on the other side."""
    assert codec.unpack(codec.pack(value)) is value


def test_nan_keeps_being_nan(codec: Codec) -> None:
    """NaN crosses as NaN, inside containers too."""
    assert math.isnan(codec.unpack(codec.pack([float("nan")]))[0])


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**9999, -(10**9999)], ids=["64", "-63", "long", "-long"])
@pytest.mark.usefixtures("long_integers")
def test_integers_of_any_size_cross(codec: Codec, value: int) -> None:
    """Integers beyond 64 bits cross exactly."""
    assert codec.unpack(codec.pack(value)) == value


def test_mapping_order_is_kept(codec: Codec) -> None:
    """A dict keeps the order of its keys."""
    assert list(codec.unpack(codec.pack({"b": 1, "a": 2, "c": 3}))) == ["b", "a", "c"]


def test_cycles_cross(codec: Codec) -> None:
    """A list that contains itself, and a tuple in a cycle, come back as such."""
    loop: list[Any] = [1]
    loop.append((loop, {"self": loop}))

    back = codec.unpack(codec.pack(loop))

    assert back[1][0] is back
    assert back[1][1]["self"] is back


def test_shared_references_stay_shared(codec: Codec) -> None:
    """Two references to one list are two references to one list afterwards."""
    row = [0]

    back = codec.unpack(codec.pack([row, row]))

    assert back[0] is back[1]


def test_depth_does_not_matter(codec: Codec) -> None:
    """Nesting far beyond the recursion limit crosses, of lists, tuples and instances."""
    nested: Any = ()
    for _ in range(10_000):
        nested = [(nested,), None]
    chain = Node(0)
    for number in range(10_000):
        chain = Node(number, chain)

    back, links = codec.unpack(codec.pack([nested, chain]))

    depth = 0
    while back:
        back, depth = back[0][0], depth + 1
    length = 0
    while links:
        links, length = links.following, length + 1
    assert (depth, length) == (10_000, 10_001)


def test_exponential_sharing_is_linear(codec: Codec) -> None:
    """A structure whose tree would have 2^60 leaves crosses in the size of its nodes."""
    shared: Any = (1,)
    for _ in range(60):
        shared = (shared, shared)

    assert len(codec.pack(shared)) < 5_000


def test_prompt_instances_cross_by_value(codec: Codec) -> None:
    """Instances of the prompt's classes come back with their state, cycles and slots included."""
    node = Node(1)
    node.following = Node(2, node)
    slotted = Slotted()
    slotted.left = [slotted]

    back, other = codec.unpack(codec.pack([node, slotted]))

    assert type(back) is Node
    assert back.following.following is back
    assert other.left[0] is other
    assert not hasattr(other, "right")


def test_prompt_subclasses_of_builtins_cross_by_value(codec: Codec) -> None:
    """Prompt-defined named tuples, list subclasses and enum members keep their class."""
    back = codec.unpack(codec.pack([Pair(1, [2]), Numbers([1, 2]), Way.NORTH]))

    assert back == [Pair(1, [2]), Numbers([1, 2]), Way.NORTH]
    assert [type(item) for item in back] == [Pair, Numbers, Way]


def test_a_state_that_hides_a_method_is_refused(codec: Codec) -> None:
    """An instance cannot bring an attribute in the place of a method of the prompt's class."""
    liar = Node(1)
    liar.__dict__["sum"] = 5

    with pytest.raises(ProtocolError, match="hides"):
        codec.unpack(codec.pack(liar))


def test_containers_are_listed_alike_on_both_sides(codec: Codec) -> None:
    """The containers of arguments have the same numbers for encoder and decoder, by tree and by table."""
    shared = [9]
    for value in ([[1, {"k": [2]}, (3, [4])], {}], [[shared, {5: shared}, collections.deque([shared])]]):
        data, mine = codec.pack_tracked(value)
        _, theirs = codec.unpack_tracked(data)

        assert [repr(item) for item in mine] == [repr(item) for item in theirs]


def test_known_containers_cross_as_references(codec: Codec) -> None:
    """A container that the peer has already comes back as the peer's very object."""
    mine, theirs = [1], [1]

    back = codec.unpack(codec.pack({"inner": (mine, 2)}, {id(mine): 0}), [theirs])

    assert back["inner"][0] is theirs


def _extension(code: int, body: bytes) -> bytes:
    return bytes(msgpack.packb(msgpack.ExtType(code, body)))


def _table(root: Any, nodes: Any) -> bytes:
    return _extension(Code.GRAPH, msgpack.packb([root, nodes]))


def _node(index: int) -> msgpack.ExtType:
    return msgpack.ExtType(Code.NODE, index.to_bytes(4, "big"))


def _nested_extensions(depth: int) -> bytes:
    body = msgpack.packb([])
    for _ in range(depth):
        body = msgpack.packb([msgpack.ExtType(Code.TUPLE, body)])
    return bytes(body)


HOSTILE = {
    "nothing": b"",
    "reserved": b"\xc1",
    "trailing bytes": b"\x01\x01",
    "a list of four billion": b"\xdd\xff\xff\xff\xff",
    "bad utf-8": b"\xa2\xff\xfe",
    "an unhashable key": b"\x81\x90\x01",
    "a deep list": b"\x91" * 100_000,
    "deep extensions": _nested_extensions(2_000),
    "an unknown extension": _extension(31, b"x"),
    "a handle": _extension(40, b"x"),
    "a bad timestamp": b"\xc7\x0c\xff" + b"\xff" * 12,
    "a tuple that is none": _extension(Code.TUPLE, b"\x01"),
    "a set of lists": _extension(Code.SET, b"\x91\x90"),
    "a node outside a table": msgpack.packb([_node(0)]),
    "a node that does not exist": _table(_node(7), [["l", []]]),
    "a tuple in itself": _table(_node(0), [["t", [_node(0)]]]),
    "tuples in each other": _table(_node(0), [["t", [_node(1)]], ["t", [_node(0)]]]),
    "a raw list in a cell": _table(_node(0), [["l", [[1]]]]),
    "half a mapping": _table(_node(0), [["d", [1]]]),
    "an unknown node": _table(_node(0), [["z", []]]),
    "no nodes": _table(1, 5),
    "an unknown class": _table(_node(0), [["i", "Missing", [], [], []]]),
    "a method hidden": _table(_node(0), [["i", "Node", [], ["sum"], [1]]]),
    "a special method": _table(_node(0), [["i", "Node", [], ["__eq__"], [1]]]),
    "half a state": _table(_node(0), [["i", "Node", [], ["value"], []]]),
    "an unknown member": _table(_node(0), [["E", "Way", "SOUTH"]]),
    "eval by name": _extension(Code.NAMED, b"eval"),
    "exit by name": _extension(Code.NAMED, b"exit"),
    "os.system by name": _extension(Code.NAMED, b"os.system"),
    "a numpy module": _extension(Code.NAMED, b"numpy.random"),
    "a date of texts": _extension(Code.STDLIB, msgpack.packb(["date", ["1", "2", "3"]])),
    "a date out of range": _extension(Code.STDLIB, msgpack.packb(["date", [0, 1, 1]])),
    "a fraction by zero": _extension(Code.STDLIB, msgpack.packb(["Fraction", [1, 0]])),
    "a decimal that is none": _extension(Code.STDLIB, msgpack.packb(["Decimal", ["x"]])),
    "a pattern that is none": _extension(Code.STDLIB, msgpack.packb(["Pattern", ["(", 0]])),
    "an unknown form": _extension(Code.STDLIB, msgpack.packb(["Popen", ["ls"]])),
    "an object array type": _extension(Code.ARRAY, msgpack.packb(["|O", [1], b"\0" * 8])),
    "a structured array": _extension(Code.ARRAY, msgpack.packb(["i4,i4", [1], b"\0" * 8])),
    "half an array": _extension(Code.ARRAY, msgpack.packb(["<i8", [1], b"\0"])),
    "a wrong shape": _extension(Code.ARRAY, msgpack.packb(["<i8", [1 << 40], b"\0" * 8])),
    "impossible characters": _extension(Code.ARRAY, msgpack.packb(["<U1", [1], b"\xff" * 4])),
    "an unknown frame": _extension(Code.FRAME, msgpack.packb(["read_pickle", "x"])),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_bytes_are_a_protocol_error(codec: Codec, data: bytes) -> None:
    """Bytes that are no encoding of a value raise ProtocolError and nothing else."""
    with pytest.raises(ProtocolError):
        codec.unpack(data)


def test_truths_of_an_array_are_zero_or_one(codec: Codec) -> None:
    """A boolean array cannot bring a third truth value."""
    back = codec.unpack(_extension(Code.ARRAY, msgpack.packb(["|b1", [2], b"\x02\x00"])))

    assert back.tobytes() == b"\x01\x00"


ALLOWED = (
    type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice,
    type(...), type(NotImplemented), Node, Slotted, Pair, Numbers, Way, type, type(len), numpy.ndarray, numpy.generic,
    numpy.ufunc, Decimal, Fraction, dt.date, dt.time, dt.timedelta, dt.tzinfo, uuid.UUID, re.Pattern, pathlib.PurePath,
    collections.deque, type({}.keys()), type({}.items()), type({}.values()),
)  # fmt: skip


def _check_exact(value: Any, seen: set[int]) -> None:
    assert isinstance(value, ALLOWED), type(value)
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, dict):
        for key, item in value.items():
            _check_exact(key, seen)
            _check_exact(item, seen)
    elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        for item in value:
            _check_exact(item, seen)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_bytes_give_a_value_or_a_protocol_error(codec: Codec, seed: int) -> None:
    """Encodings with bytes changed, cut and repeated never raise anything but ProtocolError, and stay plain."""
    dice = random.Random(seed)
    loop: list[Any] = []
    loop.append(loop)
    originals = [codec.pack(value) for value in [*PLAIN, *LIBRARY, *ARRAYS, loop, Node(1, Node(2)), [Pair(1, 2)]]]
    for _ in range(300):
        data = bytearray(dice.choice(originals))
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data) + 1)
            match dice.randrange(3):
                case 0 if at < len(data):
                    data[at] = dice.randrange(256)
                case 1:
                    data[at:at] = dice.choice(originals)[: dice.randrange(40)]
                case _:
                    del data[at : at + dice.randrange(8)]

        try:
            value = codec.unpack(bytes(data))
        except ProtocolError:
            continue

        _check_exact(value, set())
