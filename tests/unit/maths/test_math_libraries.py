"""What the processes do with libraries, on values that end: digits, algebra, the grammar of math-verify."""

import pytest

from assay.verifiers.maths.building import number
from assay.verifiers.maths.nodes import Node, Symbol
from assay.verifiers.maths.probing import comparison_of
from assay.verifiers.maths.reading import manners, read, tidy
from assay.verifiers.maths.scalars import Pair
from assay.verifiers.maths.transform import without_marks
from assay.verifiers.maths.written_numbers import Style

pytest.importorskip("mpmath")
pytest.importorskip("sympy")
pytest.importorskip("latex2sympy2_extended")

import mpmath

from assay.verifiers.maths.algebra import prove
from assay.verifiers.maths.foreign import Unknown, read_foreign
from assay.verifiers.maths.probes import Finding, find


def node(text: str) -> Node:
    """Read a value."""
    found = read(tidy(text), manners(text, Style())[0]).node
    assert found is not None
    return without_marks(found, percent_is_value=True)


def compared(gold: str, answer: str, tolerance: float = 0.0) -> Finding:
    """Compare the digits of two values as worker and process do together; the precision of this process is kept."""
    asked = comparison_of(Pair(node(gold), node(answer), tolerance))
    with mpmath.workdps(15):
        return Finding.OPEN if asked is None else find(asked)


@pytest.mark.parametrize(
    ("gold", "answer", "finding"),
    [
        (r"\sqrt8", r"2\sqrt2", "equal"),
        (r"\sqrt2", r"\sqrt2+10^{-40}", "different"),
        (r"\sqrt2", r"\sqrt2+10^{-700}", "different"),
        (r"\sqrt2", r"\sqrt2+10^{-5000}", "open"),
        (r"\sqrt2+9^{-9^9}", r"\sqrt2", "open"),
        ("9^{9^{9^9}}+1", "9^{9^{9^9}}", "open"),
        ("1", r"\sin^2 t+\cos^2 t", "equal"),
        ("x^2", r"x^2+10^{-70}\sin x", "different"),
        (r"\sqrt{x^2}", "|x|", "equal"),
        (r"\ln x^2", r"2\ln x", "equal"),
        ("(-1)^n", r"\cos(n\pi)", "equal"),
        (r"\binom{n}{k}", r"\frac{n!}{k!(n-k)!}", "equal"),
        ("3^{200}\\sqrt2", "9^{100}\\sqrt2", "equal"),
        ("e^{i\\pi}", "-1", "equal"),
        (r"\frac13", r"\int_0^1 x^2\,dx", "open"),
        (r"\tan\frac{\pi}{2}", "5", "different"),
    ],
)
def test_digits(gold: str, answer: str, finding: str) -> None:
    """As many as the numbers in the values ask for; what is too close to tell, or too large, is left open."""
    assert compared(gold, answer) == Finding(finding)


def test_digits_within_a_tolerance() -> None:
    """Of decimals."""
    assert compared(r"\pi", "3.1415927", 5e-7) is Finding.EQUAL
    assert compared(r"\pi", "3.14159", 5e-7) is Finding.DIFFERENT


@pytest.mark.parametrize(
    ("gold", "answer", "finding"),
    [
        (r"\frac13", r"\int_0^1 x^2\,dx", "equal"),
        (r"\frac12", r"\int_0^1 x^2\,dx", "different"),
        (r"\frac{n(n+1)}{2}", r"\sum_{k=1}^{n}k", "equal"),
        (r"\frac{n(n-1)}{2}", r"\sum_{k=1}^{n}k", "different"),
        ("1", r"\lim_{x\to 0}\frac{\sin x}{x}", "equal"),
        ("e", r"\lim_{n\to\infty}(1+\frac1n)^n", "equal"),
        ("2^{100000}", "4^{50000}", "equal"),
        ("0", r"\frac{1}{x-x}", "open"),
    ],
)
def test_algebra(gold: str, answer: str, finding: str) -> None:
    """What has no digits, or too many, is simplified."""
    assert prove(node(gold), node(answer), 0.0) == Finding(finding)


@pytest.mark.parametrize(
    ("text", "same_as"),
    [
        (r"\frac{d}{dx} x^2", r"\frac{d}{dx} x^2"),
        (r"\int_{1}^{2} \frac{dx}{x}", None),
    ],
)
def test_the_other_grammar(text: str, same_as: str | None) -> None:
    """Reads commands that ours does not."""
    value = read_foreign(text)

    assert same_as is None or value == read_foreign(same_as)
    assert prove(node(r"\ln 2") if same_as is None else node("2x"), value, 0.0) is Finding.EQUAL


@pytest.mark.parametrize(
    "text",
    [
        "1011_2",
        r"(1,2)",
        r"\{1,2\}",
        "x=5",
        "",
        r"\unknown{7}+1",
        r"7 \foo 8",
        "\\frac{1}{",
        "9" * 30 + "_3",
    ],
)
def test_what_the_other_grammar_leaves_out_does_not_count(text: str) -> None:
    """Nor does what is no value."""
    with pytest.raises(Unknown):
        read_foreign(text)


def test_names_only_become_symbols() -> None:
    """Whatever they look like."""
    assert read_foreign("x") == Symbol("x")
    assert read_foreign("0.5 x") != read_foreign("0.5")
    assert prove(node("x"), read_foreign("x"), 0.0) is Finding.EQUAL
    assert read_foreign("3") == number(3)
