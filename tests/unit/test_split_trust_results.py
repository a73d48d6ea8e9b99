"""Results that pose as more than data: predicates from anywhere, and instances of the class under test."""

from collections.abc import Callable
from typing import Any  # liars are of every type
from unittest.mock import Mock

import pytest
from split_pair import Load, load

__all__ = ["load"]

POSERS = """
import types

class Dynamic:
    def __getattr__(self, name): return lambda *args: True
class Loaded:
    def __init__(self): self.startswith = lambda *args: True
class Static:
    @staticmethod
    def startswith(*args): return True
class Difference:
    def difference(self, other): return set()
def function(): pass
function.startswith = lambda *args: True
def dynamic(): return Dynamic()
def loaded(): return Loaded()
def static(): return Static
def functional(): return function
def namespace(): return types.SimpleNamespace(startswith=lambda *args: True)
def differing(): return Difference()
"""

CIRCLE = """
class Circle:
    def __init__(self, size=0): self.size = size
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __lt__(self, other): return True
    __gt__ = __lt__
    def __contains__(self, other): return True
    def __iter__(self): return iter(())
    def __mul__(self, factor): return Circle()
    def __abs__(self): return Circle()
    def area(self): return Circle()
    def itself(self): return self
    @property
    def width(self): return Circle()
"""


@pytest.mark.parametrize("name", ["dynamic", "loaded", "static", "functional", "namespace"])
def test_no_result_brings_a_predicate_of_its_own(load: Load, name: str) -> None:
    """Wherever the method comes from, it is not asked whether it matches a plain value."""
    module = load(POSERS)

    with pytest.raises((AttributeError, TypeError, ConnectionError)):
        getattr(module, name)().startswith("a")


def test_set_methods_compare_too(load: Load) -> None:
    """`f(x).difference(expected) == set()` is a comparison."""
    module = load(POSERS)

    with pytest.raises(TypeError, match="not trusted"):
        module.differing().difference({1})


@pytest.mark.parametrize(
    "use",
    [
        lambda result: result - 1.5,
        lambda result: 1.5 - result,
        lambda result: result < 1.5,
        lambda result: result * 2 - 1.5,
        lambda result: abs(result) < 1.5,
    ],
)
@pytest.mark.parametrize("get", [lambda c: c.area(), lambda c: c.width, lambda c: c.itself().area()])
def test_a_result_of_the_tested_class_is_not_matched_with_plain_data(
    load: Load, get: Callable[[Any], Any], use: Callable[[Any], Any]
) -> None:
    """A tolerance test cannot be won by returning an instance of the class under test."""
    result = get(load(CIRCLE).Circle(2))

    with pytest.raises(TypeError):
        use(result)


def test_an_object_that_returns_itself_is_a_result(load: Load) -> None:
    """It is subtracted from and ordered no more, but may still say what it contains."""
    circle = load(CIRCLE).Circle(2)

    result = circle.itself()

    assert result is circle
    assert 5 in result
    with pytest.raises(TypeError):
        result - 1.5


def test_containment_in_a_result_is_decided_here(load: Load) -> None:
    """The items are compared in the oracle."""
    assert 5 not in load(CIRCLE).Circle(2).area()


def test_a_made_instance_computes_with_plain_data(load: Load) -> None:
    """What the test itself made is the subject of the test."""
    circle = load(CIRCLE).Circle(2)

    assert (circle - 1, circle < 1, 5 in circle) == (0.0, True, True)


def test_a_mock_cannot_be_told_to_agree(load: Load) -> None:
    """The methods by which tests set mocks up, and read them, are not the completion's."""
    module = load("def notify(mock): mock.configure_mock(assert_called_once_with=lambda *args: None)")
    mock = Mock()

    with pytest.raises(AttributeError):
        module.notify(mock)
    with pytest.raises(AssertionError):
        mock.assert_called_once_with(1)


def test_exceptions_keep_all_their_bases(load: Load) -> None:
    """An exception class with a builtin one beside its own parent is caught as either."""
    module = load(
        """
        class AppError(Exception): pass
        class TooSmall(AppError, ValueError): pass
        class Missing(KeyError, AttributeError): pass
        def fail(): raise TooSmall("x")
        """
    )

    with pytest.raises(module.AppError) as caught:
        module.fail()
    assert isinstance(caught.value, ValueError)
    assert not issubclass(module.AppError, ValueError)
    assert issubclass(module.Missing, KeyError)
    assert issubclass(module.Missing, AttributeError)


def test_annotations_are_the_candidates(load: Load) -> None:
    """Functions and classes tell their own, not those of their stand-ins."""
    module = load("def f(x: int) -> str: ...\nclass C:\n    y: float\n")

    assert module.f.__annotations__ == {"x": int, "return": str}
    assert module.C.__annotations__ == {"y": float}


def test_collections_compare_by_their_content(load: Load) -> None:
    """It is asked for without telling what is expected, and compared here."""
    module = load(
        """
        from collections import UserDict, UserList
        class Liar(UserDict):
            def __eq__(self, other): return True
        """
    )

    assert module.UserDict({"a": 1}) == {"a": 1}
    assert module.UserDict({"a": 1}) != {"a": 2}
    assert module.UserList([1]) == [1]
    assert module.Liar({"a": 1}) != {"a": 2}


TWO_STORIES = """
class Items(list):
    def __getitem__(self, place): return place
    def index(self, item): return 7
class Table(dict):
    def __getitem__(self, key): return 7
    def __missing__(self, key): return 0
    def items(self): return []
    def get(self, key, default=None): return 7
class Group(set):
    def issubset(self, other): return True
class Row:
    def __iter__(self): return iter("cab")
    def index(self, item): return 7
class Lambda(Row):
    def __init__(self): self.index = lambda item: 7
def items(): return Items("cab")
def table(): return Table(a=1)
def group(): return Group("ab")
def row(): return Row()
def attribute(): return Lambda()
"""


def test_what_a_subclass_of_a_container_reads_is_its_content(load: Load) -> None:
    """Items and places tell no other story than iterating does, unless a test works with the class by name."""
    module = load(TWO_STORIES)
    items, table = module.items(), module.table()

    assert (items[1], items[1:], items.index("a"), items.count("b")) == ("a", ["a", "b"], 1, 1)
    assert (table["a"], table["z"], table.get("a"), list(table.items())) == (1, 0, 1, [("a", 1)])
    assert not module.group().issubset({"a"})
    assert (module.Items("cab")[1], module.Items("cab").index("a")) == (1, 7)


@pytest.mark.parametrize("name", ["row", "attribute"])
def test_places_in_an_unknown_object_are_looked_up_here(load: Load, name: str) -> None:
    """`order.index("a") < order.index("b")` cannot be won by an object that counts the questions."""
    row = getattr(load(TWO_STORIES), name)()

    assert (row.index("a"), row.index("b")) == (1, 2)
    with pytest.raises(ValueError, match="not in"):
        row.index("z")


def test_names_of_functions_make_no_subject(load: Load) -> None:
    """A name of ours for a bound method (`Solution:area`) is none of a class."""
    module = load(f"{CIRCLE}\nglobals()['Solution:area'] = Circle\n")

    with pytest.raises(TypeError, match="unsupported"):
        module.subject.get("Solution:area")() - 1.5
