"""Values: what the worker decides by itself, and what it leaves to a process."""

from fractions import Fraction

import pytest

from assay.verifiers.maths.exact import Effort, Undefined, exact_value
from assay.verifiers.maths.floats import evaluate
from assay.verifiers.maths.magnitudes import Beyond, Near, Unknown, differ
from assay.verifiers.maths.nodes import Node
from assay.verifiers.maths.packing import BadPacking, pack, unpack
from assay.verifiers.maths.reading import manners, read, tidy
from assay.verifiers.maths.residues import are_identical
from assay.verifiers.maths.scalars import Decision, Tolerance, compare, has_value
from assay.verifiers.maths.transform import without_marks
from assay.verifiers.maths.written_numbers import Style


def node(text: str) -> Node:
    """Read a value."""
    found = read(tidy(text), manners(text, Style())[0]).node
    assert found is not None
    return without_marks(found, percent_is_value=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\frac{3}{8}", Fraction(3, 8)),
        (r"\sqrt{\frac{4}{9}}", Fraction(2, 3)),
        (r"\sqrt[3]{-27}", -3),
        ("8^{2/3}", 4),
        ("2^{-3}", Fraction(1, 8)),
        (r"\log_2 8", 3),
        (r"\log_{\frac12} 8", -3),
        (r"\binom{5}{2}+5!", 130),
        ("7!!", 105),
        (r"\gcd(12, 18)\cdot\text{lcm}(4,6)", 72),
        (r"\lfloor -2.5\rfloor", -3),
        (r"\sum_{k=1}^{100} k", 5050),
        (r"\prod_{k=1}^{5} k", 120),
        (r"7 \bmod 3", 1),
        ("-7 mod 3", -1),
        (r"\max(1, 2, 3)", 3),
        (r"0.\overline{9}", 1),
        ("25%", Fraction(1, 4)),
    ],
)
def test_exact_values(text: str, value: int | Fraction) -> None:
    """Rational, and within reach."""
    assert exact_value(node(text)) == value


@pytest.mark.parametrize(
    "text", [r"\sqrt2", r"\pi", "x", "10^{10^{10}}", "(10^9)!", r"\sum_{k=1}^{10^9} k", "i", r"\log_2 3"]
)
def test_what_is_not_rational_or_too_large_has_no_exact_value(text: str) -> None:
    """It is not tried."""
    assert exact_value(node(text)) is None


@pytest.mark.parametrize("text", [r"\frac10", r"\frac{x}{0}", "0^0", r"\log_2 0", "(-3)!", r"1+\frac{1}{1-1}"])
def test_what_is_undefined_is_found(text: str) -> None:
    """Wherever it stands."""
    with pytest.raises(Undefined):
        exact_value(node(text))
    assert not has_value(node(text))


def test_the_effort_of_a_comparison_is_bounded() -> None:
    """What many large numbers would take together is counted."""
    large = node("+".join(["3^{9000}"] * 100))

    assert exact_value(large, Effort()) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r"\sqrt{3+2\sqrt2}", 2.414213562373095),
        (r"\sin 30^\circ", 0.5),
        ("e^{i\\pi}", -1),
        (r"\arctan 1", 0.7853981633974483),
        (r"\sqrt[3]{-9}", -2.080083823051904),
        (r"|3-4i|", 5),
        (r"\ln 2", 0.6931471805599453),
        ("4!", 24),
    ],
)
def test_doubles(text: str, value: float) -> None:
    """The true value lies within the bound of the error."""
    found = evaluate(node(text), {})

    assert isinstance(found, Near)
    assert abs(found.value - value) <= found.error + 1e-15
    assert found.error < 1e-12


def test_towers_have_a_size_but_no_digits() -> None:
    """The logarithm, as often as it takes."""
    assert evaluate(node("9^{9^{9}}"), {}) == Beyond(pytest.approx(851249820.194), 1)
    assert evaluate(node("9^{9^{9^{9}}}"), {}) == Beyond(pytest.approx(851249820.98), 1, height=1)
    assert evaluate(node("10^{-400}"), {}) == Beyond(pytest.approx(-921.034), 1)


@pytest.mark.parametrize(
    "text", [r"\sqrt2-\sqrt2", r"\tan\frac{\pi}{2}", r"\frac{1}{\sqrt2-\sqrt2}", "9^{9^9}-9^{9^9}"]
)
def test_what_cannot_be_bounded_is_not_guessed(text: str) -> None:
    """Cancelled, steep or of two minds: nothing differs from it for certain."""
    try:
        value = evaluate(node(text), {})
    except Unknown:
        return
    assert not differ(value, Near(0j, 0.0))


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("x^2+2x+1", "(x+1)^2", True),
        ("x^2-1", "x^2+1", False),
        (r"\frac{x^2-1}{x-1}", "x+1", True),
        (r"\frac{1}{1+i}", r"\frac{1-i}{2}", True),
        (r"2\pi", r"\pi+\pi", True),
        (r"\pi", "3", False),
        (r"\binom{n}{2}", r"\frac{n(n-1)}{2}", True),
        (r"\sqrt{x}", "x", None),
        ("2^x", "2^x", None),
    ],
)
def test_rational_functions(left: str, right: str, same: bool | None) -> None:
    """Identical or not; None for other functions."""
    assert are_identical(node(left), node(right)) is same


def test_the_point_of_a_comparison_is_out_of_reach() -> None:
    """It depends on both sides: an answer that meets the gold at one point meets another one."""
    points = {are_identical(node("x"), node(str(value))) for value in range(200)}

    assert points == {False}


@pytest.mark.parametrize(
    ("gold", "answer", "decision"),
    [
        ("2/3", "0.666667", Decision.EQUAL),
        ("2/3", "0.66667", Decision.DIFFERENT),
        ("2^{-60}", "2^{-61}", Decision.DIFFERENT),
        (r"\frac{1}{30!}", r"\frac{1}{31!}", Decision.DIFFERENT),
        (r"\pi", "3.141593", Decision.EQUAL),
        (r"\pi", "3.14159", Decision.DIFFERENT),
        ("10^{20}", "10^{20}+1", Decision.DIFFERENT),
        ("0", "0.0000001", Decision.DIFFERENT),
        ("x/3", "0.333333x", Decision.EQUAL),
        ("x/3", "0.33x", Decision.DIFFERENT),
        ("5", "9^{9^{9^{9}}}", Decision.DIFFERENT),
        ("-9^{9^{9}}", "9^{9^{9}}", Decision.DIFFERENT),
        (r"\infty", r"-\infty", Decision.DIFFERENT),
        (r"\infty", r"2\infty", Decision.EQUAL),
        ("5", r"\frac{5}{0}", Decision.DIFFERENT),
        ("3-5i", r"\cot x", Decision.DIFFERENT),
        (r"\sqrt{x^2}", "x", Decision.DIFFERENT),
        (r"\sqrt{x^2}", "|x|", Decision.OPEN),
        (r"\sqrt8", r"2\sqrt2", Decision.OPEN),
        ("9^{9^{9}}+1", "9^{9^{9}}", Decision.OPEN),
    ],
)
def test_decisions(gold: str, answer: str, decision: Decision) -> None:
    """Different is certain, equal is exact or within the tolerance of decimals, all else is left open."""
    assert compare(node(gold), node(answer), Tolerance()).decision is decision


@pytest.mark.parametrize("text", [r"\sqrt{x}+\frac{2}{3}", r"\sum_{k=1}^{n} k^2", r"\int_0^1 e^x dx", "0.25", "1011_2"])
def test_values_travel_as_data(text: str) -> None:
    """And arrive as they were; digits with a base as their value."""
    value = node(text)

    assert exact_value(unpack(pack(value))) == exact_value(value)
    if "_2" not in text:
        assert unpack(pack(value)) == value


@pytest.mark.parametrize(
    "data",
    [None, 5, [], ["n"], ["n", "x", "1", None], ["n", "0x1", "0x0", None], ["s", 5], ["f", "eval", ["s",
    "x"]], ["+", ["s", "x"]],
     ["c", "tau"], ["q", 1], ["^", ["s", "x"]], ["b", "sum", 1, ["s", "x"], None, None], "n", [["n"]]],
)  # fmt: skip
def test_what_is_no_value_does_not_arrive(data: object) -> None:
    """Nothing but the known kinds, each with its parts."""
    with pytest.raises(BadPacking):
        unpack(data)
