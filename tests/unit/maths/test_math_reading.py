"""What an answer says: from its text to data."""

from fractions import Fraction

import pytest

from assay.verifiers.maths.building import add, invert, multiply, number
from assay.verifiers.maths.nodes import (
    Bracket,
    Call,
    Function,
    Grid,
    Joint,
    Known,
    KnownSet,
    Node,
    Number,
    Numeral,
    Power,
    Ratio,
    Relation,
    Sequence,
    Sign,
    Span,
    Symbol,
    Words,
)
from assay.verifiers.maths.reading import Reading, manners, read, tidy
from assay.verifiers.maths.written_numbers import Style

X = Symbol("x")


def say(text: str, style: Style | None = None) -> Reading:
    """Read a text in its likeliest manner."""
    return read(tidy(text), manners(text, style or Style())[0])


@pytest.mark.parametrize(
    ("text", "value", "decimals"),
    [
        ("12", 12, None), ("007", 7, None), ("2.50", Fraction(5, 2), 2), (".5", Fraction(1, 2), 1), ("14.", 14, None),
        ("1,234.5", Fraction(2469, 2), 1), ("12{,}500", 12500, None), ("12\\,500", 12500, None),
        ("12 500", 12500, None),
        ("12\u2009500", 12500, None), ("1\\!,000", 1000, None), ("５", 5, None), ("٣", 3, None),
        ("0.\\overline{3}", Fraction(1, 3), None), ("0.1\\bar6", Fraction(1, 6), None),
        ("0.\\dot{1}2\\dot{3}", Fraction(41, 333), None),
        ("0.(3)", Fraction(1, 3), None), ("0.1212\\ldots", Fraction(4, 33), None),
        ("3.14159...", Fraction(314159, 100000), 5),
        ("five", 5, None), ("\\text{twelve}", 12, None),
    ],
)  # fmt: skip
def test_numbers(text: str, value: int | Fraction, decimals: int | None) -> None:
    """However they are written."""
    assert say(text).node == Number(Fraction(value), decimals)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("-5", number(-5)),
        ("−5", number(-5)),
        (r"\frac12", multiply(number(1), invert(number(2)))),
        (r"\frac1{72}", multiply(number(1), invert(number(72)))),
        (r"2\frac34", add(number(2), multiply(number(3), invert(number(4))))),
        ("2 3/4", add(number(2), multiply(number(3), invert(number(4))))),
        ("½", multiply(number(1), invert(number(2)))),
        ("x²", Power(X, number(2))),
        ("x^10", Power(X, number(10))),
        ("x**2", Power(X, number(2))),
        ("2^3^2", Power(number(2), Power(number(3), number(2)))),
        (r"\sqrt[3]{x}", Call(Function.ROOT, (X, number(3)))),
        ("√x", Call(Function.ROOT, (X, number(2)))),
        ("sqrt(x)", Call(Function.ROOT, (X, number(2)))),
        (r"\sin^2 x", Power(Call(Function.SIN, (X,)), number(2))),
        (r"\sin^{-1} x", Call(Function.ASIN, (X,))),
        (r"\sin 2x", Call(Function.SIN, (multiply(number(2), X),))),
        (r"\log_2 8", Call(Function.LOG, (number(8), number(2)))),
        ("|x|", Call(Function.ABS, (X,))),
        ("5!", Call(Function.FACTORIAL, (number(5),))),
        (r"\binom52", Call(Function.BINOMIAL, (number(5), number(2)))),
        (r"{5 \choose 2}", Call(Function.BINOMIAL, (number(5), number(2)))),
        ("25%", Call(Function.PERCENT, (number(25),))),
        ("45°", Call(Function.DEGREES, (number(45),))),
        ("1011_2", Numeral("1011", 2)),
        ("x_{1}", Symbol("x_1")),
        ("θ", Symbol("theta")),
        (r"\mathbf{v}", Symbol("v")),
        (r"\bar{z}", Symbol("bar z")),
        ("((((x))))", X),
        (r"\{1,2\}", Sequence((number(1), number(2)), Bracket.CURLY)),
        ("{1,2}", Sequence((number(1), number(2)), Bracket.CURLY)),
        ("(1,2)", Sequence((number(1), number(2)), Bracket.ROUND)),
        (r"\langle 1,2\rangle", Sequence((number(1), number(2)), Bracket.ROUND)),
        ("1 or 2", Sequence((number(1), number(2)), Bracket.NONE, Joint.OR)),
        (r"1 \text{ and } 2", Sequence((number(1), number(2)), Bracket.NONE, Joint.AND)),
        ("3,14", Sequence((number(3), number(14)))),
        ("[0,4)", Span(number(0), number(4), is_left_open=False, is_right_open=True)),
        ("3<x", Relation((number(3), X), (Sign.LESS,))),
        (r"x\in\mathbb{R}", Relation((X, KnownSet(Known.REAL)), (Sign.MEMBER,))),
        (r"\{x \mid x>3\}", Relation((X, number(3)), (Sign.MORE,))),
        ("2:3", Ratio((number(2), number(3)))),
        ("12:30", Ratio((number(12), number(30)), is_clock=True)),
        (r"\begin{pmatrix}1\\x\end{pmatrix}", Grid(((number(1),), (X,)))),
        (r"\emptyset", KnownSet(Known.EMPTY)),
        ("no solution", KnownSet(Known.EMPTY)),
        (r"\text{Right triangle.}", Words("right triangle")),
        (r"\text{June 5}", Words("june 5")),
        ("a square", Words("a square")),
    ],
)  # fmt: skip
def test_mathematics(text: str, node: Node) -> None:
    """Read as a mathematician would."""
    assert say(text).node == node


@pytest.mark.parametrize(
    ("text", "value", "units"),
    [
        (r"18\text{ cm}^2", 18, ("cm^2",)),
        ("18 square feet", 18, ("square*feet",)),
        (r"18\mathrm{~m}/\mathrm{s}", 18, ("m*/s",)),
        (r"\$5", 5, ()),
        ("5 m", 5, ("m",)),
        ("5 apples", 5, ("apples",)),
        (r"\text{The answer is } 5", 5, ()),
        ("5th", 5, ("th",)),
    ],
)
def test_words_beside_a_value_are_units(text: str, value: int, units: tuple[str, ...]) -> None:
    """They are noted, and no part of the value."""
    reading = say(text)

    assert reading.node == number(value)
    assert reading.units == units


@pytest.mark.parametrize(
    "text",
    [
        "2\\pi*len([1])", "__import__('os')", "2 3", "\\frac{1}{", "(1", "1)", "((1)",
        "\\sqrt", "x^", "^2", "\\sin", "5\\text{ or more}", "less than 5", "half of 5", "\\frac{d}{dx}x^2",
        "\\unknown{x}", "&",
        "\\begin{pmatrix}1&2\\\\3\\end{pmatrix}", "\\begin{tabular}1\\end{tabular}", "1012_2", "5_1", "1_{x}",
        "\\int x dx",
        "(1,2]]", "{1", "\x00", "\ud83d", "=", "<", "5 = ", "|x", "\\left(1",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_not_read(text: str) -> None:
    """Nothing is left out to make sense of the rest."""
    reading = say(text)

    assert reading.node is None
    assert reading.fault


@pytest.mark.parametrize(
    "text",
    [
        "(" * 39 + "x" + ")" * 39, "(1+" * 38 + "x" + ")" * 38, "(1+" * 500 + "x" + ")" * 500,
        "\\sqrt{" * 600 + "x" + "}" * 600,
        "2^" * 1500 + "2", "2*" + "-" * 3000 + "5", "x" + "!" * 100, "9" * 3999, "1e999999999",
        "\\frac{" * 800, "," * 3000,
        "((x)!)" * 400, "|" * 3000, "\\text{" * 600, "[" * 3000, "{" * 3000 + "}" * 900,
    ],
)  # fmt: skip
def test_reading_ends_whatever_it_is_given(text: str) -> None:
    """Deep, long and endless ones: an answer, or a fault, and no exception."""
    reading = say(text[:4000])

    assert (reading.node is None) == bool(reading.fault)


def test_doubled_brackets_do_not_count_as_nesting() -> None:
    """Any number of them is one."""
    assert say("(" * 900 + "1" + ")" * 900).node == number(1)


def test_a_comma_before_three_digits_has_two_readings() -> None:
    """The number first; inside brackets the list first."""
    assert [read("1,234", manner).node for manner in manners("1,234", Style())] == [
        number(1234),
        Sequence((number(1), number(234))),
    ]
    assert say("(1,234)").node == Sequence((number(1), number(234)), Bracket.ROUND)
    assert len(manners("1,23", Style())) == 1


def test_other_styles_of_numbers() -> None:
    """A comma as the decimal sign; nothing that joins thousands."""
    assert say("1.234,5", Style(".", ",")).node == Number(Fraction(2469, 2), 1)
    assert say("3{,}14", Style(".", ",")).node == Number(Fraction(157, 50), 2)
    assert say("1,234", Style("")).node == Sequence((number(1), number(234)))
    assert say("1\\,234", Style("")).node == number(1234)
