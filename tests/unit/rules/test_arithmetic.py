"""Arithmetic: Python's grammar of numbers, exact values, and bounds on everything."""

import ast
import operator
import time
import warnings
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.verifiers.rules.arithmetic import MOST_DEPTH, MOST_TOKENS, Operator, read_expression

_SCHOOL = ("+", "-", "*", "/")
_ALL = tuple(Operator)
_BINARY: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: lambda left, right: Fraction(left // right),
}


def value(text: str, operators: tuple[str, ...] = _ALL, *, decimals: bool = True) -> Fraction:
    """Read and compute."""
    return read_expression(text, operators, decimals=decimals).value()


def by_tree(node: ast.expr, text: str) -> Fraction | None:
    """The value of Python's own syntax tree, by another route; ValueError where it holds more than numbers."""
    match node:
        case ast.Constant(value=int() | float()):
            return Fraction(ast.get_source_segment(text, node))
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            number = by_tree(inner, text)
            return None if number is None else -number if isinstance(sign, ast.USub) else number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            numbers = by_tree(left, text), by_tree(right, text)
            if None in numbers or (isinstance(op, ast.Div | ast.FloorDiv) and not numbers[1]):
                return None
            return _BINARY[type(op)](*numbers)  # type: ignore[arg-type]  # neither is None
        case _:
            raise ValueError(ast.dump(node))


def python_reads(text: str) -> ast.expr | None:
    """The syntax tree, if Python accepts the text as an expression of numbers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # a number that is called
            tree = ast.parse(text, mode="eval").body
        by_tree(tree, text)
    except (SyntaxError, ValueError):
        return None
    return tree


pieces = st.sampled_from([*"0123()+-*/. \n", "12", "2.5", "//", "(1+2)", " - ", "00", "01", "3*"])


@settings(deadline=None, max_examples=300, derandomize=True)
@given(st.lists(pieces, min_size=1, max_size=12).map(lambda parts: "".join(parts).strip()))
def test_what_is_read_is_what_python_reads(text: str) -> None:
    """The same texts are expressions, and they have the same exact value."""
    if "**" in text:
        return
    tree = python_reads(text)

    if tree is None:
        with pytest.raises(ValueError):  # noqa: PT011 - the caller needs no more than the type
            read_expression(text, _ALL, decimals=True)
        return
    expression = read_expression(text, _ALL, decimals=True)
    expected = by_tree(tree, text)
    if expected is None:
        with pytest.raises(ValueError, match="zero"):
            expression.value()
        return
    assert expression.value() == expected


@st.composite
def written(draw: st.DrawFn, depth: int = 4) -> tuple[str, Fraction]:
    """A valid expression with its value, built from the inside out."""
    if depth == 0 or draw(st.booleans()):
        number = draw(st.integers(0, 10**6))
        return str(number), Fraction(number)
    (left, one), (right, other) = draw(written(depth - 1)), draw(written(depth - 1))
    sign = draw(st.sampled_from([sign for sign in _SCHOOL if sign != "/" or other]))
    compute = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}[sign]
    return f"({left}){sign} ({right})", compute(one, other)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(written())
def test_values_are_exact(pair: tuple[str, Fraction]) -> None:
    """However deep, no digit is lost."""
    text, expected = pair

    assert value(text, _SCHOOL, decimals=False) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2**3**2", Fraction(512)),
        ("-2**2", Fraction(-4)),
        ("2**-1*3", Fraction(3, 2)),
        ("2*-3", Fraction(-6)),
        ("--3", Fraction(3)),
        ("7//2+1", Fraction(4)),
        ("-7//2", Fraction(-4)),
        ("1-2-3", Fraction(-4)),
        ("8/4/2", Fraction(1)),
        (".5+5.", Fraction(11, 2)),
        ("(1\n+2)", Fraction(3)),
        ("0**0", Fraction(1)),
        ("(-1)**99999999999", Fraction(-1)),
        ("0**99999999999", Fraction(0)),
        ("4**(1/2)", Fraction(2)),
        ("2**64", Fraction(2**64)),
    ],
)
def test_operators_bind_as_in_python(text: str, expected: Fraction) -> None:
    """Powers go before signs and from the right, the rest from the left."""
    assert value(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "()", "1 2", "1(2)", "(1", "1)", "1+", "*2", "1,2", "2x", "012", "1e5", "1\n+2", "1\u00a0+2", "\u0663+1",
        "...", "1..2", "9**9**9", "2**5000", "(1/3)**9999", "1/0", "1//0", "0**-1", "0**(-1/2)", "(-8)**(1/3)",
        "9" * 101, "1" * 100 + "**99", "__import__('os')",
    ],
)  # fmt: skip
def test_what_has_no_value_is_refused(text: str) -> None:
    """Other texts, other alphabets, divisions by zero and numbers out of bounds have none."""
    with pytest.raises(ValueError):  # noqa: PT011 - the caller needs no more than the type
        value(text)


@pytest.mark.parametrize("text", ["7//2", "2**3", "2.5*4", "5.*2"])
def test_operators_and_decimals_must_be_allowed(text: str) -> None:
    """A caller names the operators, and decimals on their own."""
    assert value(text)
    with pytest.raises(ValueError, match=r"may not stand|no integer"):
        value(text, _SCHOOL, decimals=False)


def test_bounds_are_what_they_say() -> None:
    """The largest expressions are read, one more is not."""
    deep, long = "(" * MOST_DEPTH + "1" + ")" * MOST_DEPTH, "1" + "+1" * ((MOST_TOKENS - 2) // 2)

    assert value(deep) == 1
    assert value(long) == MOST_TOKENS // 2
    with pytest.raises(ValueError, match="nested"):
        value(f"({deep})")
    with pytest.raises(ValueError, match="longer"):
        value(f"{long}+1")


MILLION = 10**6
HOSTILE = ["(", "-", "1+", "1", "9**", " ", "\n", "1/7+", "(1+", "1 ", "2.5*", ".", "(1)", "\u00b2"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_ends_at_once(piece: str) -> None:
    """Whatever the text, it is read within bounds that it cannot move."""
    text = piece * (MILLION // len(piece))
    started = time.process_time()

    with pytest.raises(ValueError):  # noqa: PT011 - the caller needs no more than the type
        value(text)

    assert time.process_time() - started < 20


def test_the_dearest_expression_takes_no_time() -> None:
    """As many fractions as fit, none alike, do not add up to much."""
    text = "+".join(f"1/{10**30 + odd}" for odd in range(1, 249))
    started = time.process_time()

    with pytest.raises(ValueError, match="too large"):
        value(text)

    assert time.process_time() - started < 20
