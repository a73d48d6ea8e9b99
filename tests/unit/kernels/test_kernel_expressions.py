"""The arithmetic language of shapes and grids."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.verifiers.kernels.expressions import LONGEST_TEXT, ExpressionError, names, parse, value_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        ("m", 100),
        ("m + n * 2", 114),
        ("(m + n) * 2", 214),
        ("10 - 3 - 2", 5),
        ("m // 8 % 5", 2),
        ("-m + 1", -99),
        ("--m", 100),
        ("-7 // 2", -4),
        ("ceildiv(m, 8)", 13),
        ("ceildiv(m + 4, 8) * 8", 104),
        ("min(m, n, 50)", 7),
        ("max( m ,n)", 100),
        ("2*-3", -6),
    ],
)
def test_values(text: str, value: int) -> None:
    """Precedence, associativity, floor division and functions."""
    assert value_of(text, {"m": 100, "n": 7}) == value


@pytest.mark.parametrize(
    "text",
    [
        "", "m +", "(m", "m)", "m n", "2 ** 3", "m / n", "m.n", "m[0]", "abs(m)", "min(m)", "ceildiv(m)", "min()",
        "f()", "ceildiv(1, 2, 3)", "1.5", "0x10", "m; n", "__import__('os')", "ⅿ", "12345678901234567890",
        "(" * 30 + "1" + ")" * 30, "-" * 40 + "1", "1" + "+1" * LONGEST_TEXT,
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(text: str) -> None:
    """Whatever is not of the language raises, and is not guessed at."""
    with pytest.raises(ExpressionError):
        parse(text)


@pytest.mark.parametrize(
    "text", ["z", "m // 0", "m % (n - 7)", "ceildiv(m, 0)", "m * m * m * m * m * m * m * m * m * m"]
)
def test_what_has_no_value_is_refused(text: str) -> None:
    """Unknown axes, divisions by zero and values beyond 62 bits."""
    with pytest.raises(ExpressionError):
        value_of(text, {"m": 100_000_000, "n": 7})


def test_names_are_found_at_any_depth() -> None:
    """The axes that an expression reads."""
    assert sorted(names(parse("ceildiv(m, 8) * (n + min(k, 2)) - -m"))) == ["k", "m", "m", "n"]


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    """Nothing else happens."""
    try:
        found = parse(text)
    except ExpressionError:
        return
    assert list(names(found)) is not None
