"""Objects of the candidate in the oracle: one test for each row of docs/crossing.md."""

import collections
import collections.abc
import copy
import functools
import inspect
import itertools
from pathlib import Path

import pytest
from split_pair import Load, Patience, end, load, start

from assay.verifiers.split.remote import Candidate

__all__ = ["load"]


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
