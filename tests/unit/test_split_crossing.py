"""What crosses between oracle and candidate, and how: one test for each row of docs/crossing.md."""

import asyncio
import collections
import collections.abc
import contextlib
import copy
import dataclasses
import functools
import inspect
import io
import itertools
import json
import math
import re
import threading
import time
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any  # candidates return values of every type
from unittest.mock import Mock

import pytest
from split_pair import Load, Patience, end, load, start

from assay.verifiers.split.remote import Candidate, CandidateGone, RemoteError
from assay.verifiers.split.subject import Raised, Returned

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


def test_objects_are_handles_with_identity(load: Load) -> None:
    """The same object is the same handle; isinstance and type work against the class got by name."""
    module = load("""
        class Base: pass
        class Thing(Base):
            shared = None
        ONE = Thing()
        def one(): return ONE
    """)

    assert module.one() is module.one()
    assert type(module.one()) is module.Thing
    assert isinstance(module.one(), module.Base)
    assert issubclass(module.Thing, module.Base)
    assert module.Thing() is not module.Thing()


def test_collections_of_the_candidate_are_collections(load: Load) -> None:
    """A class derived from an abstract collection is one for isinstance, and iterates and compares here."""
    module = load("""
        from collections.abc import Mapping
        from collections import UserDict
        class Frozen(Mapping):
            def __init__(self, **items): self._items = items
            def __getitem__(self, key): return self._items[key]
            def __iter__(self): return iter(self._items)
            def __len__(self): return len(self._items)
    """)
    frozen = module.Frozen(a=1, b=2)

    assert isinstance(frozen, collections.abc.Mapping)
    assert dict(frozen) == {"a": 1, "b": 2}
    assert (frozen.get("c", 3), list(frozen.items())) == (3, [("a", 1), ("b", 2)])


def test_a_module_named_like_a_library_is_the_candidates(tmp_path: Path) -> None:
    """Classes of a module under test that is called `queue` are the candidate's own."""
    source = "class Full(Exception): pass\nclass Fuller(Full): pass\ndef put(): raise Fuller('no')"
    subject = Candidate(Patience())
    link, pid = start(source, tmp_path, module="queue")

    subject.connect(link)

    with pytest.raises(subject.get("Full")) as full:
        subject.get("put")()
    assert type(full.value) is subject.get("Fuller")
    subject.close()
    end(link, pid)


def test_attributes_and_methods_call_through(load: Load) -> None:
    """Attributes are read, set and deleted there; methods, properties, class and static methods run there."""
    module = load("""
        class Account:
            count = 0
            def __init__(self, balance=0):
                self.balance = balance
                Account.count += 1
            def deposit(self, n, *, twice=False):
                self.balance += n * (2 if twice else 1)
                return self.balance
            @property
            def rich(self): return self.balance > 100
            @rich.setter
            def rich(self, value): self.balance = 1000 if value else 0
            @classmethod
            def empty(cls): return cls(0)
            @staticmethod
            def unit(): return "EUR"
    """)
    account = module.Account(5)

    assert account.deposit(10, twice=True) == 25
    account.rich = True
    assert (account.balance, account.rich) == (1000, True)
    account.owner = "Ada"
    assert vars(account) == {"balance": 1000, "owner": "Ada"}
    del account.owner
    assert not hasattr(account, "owner")
    assert module.Account.empty().balance == 0
    assert (module.Account.unit(), account.unit(), module.Account.count) == ("EUR", "EUR", 2)
    module.Account.count = 0
    assert account.count == 0


def test_special_methods_exist_where_the_class_has_them(load: Load) -> None:
    """Operators and conversions of an object work if its class defines them, and are TypeErrors if not."""
    module = load("""
        class V:
            def __init__(self, *xs): self.xs = list(xs)
            def __len__(self): return len(self.xs)
            def __iter__(self): return iter(self.xs)
            def __getitem__(self, i): return self.xs[i]
            def __setitem__(self, i, x): self.xs[i] = x
            def __contains__(self, x): return x in self.xs
            def __bool__(self): return bool(self.xs)
            def __abs__(self): return sum(map(abs, self.xs))
            def __neg__(self): return V(*(-x for x in self.xs))
            def __add__(self, other): return V(*(a + b for a, b in zip(self.xs, other.xs)))
            def __mul__(self, k): return V(*(x * k for x in self.xs))
            __rmul__ = __mul__
            def __iadd__(self, other): self.xs = (self + other).xs; return self
            def __eq__(self, other): return isinstance(other, V) and self.xs == other.xs
            def __hash__(self): return hash(tuple(self.xs))
            def __lt__(self, other): return self.xs < other.xs
            def __call__(self, k): return self * k
            def __repr__(self): return f"V{tuple(self.xs)}"
            def __format__(self, spec): return f"<{spec}>"
            def __float__(self): return 0.5
            def __index__(self): return 3
        class Bare: pass
    """)
    v, w, bare = module.V(3, 4), module.V(1, 1), module.Bare()

    assert (len(v), list(v), v[0], 3 in v, 9 in v, bool(module.V())) == (2, [3, 4], 3, True, False, False)
    assert (v + w, v * 2, 2 * v, -v, v(3)) == tuple(module.V(*xs) for xs in ((4, 5), (6, 8), (6, 8), (-3, -4), (9, 12)))
    assert (abs(v), float(v), [0, 1, 2, 3][v], repr(v), f"{v:x}") == (7, 0.5, 3, "V(3, 4)", "<x>")
    assert sorted([v, w]) == [w, v]
    assert len({v, module.V(3, 4)}) == 1
    before = v
    v += w
    v[0] = 0
    assert before is v
    assert v == module.V(0, 5)
    for operation in (len, iter, float, lambda x: x[0], lambda x: x + x, lambda x: x < x, lambda x: x(), abs):
        with pytest.raises(TypeError):
            operation(bare)


def test_copies_are_made_over_there(load: Load) -> None:
    """copy and deepcopy of a handle give another object of the candidate's."""
    module = load("class Box:\n    def __init__(self): self.items = [1]")
    box = module.Box()

    twin, clone = copy.copy(box), copy.deepcopy([box])[0]
    box.items = [2]

    assert twin is not box
    assert (twin.items, clone.items) == ([1], [1])


def test_functions_tell_about_themselves(load: Load) -> None:
    """Name, doc, signature, attributes and decorations of a function are those of the candidate's."""
    module = load("""
        from functools import lru_cache
        @lru_cache(maxsize=None)
        def ways(n): return 1 if n < 2 else ways(n - 1) + ways(n - 2)
        def add(a, b=2, *rest, c=3, **more):
            "adds"
            return a + b
    """)

    assert (module.ways(30), module.ways.cache_info().currsize > 0, module.ways.__name__) == (1346269, True, "ways")
    assert str(inspect.signature(module.add)) == "(a, b=2, *rest, c=3, **more)"
    assert module.add.__code__.co_varnames == ("a", "b", "c", "rest", "more")
    assert (module.add.__doc__, module.add.__module__) == ("adds", "solution")
    assert functools.wraps(module.add)(lambda: 0).__name__ == "add"
    assert module.ways.__wrapped__(1) == 1


def test_iterators_are_lazy(load: Load) -> None:
    """A generator runs only as far as it is asked to; send, throw and close reach it; its return value arrives."""
    module = load("""
        log = []
        def count(n):
            for i in range(n):
                log.append(i)
                yield i
            return "end"
        def endless():
            n = 0
            while True:
                yield n
                n += 1
        def echo():
            x = yield "ready"
            while True:
                try: x = yield x
                except ValueError: x = yield "caught"
    """)
    numbers = module.count(3)

    first = next(numbers)

    assert (first, module.log) == (0, [0])
    assert list(numbers) == [1, 2]
    assert list(itertools.islice(module.endless(), 100)) == list(range(100))
    echo = module.echo()
    assert (next(echo), echo.send(5), echo.throw(ValueError("x"))) == ("ready", 5, "caught")
    echo.close()
    with pytest.raises(StopIteration) as stop:
        next(module.count(0))
    assert stop.value.value == "end"
    assert inspect.isgenerator(numbers)
    assert inspect.isgeneratorfunction(module.count)


def test_all_items_of_an_iterator_come_in_batches(load: Load) -> None:
    """`list` of a generator takes far fewer exchanges than items; an error arrives after the items before it."""
    module = load("""
        def numbers(n):
            yield from range(n)
            raise KeyError("after")
    """)
    items: list[int] = []

    with pytest.raises(KeyError, match="after"):
        items.extend(module.numbers(5000))

    assert items == list(range(5000))


def test_coroutines_run_concurrently(load: Load) -> None:
    """Coroutines of the candidate can be awaited, gathered, cancelled and run by asyncio.run."""
    module = load("""
        import asyncio
        log = []
        async def double(x):
            await asyncio.sleep(0.05)
            return 2 * x
        async def slow():
            try: await asyncio.sleep(60)
            finally: log.append("cleaned up")
        async def fail(): raise ValueError("async")
    """)

    async def main() -> float:
        started = time.monotonic()
        assert await asyncio.gather(*(module.double(n) for n in range(20))) == list(range(0, 40, 2))
        elapsed_s = time.monotonic() - started
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(module.slow(), 0.01)
        with pytest.raises(ValueError, match="async"):
            await module.fail()
        return elapsed_s

    assert asyncio.run(main()) < 0.05 * 20
    assert module.log == ["cleaned up"]
    assert asyncio.run(module.double(4)) == 8
    assert asyncio.iscoroutinefunction(module.double)
    assert inspect.iscoroutinefunction(module.double)


def test_async_iteration_and_contexts_work(load: Load) -> None:
    """Async generators and async context managers of the candidate work in the tests' loop."""
    module = load("""
        import asyncio
        async def count(n):
            for i in range(n):
                await asyncio.sleep(0)
                yield i
        class Session:
            async def __aenter__(self):
                await asyncio.sleep(0)
                self.open = True
                return self
            async def __aexit__(self, *exc): self.open = False
            async def get(self): return self.open
    """)

    async def main() -> tuple[list[int], bool, bool]:
        numbers = [n async for n in module.count(3)]
        async with module.Session() as session:
            inside = await session.get()
        return numbers, inside, session.open

    assert asyncio.run(main()) == ([0, 1, 2], True, False)


def test_context_managers_work(load: Load) -> None:
    """Context managers of the candidate enter, leave, and may swallow what the test raises on purpose."""
    module = load("""
        import contextlib
        @contextlib.contextmanager
        def doubled(x):
            yield 2 * x
        class Ignore:
            def __enter__(self): return self
            def __exit__(self, kind, error, traceback):
                self.kind = kind
                return True
    """)

    with module.doubled(4) as value:
        assert value == 8
    ignore = module.Ignore()
    with ignore:
        raise KeyError("on purpose")

    assert ignore.kind is KeyError


def test_builtin_exceptions_are_themselves(load: Load) -> None:
    """Builtin and library exceptions arrive as their own class with arguments, attributes and cause."""
    module = load("""
        import json
        def fail(kind):
            if kind == "os": open("missing")
            if kind == "json": json.loads("{")
            if kind == "group": raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
            if kind == "cause":
                try: 1 / 0
                except ZeroDivisionError as error: raise ValueError("because") from error
            raise KeyError("k")
    """)

    with pytest.raises(FileNotFoundError) as missing:
        module.fail("os")
    with pytest.raises(json.JSONDecodeError) as broken:
        module.fail("json")
    with pytest.raises(ExceptionGroup) as group:
        module.fail("group")
    with pytest.raises(ValueError, match="because") as caused:
        module.fail("cause")
    with pytest.raises(KeyError) as key:
        module.fail("")

    assert (missing.value.filename, missing.value.errno) == ("missing", 2)
    assert broken.value.pos == 1
    assert [type(error) for error in group.value.exceptions] == [ValueError, TypeError]
    assert type(caused.value.__cause__) is ZeroDivisionError
    assert key.value.args == ("k",)


def test_own_exceptions_are_instances_of_their_class(load: Load) -> None:
    """An exception class of the candidate's can be caught by the class got by name or a builtin base."""
    module = load("""
        class InsufficientFunds(ValueError):
            def __init__(self, need, have):
                super().__init__(f"need {need}, have {have}")
                self.need = need
                self.have = have
            @property
            def gap(self): return self.need - self.have
        class Overdrawn(InsufficientFunds):
            def __str__(self): return "overdrawn"
        def pay(kind): raise kind(5, 3)
    """)

    with pytest.raises(module.InsufficientFunds, match="need 5") as poor:
        module.pay(module.InsufficientFunds)
    with pytest.raises(ValueError, match="overdrawn") as drawn:
        module.pay(module.Overdrawn)

    assert (poor.value.need, poor.value.gap, poor.value.args) == (5, 2, ("need 5, have 3",))
    assert isinstance(drawn.value, module.InsufficientFunds)
    with pytest.raises(module.InsufficientFunds):
        raise module.InsufficientFunds(1, 0)


@pytest.mark.parametrize(
    "source",
    ["raise KeyboardInterrupt", "raise GeneratorExit", "raise BaseException('x')", "import pytest; pytest.skip('x')",
     "import pytest; pytest.exit('x')", "import pytest; pytest.fail('x')",
     "import unittest; raise unittest.SkipTest('x')"],
)  # fmt: skip
def test_signals_to_the_test_runner_become_errors(load: Load, source: str) -> None:
    """What would skip, abort or interrupt the tests arrives as an ordinary exception."""
    module = load(f"def call():\n    {source}")

    with pytest.raises(Exception) as caught:  # noqa: PT011 - which one is not the point
        module.call()

    assert not isinstance(caught.value, (pytest.skip.Exception, pytest.exit.Exception, unittest.SkipTest))
    assert isinstance(caught.value, RemoteError) or type(caught.value).__module__ != "solution"


def test_sys_exit_crosses_as_system_exit(load: Load) -> None:
    """SystemExit keeps its class and code."""
    module = load("import sys\ndef leave(code): sys.exit(code)")

    with pytest.raises(SystemExit) as caught:
        module.leave(3)

    assert caught.value.code == 3


def test_callables_are_called_back(load: Load) -> None:
    """Functions, lambdas, bound methods, partials and mocks passed as arguments run in the oracle."""
    module = load("""
        import functools
        def each(f, xs): return [f(x) for x in xs]
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


def test_async_callbacks_are_awaited(load: Load) -> None:
    """Coroutine functions passed as arguments can be awaited by the candidate."""
    module = load("""
        import asyncio
        async def apply(f, x): return await f(x)
        def run(f, x): return asyncio.run(f(x))
    """)

    async def increment(x: int) -> int:
        await asyncio.sleep(0.001)
        return x + 1

    assert asyncio.run(module.apply(increment, 1)) == 2
    assert module.run(increment, 2) == 3


def test_async_callbacks_run_concurrently(load: Load) -> None:
    """Coroutines of the tests that the candidate awaits overlap, and are cancelled when it no longer waits."""
    module = load("""
        import asyncio
        async def limited(f, xs, n):
            gate = asyncio.Semaphore(n)
            async def one(x):
                async with gate:
                    return await f(x)
            return await asyncio.gather(*(one(x) for x in xs))
        async def within(f, seconds):
            try: return await asyncio.wait_for(f(), seconds)
            except asyncio.TimeoutError: return "late"
        async def guarded(f):
            try: return await f()
            except ValueError as error: return f"caught {error}"
    """)
    running, most, cancelled = 0, 0, []

    async def work(x: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return x * 2

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def fail() -> None:
        raise ValueError("async")

    async def main() -> tuple[Any, ...]:
        doubled = await module.limited(work, list(range(10)), 3)
        late = await module.within(forever, 0.02)
        await asyncio.sleep(0)
        return doubled, late, await module.guarded(fail)

    assert asyncio.run(main()) == ([2 * n for n in range(10)], "late", "caught async")
    assert most == 3
    assert cancelled == [True]


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


def test_pipelined_calls_come_in_order(load: Load) -> None:
    """`call_many` yields what each call returned or raised, in order, and copies nothing back."""
    module = load("""
        def drain(xs):
            if not xs: raise ValueError("empty")
            return sum(xs.pop() for _ in range(len(xs)))
    """)
    arguments = [[n, n] for n in range(200)] + [[]]

    answers = list(module.subject.call_many("drain", [((xs,), {}) for xs in arguments]))

    assert [answer.value for answer in answers[:-1] if isinstance(answer, Returned)] == [2 * n for n in range(200)]
    assert isinstance(answers[-1], Raised)
    assert arguments[3] == [3, 3]


def test_answers_to_pipelined_calls_may_need_questions(load: Load) -> None:
    """Results of classes not yet known are understood while further calls are under way."""
    module = load("""
        from collections import namedtuple
        Pair = namedtuple("Pair", "a b")
        def pair(n): return [Pair(n, n)] if n % 2 else n
    """)

    answers = list(module.subject.call_many("pair", [((n,), {}) for n in range(40)]))

    assert answers == [Returned([(n, n)] if n % 2 else n) for n in range(40)]


def test_pipelined_calls_can_be_given_up(load: Load) -> None:
    """Answers to calls under way when the caller loses interest do not answer later questions."""
    module = load("def same(x): return x")
    calls = module.subject.call_many("same", [((n,), {}) for n in range(40)])

    first = next(calls)
    calls.close()

    assert first == Returned(0)
    assert module.same("later") == "later"
    assert list(module.subject.call_many("same", [((7,), {})])) == [Returned(7)]


def test_large_arguments_and_results_do_not_lock(load: Load) -> None:
    """Pipelined calls with megabytes both ways end."""
    module = load("def same(x): return x")
    big = ["x" * 100_000] * 20

    answers = list(module.subject.call_many("same", [((big,), {})] * 10))

    assert all(answer == Returned(big) for answer in answers)


def test_module_names_can_be_read_and_set(load: Load) -> None:
    """Globals are read as they are now, and assigning one changes what the functions see."""
    module = load("limit = 1\ndef get():\n    global limit\n    limit += 1\n    return limit\n_hidden = 5")

    assert (module.limit, module.get(), module.limit) == (1, 2, 2)
    module.subject.set("limit", 10)
    assert module.get() == 11
    assert module.subject.has("_hidden")
    assert not module.subject.has("missing")
    with pytest.raises(AttributeError):
        module.subject.get("missing")


def test_threads_of_a_test_run_side_by_side(load: Load) -> None:
    """Several threads of a test may use the candidate at once, and wait for each other inside it."""
    module = load("""
        import threading
        def square(x): return x * x
        class Queue:
            def __init__(self):
                self.items, self.ready = [], threading.Condition()
            def put(self, item):
                with self.ready:
                    self.items.append(item)
                    self.ready.notify()
            def get(self):
                with self.ready:
                    self.ready.wait_for(lambda: self.items)
                    return self.items.pop(0)
        BARRIER = threading.Barrier(8)
        def meet(): return BARRIER.wait() >= 0
    """)
    queue = module.Queue()

    with ThreadPoolExecutor(8) as pool:
        putting = pool.submit(lambda: [queue.put(n) for n in range(50)])
        received = [queue.get() for _ in range(50)]
        putting.result()
        squares = list(pool.map(module.square, range(200)))
        met = list(pool.map(lambda _: module.meet(), range(8)))

    assert received == list(range(50))
    assert squares == [n * n for n in range(200)]
    assert met == [True] * 8


def test_threads_wait_for_the_first_one(load: Load) -> None:
    """The thread that connected may block in the candidate until another one, started before, helps it."""
    module = load("""
        import threading
        event = threading.Event()
        def wait(): return event.wait(20)
        def release(): event.set()
    """)
    wait, release, started = module.wait, module.release, threading.Event()

    def help_later() -> None:
        started.wait()
        release()

    helper = threading.Thread(target=help_later)
    helper.start()
    starter = threading.Timer(0.05, started.set)
    starter.start()

    assert wait() is True
    helper.join()
    starter.join()


def test_threads_of_the_candidate_may_call_back(load: Load) -> None:
    """Threads that the candidate starts within a call may use callbacks."""
    module = load("""
        from concurrent.futures import ThreadPoolExecutor
        def spread(f, xs):
            with ThreadPoolExecutor(8) as pool:
                return list(pool.map(f, xs))
    """)

    assert module.spread(lambda x: x + 1, list(range(100))) == list(range(1, 101))


def test_tests_cannot_derive_from_the_candidates_classes(load: Load) -> None:
    """Deriving from a class of the completion is a TypeError that says so."""
    module = load("class Base: pass")

    with pytest.raises(TypeError, match="cannot be derived from"):
        type("Derived", (module.Base,), {})


def test_names_survive_a_restart(tmp_path: Path) -> None:
    """Functions and classes got by name work in the next candidate; objects of the last one raise CandidateGone."""
    source = "import os\nclass Thing:\n    def go(self): return 1\ndef f(): return Thing()\ndef die(): os._exit(1)"
    subject = Candidate(Patience())
    first, second = start(source, tmp_path), start(source, tmp_path)

    subject.connect(first[0])
    f, thing, die = subject.get("f"), subject.get("Thing"), subject.get("die")
    old = f()
    with pytest.raises(CandidateGone):
        die()
    with pytest.raises(CandidateGone):
        old.go()
    subject.connect(second[0])

    assert isinstance(f(), thing)
    assert thing().go() == 1
    with pytest.raises(CandidateGone):
        old.go()
    subject.close()
    for link, pid in (first, second):
        end(link, pid)


def test_a_load_error_is_reported(load: Load) -> None:
    """A completion that does not load says what happened; no name needs to work then."""
    module = load("def f(): pass\nraise ValueError('at import')")

    assert module.subject.load_error == ("runtime_error", "ValueError: at import")


def test_waiting_is_measured_and_bounded(load: Load) -> None:
    """The clock is asked once the candidate has kept the test waiting for its budget, and may grant more."""
    clock = Patience(0.05, 20.0)
    module = load("import time\ndef nap(s): time.sleep(s); return s", clock=clock)

    result = module.nap(0.2)

    assert result == 0.2
    assert len(clock.asked) == 1


def test_time_in_callbacks_is_not_the_candidates(load: Load) -> None:
    """Time that the candidate waits for the tests does not count."""
    clock = Patience(0.2)
    module = load("def call(f): return f()", clock=clock)
    done = time.monotonic() + 0.5

    def busy() -> str:
        while time.monotonic() < done:
            sum(range(1000))
        return "done"

    assert module.call(busy) == "done"
    assert clock.asked == []


def test_a_candidate_out_of_time_is_gone(load: Load) -> None:
    """When the clock grants nothing, the call raises CandidateGone, and so does all that follows."""
    module = load("def spin():\n    while True: pass\ndef f(): return 1", clock=Patience(0.05))
    f = module.f

    with pytest.raises(CandidateGone, match="timeout"):
        module.spin()
    with pytest.raises(CandidateGone):
        f()
    assert module.subject.gone == "timeout"


def test_the_table_and_the_tests_are_the_same() -> None:
    """Every row of docs/crossing.md names tests of this module, and every test of it stands in a row."""
    text = (Path(__file__).parents[2] / "docs" / "crossing.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and line.endswith("` |")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.rsplit("|", 2)[1])}
    tests = {name.removeprefix("test_") for name, value in globals().items() if name.startswith("test_")}

    assert named == tests - {"the_table_and_the_tests_are_the_same"}
