"""Objects that lie: nothing that holds an expected value is decided by the candidate."""

import math
import unittest
from collections.abc import Callable
from typing import Any  # liars are of every type

import pytest
from split_pair import Load, load

__all__ = ["load"]

LIARS = """
class Liar:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return hash(5)
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __add__(self, other): return 0.0
    __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __add__
    def __contains__(self, other): return True
    def __abs__(self): return 0.0
    def __float__(self): return 0.0
    def __round__(self, digits=None): return 0
    def startswith(self, text): return True
    equals = issuperset = startswith
def liar(*args): return Liar()

class Number(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 5
    def __sub__(self, other): return 0
    __rsub__ = __sub__
    def __lt__(self, other): return True
    __gt__ = __lt__
def number(): return Number(0)

class Real(float):
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __eq__(self, other): return True
    __hash__ = float.__hash__
def real(): return Real(-1e9)

class Text(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
    def strip(self): return self
    def startswith(self, text): return True
def text(): return Text("")

class Items(list):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __contains__(self, other): return True
def items(): return Items()

class Printed:
    def __str__(self): return Text("")
    __repr__ = __str__
def printed(): return Printed()

class mean:
    def __init__(self, *args): pass
    def __sub__(self, other): return 0.0
    __rsub__ = __sub__
    def __eq__(self, other): return True
    def __lt__(self, other): return True

class Median(mean): pass
median = Median

class Array:
    def __array__(self, *args, **kwargs):
        import numpy
        return numpy.array([1, 2])
    __array_priority__ = 1e9
    def __array_ufunc__(self, *args, **kwargs): return True
    __array_interface__ = {}
def array(): return Array()

class Meta(type):
    def __instancecheck__(cls, obj): return True
    def __eq__(cls, other): return True
    __hash__ = type.__hash__
class Typed(metaclass=Meta):
    @property
    def __class__(self): return list
def typed(): return Typed()

class Timer:
    def __enter__(self): return self
    def __exit__(self, *exc): return True
def nothing(): return None
def explode(): raise ValueError("crossed")
"""


def test_a_handle_never_equals_plain_data(load: Load) -> None:
    """`==` and `!=` with plain data, on either side and inside containers, are decided in the oracle."""
    liar = load(LIARS).liar()

    assert not liar == 5  # noqa: SIM201 - both operators are the point
    assert liar != 5
    assert not 5 == liar  # noqa: SIM201, SIM300 - and so is their order
    assert liar not in [1, 2]
    assert [liar] != [5]
    assert {5: "v"}.get(liar) is None
    assert liar == liar


def test_two_handles_of_liars_are_not_equal(load: Load) -> None:
    """An object that claims to equal a stranger is not believed when it claims to equal another object."""
    module = load(LIARS)

    assert module.liar() != module.liar()


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x < 5, lambda x: x < (4 + 1), lambda x: x >= 5, lambda x: x - 5, lambda x: 5 - x, lambda x: x + 1,
        lambda x: x * 2, lambda x: x % 2, lambda x: 3 in x, lambda x: abs(x - 7) < 1e-9, lambda x: max(x, 3),
        lambda x: x.startswith("a"), lambda x: x.equals([1]), lambda x: x.issuperset({1}), lambda x: sum([x]),
    ],
)  # fmt: skip
def test_a_handle_does_not_compute_with_plain_data(load: Load, use: Callable[[Any], Any]) -> None:
    """Ordering, arithmetic, containment and predicates with plain operands are TypeErrors for unasked-for classes."""
    liar = load(LIARS).liar()

    with pytest.raises(TypeError):
        use(liar)


def test_ordering_two_unasked_for_objects_is_refused(load: Load) -> None:
    """`f(1) < f(2)` cannot be won by an object that is less than everything."""
    module = load(LIARS)

    with pytest.raises(TypeError):
        module.liar(1) < module.liar(2)  # noqa: B015 - raises


def test_a_class_in_the_place_of_a_function_gets_no_operands(load: Load) -> None:
    """A completion that makes the asked-for function a class does not win tolerance tests."""
    module = load(LIARS)

    with pytest.raises(TypeError):
        abs(module.mean([1, 2]) - 1.5)
    with pytest.raises(TypeError):
        module.mean([1]) < 3  # noqa: B015 - raises
    assert module.mean([1]) != 1
    with pytest.raises(TypeError):
        abs(module.median([1, 2]) - 1.5)


def test_subclasses_of_numbers_compute_by_value(load: Load) -> None:
    """int and float subclasses compare, order and subtract as the plain number they hold."""
    module = load(LIARS)
    number, real = module.number(), module.real()

    assert number != 5
    assert number == 0
    assert (abs(number - 5), abs(5 - number), number > 5) == (5, 5, False)
    assert abs(real - 7 / 3) > 1
    assert abs(15.0 - real) > 1
    assert isinstance(real, float)


def test_subclasses_of_text_and_lists_compare_by_value(load: Load) -> None:
    """str and list subclasses compare as their content, reflected too, and keep the builtin methods."""
    module = load(LIARS)
    text, items = module.text(), module.items()

    assert text != "x"
    assert not text.startswith("x")
    assert text.strip() != "bcd"
    assert items != [1]
    assert [1] != items  # noqa: SIM300 - reflected
    assert 1 not in items
    assert items == []


def test_text_forms_are_real_text(load: Load) -> None:
    """str() and repr() of a handle give an exact str, whatever the class returns."""
    printed = load(LIARS).printed()

    assert type(str(printed)) is str
    assert str(printed).strip() != "bcd"
    assert f"{printed}" == ""


def test_numpy_gets_no_hooks(load: Load) -> None:
    """numpy's protocols are not found on a handle: comparing with an array fails."""
    numpy = pytest.importorskip("numpy")
    array = load(LIARS).array()

    assert not numpy.array_equal(array, [1, 2])
    with pytest.raises(AssertionError):
        numpy.testing.assert_array_equal(array, [1, 2])
    with pytest.raises((AssertionError, TypeError)):
        numpy.testing.assert_allclose(array, [1, 2])


def test_type_checks_see_the_stand_in(load: Load) -> None:
    """isinstance against builtin types is decided by the oracle's own objects."""
    module = load(LIARS)
    typed = module.typed()

    assert not isinstance(typed, list)
    assert typed.__class__ is module.Typed
    assert not isinstance([], module.Typed)
    assert module.Typed != list  # noqa: E721 - the comparison is the point


@pytest.mark.parametrize("name", ["liar", "printed", "typed"])
def test_library_assertions_fail_for_liars(load: Load, name: str) -> None:
    """approx, isclose and unittest's assertions do not pass for an object where a number was expected."""
    liar = getattr(load(LIARS), name)()
    case = unittest.TestCase()

    assert not pytest.approx(5) == liar  # noqa: SIM201 - __eq__ is the point
    assert not liar == pytest.approx(5)  # noqa: SIM201 - and from the other side
    for attempt in (
        lambda: case.assertEqual(liar, 5),  # noqa: PT009 - its own comparison
        lambda: case.assertAlmostEqual(liar, 5),  # noqa: PT009 - its own comparison
        lambda: case.assertIn(5, liar),  # noqa: PT009 - its own comparison
        lambda: case.assertListEqual(liar, [1]),  # noqa: PT009 - its own comparison
        lambda: case.assertLess(liar, 5),  # noqa: PT009 - its own comparison
        lambda: case.assertTrue(math.isclose(liar, 5)),  # noqa: PT009 - its own comparison
    ):
        with pytest.raises((AssertionError, TypeError)):
            attempt()


def test_a_context_manager_cannot_swallow_a_failed_assertion(load: Load) -> None:
    """An AssertionError leaves the block whatever the candidate's __exit__ says."""
    module = load(LIARS)

    with pytest.raises(AssertionError), module.Timer():
        assert module.nothing() == 3


def test_a_context_manager_cannot_skip_assertions(load: Load) -> None:
    """An error before or within an assertion of the block leaves it too: the rest would count as passed."""
    module = load(LIARS)

    def use_nothing() -> None:
        with module.Timer():
            value = module.nothing()["key"]
            del value

    def assert_nothing() -> None:
        with module.Timer():
            assert module.nothing()["key"] == 3

    def explode() -> None:
        with module.Timer():
            module.explode()

    for block in (use_nothing, assert_nothing, explode):
        with pytest.raises((TypeError, ValueError)):
            block()


def test_a_lying_bool_is_a_type_error(load: Load) -> None:
    """A comparison between handles that does not answer with a real bool counts as unequal."""
    module = load("""
        class Vague:
            def __eq__(self, other): return 1
            def __hash__(self): return 1
        def vague(): return Vague()
    """)

    assert module.vague() != module.vague()


def test_honest_equality_of_own_classes_is_asked(load: Load) -> None:
    """Objects whose class defines a discriminating `==` are equal when it says so."""
    module = load("""
        class Point:
            def __init__(self, x): self.x = x
            def __eq__(self, other): return self.x == other.x
            __hash__ = None
    """)

    assert module.Point(1) == module.Point(1)
    assert module.Point(1) != module.Point(2)
    assert module.Point(1) != 1
