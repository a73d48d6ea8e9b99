"""Hostile bytes: nothing but ProtocolError comes of them."""

import collections
import datetime as dt
import itertools
import pathlib
import random
import re
import uuid
from decimal import Decimal
from fractions import Fraction
from typing import Any  # values of every type cross

import msgpack
import pytest
from split_values import ARRAYS, LIBRARY, PLAIN, Node, Numbers, Pair, Slotted, Way, codec, extension

from assay.verifiers.split.codec import Codec
from assay.verifiers.split.wire import Code, ProtocolError

__all__ = ["codec"]

numpy = pytest.importorskip("numpy")


def _table(root: Any, nodes: Any) -> bytes:
    return extension(Code.GRAPH, msgpack.packb([root, nodes]))


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
    "an unknown extension": extension(31, b"x"),
    "a handle": extension(40, b"x"),
    "a bad timestamp": b"\xc7\x0c\xff" + b"\xff" * 12,
    "a tuple that is none": extension(Code.TUPLE, b"\x01"),
    "a set of lists": extension(Code.SET, b"\x91\x90"),
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
    "a class method hidden": _table(_node(0), [["i", "Node", [], ["of"], [1]]]),
    "half a state": _table(_node(0), [["i", "Node", [], ["value"], []]]),
    "an unknown member": _table(_node(0), [["E", "Way", "SOUTH"]]),
    "eval by name": extension(Code.NAMED, b"eval"),
    "exit by name": extension(Code.NAMED, b"exit"),
    "os.system by name": extension(Code.NAMED, b"os.system"),
    "a numpy module": extension(Code.NAMED, b"numpy.random"),
    "a date of texts": extension(Code.STDLIB, msgpack.packb(["date", ["1", "2", "3"]])),
    "a date out of range": extension(Code.STDLIB, msgpack.packb(["date", [0, 1, 1]])),
    "a fraction by zero": extension(Code.STDLIB, msgpack.packb(["Fraction", [1, 0]])),
    "a decimal that is none": extension(Code.STDLIB, msgpack.packb(["Decimal", ["x"]])),
    "a pattern that is none": extension(Code.STDLIB, msgpack.packb(["Pattern", ["(", 0]])),
    "an unknown form": extension(Code.STDLIB, msgpack.packb(["Popen", ["ls"]])),
    "an object array type": extension(Code.ARRAY, msgpack.packb(["|O", [1], b"\0" * 8])),
    "a structured array": extension(Code.ARRAY, msgpack.packb(["i4,i4", [1], b"\0" * 8])),
    "half an array": extension(Code.ARRAY, msgpack.packb(["<i8", [1], b"\0"])),
    "a wrong shape": extension(Code.ARRAY, msgpack.packb(["<i8", [1 << 40], b"\0" * 8])),
    "impossible characters": extension(Code.ARRAY, msgpack.packb(["<U1", [1], b"\xff" * 4])),
    "a zone that is a folder": extension(Code.STDLIB, msgpack.packb(["ZoneInfo", ["America"]])),
    "an edge of five ends": extension(
        Code.NETWORK, msgpack.packb(["Graph", {}, [[1, {}], [2, {}]], [[1, 2, 3, 4, 5]]])
    ),
    "an unknown frame": extension(Code.FRAME, msgpack.packb(["read_pickle", "x"])),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=list(HOSTILE))
def test_hostile_bytes_are_a_protocol_error(codec: Codec, data: bytes) -> None:
    """Bytes that are no encoding of a value raise ProtocolError and nothing else."""
    with pytest.raises(ProtocolError):
        codec.unpack(data)


def _alike() -> list[msgpack.ExtType]:
    """Tuples that are all different and have one hash, packed."""
    values = [n * (2**61 - 1) for n in range(8)]
    return [msgpack.ExtType(Code.TUPLE, msgpack.packb(item)) for item in itertools.product(values, repeat=4)]


def _mapping(keys: list[msgpack.ExtType]) -> bytes:
    return b"\xdf" + len(keys).to_bytes(4, "big") + b"".join(msgpack.packb(key) + b"\xc0" for key in keys)


@pytest.mark.parametrize(
    "data",
    [
        extension(Code.SET, msgpack.packb(_alike())),
        extension(Code.FROZENSET, msgpack.packb(_alike())),
        _mapping(_alike()),
        _table(_node(0), [["s", _alike()]]),
        _table(_node(0), [["f", _alike()]]),
        _table(_node(0), [["d", [cell for key in _alike() for cell in (key, None)]]]),
        extension(Code.NETWORK, msgpack.packb(["Graph", {}, [[key, {}] for key in _alike()], []])),
    ],
    ids=["set", "frozenset", "mapping", "set by nodes", "frozenset by nodes", "mapping by nodes", "network"],
)
def test_keys_of_one_hash_are_a_protocol_error(codec: Codec, data: bytes) -> None:
    """A few megabytes of them would take the oracle minutes."""
    with pytest.raises(ProtocolError, match="same hash"):
        codec.unpack(data)


def test_truths_of_an_array_are_zero_or_one(codec: Codec) -> None:
    """A boolean array cannot bring a third truth value."""
    back = codec.unpack(extension(Code.ARRAY, msgpack.packb(["|b1", [2], b"\x02\x00"])))

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
