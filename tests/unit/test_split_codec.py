"""Values as bytes: nothing lost from honest values."""

import collections
import math
import sys
from collections.abc import Iterator
from typing import Any  # values of every type cross

import pytest
from split_values import ARRAYS, LIBRARY, NAMED, PLAIN, Node, Numbers, Pair, Slotted, Way, codec

from assay.verifiers.split.codec import Codec
from assay.verifiers.split.wire import ProtocolError

__all__ = ["codec"]

numpy = pytest.importorskip("numpy")


@pytest.fixture
def long_integers() -> Iterator[None]:
    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    yield
    sys.set_int_max_str_digits(limit)


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
