"""What calls pass, change, print and call back: one test for each row of docs/crossing.md."""

import collections
import collections.abc
import contextlib
import functools
import io
from pathlib import Path
from typing import Any  # candidates return values of every type
from unittest.mock import Mock

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


def test_callables_are_called_back(load: Load) -> None:
    """Functions, lambdas, bound methods, partials and mocks passed as arguments run in the oracle."""
    module = load("""
        import functools
        def each(f, xs): return [f(x) for x in xs]
        def ordered(xs, key): return sorted(xs, key=key)
        def compose(f, g): return lambda x: f(g(x))
        def counted(f):
            @functools.wraps(f)
            def inner(*args, **kwargs):
                inner.calls += 1
                return f(*args, **kwargs)
            inner.calls = 0
            return inner
    """)
    calls: list[int] = []
    mock = Mock(return_value=4)

    @module.counted
    def add(a: int, b: int = 1) -> int:
        """adds"""
        return a + b

    assert module.each(lambda x: x * 2, [1, 2]) == [2, 4]
    assert module.each(calls.append, [1, 2]) == [None, None]
    assert calls == [1, 2]
    assert module.each(functools.partial(pow, 2), [3]) == [8]
    assert module.ordered([3, 1, 2], functools.cmp_to_key(lambda a, b: b - a)) == [3, 2, 1]
    assert module.each(mock, [7]) == [4]
    mock.assert_called_once_with(7)
    assert module.compose(lambda x: x + 1, lambda x: x * 2)(5) == 11
    assert (add(1, b=4), add.calls, add.__name__, add.__doc__) == (5, 1, "add", "adds")


def test_exceptions_of_callbacks_pass_through(load: Load) -> None:
    """What a callback raises can be caught by the candidate, and otherwise comes back as the very same object."""
    module = load("""
        def call(f): return f()
        def guarded(f):
            try: return f()
            except ValueError as error: return f"caught {error}"
        def throw(kind): raise kind("thrown")
    """)

    class Mine(Exception):
        pass

    error = Mine("mine")

    def fail(problem: Exception) -> Any:
        raise problem

    with pytest.raises(Mine) as caught:
        module.call(lambda: fail(error))

    assert caught.value is error
    assert module.guarded(lambda: fail(ValueError("v"))) == "caught v"
    with pytest.raises(Mine, match="thrown"):
        module.throw(Mine)


def test_objects_of_the_tests_keep_their_identity(load: Load) -> None:
    """Instances of the tests' classes can be used by the candidate and come back as themselves."""
    module = load("""
        def same(x): return x
        def use(o):
            o.value += 1
            return o.double() + o[3]
        def depth(tree): return 0 if tree is None else 1 + max(depth(tree.left), depth(tree.right))
        def first(it): return next(it)
        def lines(stream): return [line.strip() for line in stream]
        def ordered(xs): return sorted(xs)
        def make(cls): return cls(5)
    """)

    @functools.total_ordering
    class Box:
        def __init__(self, value: int) -> None:
            self.value = value
            self.left = self.right = None

        def double(self) -> int:
            return self.value * 2

        def __getitem__(self, key: int) -> int:
            return key

        def __lt__(self, other: "Box") -> bool:
            return self.value < other.value

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Box) and self.value == other.value

    box, sentinel = Box(1), object()

    assert module.same(box) is box
    assert module.same([sentinel])[0] is sentinel
    assert (module.use(box), box.value) == (7, 2)
    assert module.depth(box) == 1
    assert module.first(iter([4, 5])) == 4
    assert module.lines(io.StringIO("a\nb\n")) == ["a", "b"]
    assert [item.value for item in module.ordered([Box(3), Box(1)])] == [1, 3]
    made = module.make(Box)
    assert type(made) is Box
    assert made.value == 5


def test_changed_arguments_are_copied_back(load: Load) -> None:
    """Lists, dicts, sets, bytearrays, deques, arrays and prompt instances change in place, nested ones too."""
    numpy = pytest.importorskip("numpy")
    module = load(
        """
        def change(x, d, s, b, q, a, n):
            x[0].append(9)
            x[0], x[1] = x[1], x[0]
            d["k"] = x[0]
            s.clear()
            s.add(5)
            b[0] = 65
            q.popleft()
            a[0] = 100
            n.val = 42
        """,
        prompt=LIST_NODE,
    )
    one: list[int] = [1]
    two: list[int] = [2]
    x: list[Any] = [one, two]
    d: dict[str, Any] = {}
    s, b, q, a = {1}, bytearray(b"xyz"), collections.deque([1, 2]), numpy.array([1, 2])
    node = module.ListNode(1)

    module.change(x, d, s, b, q, a, node)

    assert (one, x[0] is two, x[1] is one, d["k"] is two) == ([1, 9], True, True, True)
    assert (s, b, list(q), a.tolist(), node.val) == ({5}, b"Ayz", [2], [100, 2], 42)


def test_changed_frames_and_networks_are_copied_back(load: Load) -> None:
    """A DataFrame or a graph that a call changes in place changes here, and stays the same object."""
    pandas, networkx = pytest.importorskip("pandas"), pytest.importorskip("networkx")
    module = load("""
        def extend(frame, graph):
            frame["b"] = frame["a"] * 2
            graph.add_edge(1, 2, weight=3)
            return frame
    """)
    frame, graph = pandas.DataFrame({"a": [1, 2]}), networkx.Graph()

    result = module.extend(frame, graph)

    assert result is frame
    assert list(frame["b"]) == [2, 4]
    assert list(graph.edges(data="weight")) == [(1, 2, 3)]


def test_a_returned_argument_is_the_argument(load: Load) -> None:
    """A result that is an argument, or holds one, is or holds that very object."""
    module = load("""
        def same(x): return x
        def wrap(x): return {"deep": (x[0], [x])}
        def shared(a, b): return a is b
    """)
    xs = [[1]]

    wrapped = module.wrap(xs)

    assert module.same(xs) is xs
    assert wrapped["deep"][0] is xs[0]
    assert wrapped["deep"][1][0] is xs
    assert module.shared(xs, xs)
    assert not module.shared([1], [1])


def test_prints_are_replayed(load: Load) -> None:
    """What a call prints appears in the test's own sys.stdout and sys.stderr."""
    module = load("""
        import sys
        def greet(name):
            print("Hello,", name)
            print("warning", file=sys.stderr)
    """)
    out, err = io.StringIO(), io.StringIO()

    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        module.greet("Ada")

    assert (out.getvalue(), err.getvalue()) == ("Hello, Ada\n", "warning\n")


def test_prints_also_reach_the_candidates_own_output(load: Load, tmp_path: Path) -> None:
    """What a call prints is flushed to the descriptors of the candidate's process when the call ends."""
    module = load("import os\ndef greet():\n    print('printed')\n    os.write(1, b'raw')")

    with contextlib.redirect_stdout(io.StringIO()):
        module.greet()

    assert sorted((tmp_path / "printed").read_text().split("raw")) == ["", "printed\n"]
