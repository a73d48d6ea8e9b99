"""Values that cross between oracle and candidate: one test for each row of docs/crossing.md."""

import dataclasses
import math
from pathlib import Path

import pytest
from split_pair import Load, load

__all__ = ["load"]

LIST_NODE = """
class ListNode:
    def __init__(self, val=0, next=None):
        self.val = val
        self.next = next

    def tolist(self):
        values, node = [], self
        while node:
            values.append(node.val)
            node = node.next
        return values
"""


def test_plain_data_crosses_by_value(load: Load) -> None:
    """Arguments and results of builtin types arrive equal and of the same types."""
    module = load("def same(*args, **kwargs): return args, kwargs")

    result = module.same(1, [2.5, "x"], key={"a": (1, {2})})

    assert result == ((1, [2.5, "x"]), {"key": {"a": (1, {2})}})
    assert type(result[1]["key"]["a"]) is tuple


def test_library_values_cross_by_value(load: Load) -> None:
    """Decimals, dates, arrays and their like cross by value."""
    module = load("""
        from decimal import Decimal
        def half(x): return Decimal(x) / 2
        def double(a): return a * 2
    """)
    numpy = pytest.importorskip("numpy")

    assert str(module.half("3.0")) == "1.5"
    assert numpy.array_equal(module.double(numpy.array([1, 2])), [2, 4])


def test_frames_cross_by_value(load: Load) -> None:
    """DataFrames, Series and indexes cross with their types, labels and missing values."""
    pandas = pytest.importorskip("pandas")
    module = load("def same(x): return x")
    frame = pandas.DataFrame(
        {
            "a": [1, 2],
            "b": ["x", None],
            "c": pandas.Categorical(["p", "q"]),
            "d": pandas.array([1, None], dtype="Int64"),
        },
        index=pandas.MultiIndex.from_tuples([("u", 1), ("v", 2)], names=["k", "n"]),
    )

    pandas.testing.assert_frame_equal(module.same(frame), frame)
    pandas.testing.assert_series_equal(module.same(frame["d"]), frame["d"])


def test_expressions_and_networks_cross_by_value(load: Load) -> None:
    """sympy expressions and networkx graphs are equal to those that the test makes itself."""
    sympy, networkx = pytest.importorskip("sympy"), pytest.importorskip("networkx")
    module = load("""
        def derive(f, x): return f.diff(x)
        def path(g, a, b):
            import networkx
            return networkx.shortest_path(g, a, b)
    """)
    x = sympy.Symbol("x")

    assert module.derive(x**3, x) == 3 * x**2
    assert module.path(networkx.path_graph(4), 0, 3) == [0, 1, 2, 3]


def test_builtin_types_and_functions_cross_by_name(load: Load) -> None:
    """A builtin type or a pure function is the same object on both sides."""
    module = load("def pick(name): return {'int': int, 'len': len, 'error': ValueError, 'none': type(None)}[name]")

    assert module.pick("int") is int
    assert module.pick("len") is len
    assert module.pick("error") is ValueError
    assert module.pick("none") is type(None)


def test_library_callables_run_where_they_are_passed_to(load: Load) -> None:
    """A function of a library, passed as an argument, runs in the candidate's process and calls nobody back."""
    module = load("import os\ndef call(f, *args): return f(*args), f is os.path.join")

    assert module.call(math.sqrt, 16) == (4.0, False)
    assert module.call(Path("a").joinpath.__func__ and __import__("os").path.join, "a", "b") == ("a/b", True)


def test_subclasses_of_builtins_cross_with_a_plain_value(load: Load) -> None:
    """Named tuples, IntEnum members and their like compare and compute by value; the rest asks the candidate."""
    module = load("""
        from collections import namedtuple
        from enum import IntEnum
        Size = namedtuple("Size", "w h")
        class Color(IntEnum):
            RED = 1
            BLUE = 2
        class Name(str):
            def shout(self): return self.upper() + "!"
        def name(): return Name("ada")
    """)
    size = module.Size(2, 3)

    assert size == (2, 3)
    assert isinstance(size, tuple)
    assert (size.w, size._asdict(), repr(size)) == (2, {"w": 2, "h": 3}, "Size(w=2, h=3)")
    assert module.Color.RED < module.Color.BLUE
    assert module.Color.RED + 1 == 2
    assert module.Color.RED.name == "RED"
    assert module.name().shout() == "ADA!"
    assert {module.name(): 1}["ada"] == 1


def test_mutable_subclasses_of_builtins_follow_their_content(load: Load) -> None:
    """A list or dict subclass compares by its present content, whichever side changed it."""
    module = load("""
        class Stack(list):
            def push(self, x): self.append(x)
            def top(self): return self[-1]
        class Bag(dict):
            def __missing__(self, key): return 0
            def add(self, key): self[key] += 1
    """)
    stack, bag = module.Stack(), module.Bag()

    stack.push(1)
    stack.append(2)
    stack += [3]
    stack[0] = 9
    bag.add("x")
    bag["y"] = 5

    assert stack == [9, 2, 3]
    assert (len(stack), stack.top(), stack.pop(), list(stack)) == (3, 3, 3, [9, 2])
    assert isinstance(stack, list)
    assert (bag, bag["none"]) == ({"x": 1, "y": 5}, 0)


def test_dataclasses_compare_by_class_and_fields(load: Load) -> None:
    """Dataclass instances are equal if class and compared fields are; order, asdict and match work."""
    module = load("""
        from dataclasses import dataclass, field
        @dataclass(order=True)
        class P:
            x: int
            y: int = 0
            note: str = field(default="", compare=False)
        @dataclass
        class Q:
            x: int
        def make(x): return P(x, 1, "made")
    """)
    p = module.make(3)

    assert p == module.P(3, 1)
    assert p != module.P(3, 2)
    assert module.P(1) != module.Q(1)
    assert sorted([module.P(2), module.P(1)])[0].x == 1
    assert dataclasses.asdict(p) == {"x": 3, "y": 1, "note": "made"}
    match p:
        case module.P(x, y):
            assert (x, y) == (3, 1)
    p.x = 7
    assert p == module.P(7, 1)


def test_enum_members_are_identical(load: Load) -> None:
    """The same member is the same object, and the class can be called, indexed and iterated."""
    module = load("""
        from enum import Enum
        class Way(Enum):
            N = 0
            E = 1
        def turn(way): return Way((way.value + 1) % 2)
    """)
    way = module.Way

    assert module.turn(way.N) is way.E
    assert list(way) == [way.N, way.E]
    assert (way(1), way["N"], len(way)) == (way.E, way.N, 2)
    assert (way.E.name, way.E.value) == ("E", 1)
    assert {way.N: "n"}[way.N] == "n"


def test_prompt_classes_cross_by_value_in_both_directions(load: Load) -> None:
    """Instances of classes the prompt defines are instances of the oracle's own class, cycles included."""
    module = load(
        """
        def build(values):
            head = None
            for value in reversed(values):
                head = ListNode(value, head)
            return head
        def close(node):
            node.next = node
            return node
        def total(node): return sum(node.tolist())
        """,
        prompt=LIST_NODE,
    )

    built = module.build([1, 2, 3])

    assert type(built) is module.ListNode
    assert built.tolist() == [1, 2, 3]
    assert module.close(built).next is built
    assert module.total(module.ListNode(1, module.ListNode(5))) == 6


def test_a_prompt_class_defined_again_still_crosses(load: Load) -> None:
    """A completion that repeats the prompt's class returns instances of the oracle's."""
    module = load(LIST_NODE + "\ndef one(): return ListNode(1)\n", prompt=LIST_NODE)

    assert type(module.one()) is module.ListNode
