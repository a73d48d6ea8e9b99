"""Reading objectives and solutions off output, and comparing them."""

import math
import sys
import time

import pytest

from assay.verifiers.optimisation import objective

_NEAR_MISS = f"OBJ: {'1' * 390}x\n"


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("OBJ: 11", 11.0),
        ("OBJ:11.5\n", 11.5),
        ("OBJ: -7.5", -7.5),
        ("OBJ: +.5", 0.5),
        ("OBJ: 1.5e+07", 15_000_000.0),
        ("OBJ: 1E-3", 0.001),
        ("OBJ: 1,234,567.5", 1_234_567.5),
        ("OBJ: 11 dollars", 11.0),
        ("OBJ: $1,234.50", 1234.5),
        ("OBJ: -\u20ac11", -11.0),
        ("  OBJ: 11", 11.0),
        ("OBJ: **11**", 11.0),
        ("OBJ: `infeasible`", "infeasible"),
        ("**OBJ:** 11", 11.0),
        ("**OBJ: None**", "infeasible"),
        ("__OBJ: $11__", 11.0),
        ("my OBJ: 11", None),
        ("OBJ: ****", None),
        ("OBJ: 3*4", None),
        ("OBJ: 11.", 11.0),
        ("OBJ: 11.0;", 11.0),
        ("OBJ: 11\r\nmore", 11.0),
        ("OBJ: inf", math.inf),
        ("OBJ: -Infinity", -math.inf),
        ("OBJ: 1\nOBJ: 2\nend", 2.0),
        ("OBJ: 1\nOBJ: none of it", 1.0),
        ("OBJ: 1\nOBJ: None", 1.0),
        ("OBJ: None", "infeasible"),
        ("OBJ: none", None),
        ("OBJ: Infeasible.\r", "infeasible"),
        ("OBJ: 'UNBOUNDED'", "unbounded"),
        ("OBJ: infeasible or unbounded", None),
        ("OBJ: not infeasible", None),
        ("OBJ: np.float64(3.5)", 3.5),
        ("OBJ: numpy.int64(-3)", -3.0),
        ("OBJ: np.float64(inf)", math.inf),
        ("OBJ: np.float64(1+1)", None),
        ("OBJ: \u22127.5", -7.5),
        ("OBJ: np.float64(\u22121e\u22123)", -0.001),
        ("OBJ:\u00a011", 11.0),
        ("OBJ: 5\u22123", None),
        ("OBJ: \u22127%", None),
        ("OBJ: \u20137", None),
        ("OBJ: 12,34", None),
        ("OBJ: 11 000", None),
        ("OBJ: 11\u202f000,5", None),
        ("OBJ: 11 .5", None),
        ("OBJ: 11, 000", None),
        ("OBJ: 11. 000", None),
        ("OBJ: 1,100,\u202f000.5", None),
        ("OBJ: 11, 12 of them full", 11.0),
        ("OBJ: 11, 1200 iterations", 11.0),
        ("OBJ: 1e9999", sys.float_info.max),
        ("OBJ: -1e9999", -sys.float_info.max),
        ("OBJ: " + "9" * 390, sys.float_info.max),
        ("OBJ: 11 000\nOBJ: 12 apples", 12.0),
        ("OBJ: 1/3", None),
        ("OBJ: 11%", None),
        ("OBJ: 0x1f", None),
        ("OBJ: [11.0]", None),
        ("OBJ: ١١", None),
        ("the OBJ: 11", None),
        ("obj: 11", None),
        ("", None),
    ],
)
def test_the_last_line_with_marker_and_number_counts(output: str, found: objective.Found) -> None:
    """Exponents, signs and separators are read; what is no number is none."""
    assert objective.last_objective(output, "OBJ:") == found


def test_the_first_line_may_count() -> None:
    """And as SIRL reads it: anywhere in the line, without exponent."""
    assert objective.first_objective("OBJ: x\nOBJ: 1\nOBJ: 2", "OBJ:") == 1.0
    assert objective.sirl_objective("the OBJ: 1.5e+07\nOBJ: 2", "OBJ:") == 1.5
    assert objective.sirl_objective("OBJ: none\nOBJ: 2", "OBJ:") is None
    assert objective.sirl_objective("OBJ: np.float64(3.0)", "OBJ:") == 64.0  # as the released code has it
    assert objective.sirl_objective("OBJ: \u22123", "OBJ:") == 3.0
    assert objective.sirl_objective("nothing", "OBJ:") is None


@pytest.mark.parametrize(
    ("gold", "found", "absolute", "relative", "right"),
    [
        (11.0, 11.01, 0.01, 0.0, True),
        (1.0, 1.01, 0.01, 0.0, True),
        (1.0, 1.0100001, 0.01, 0.0, False),
        (5e6, 5000000.5, 0.01, 0.0, False),
        (5e6, 5000000.5, 0.0, 1e-6, True),
        (0.0, 0.0, 0.0, 0.0, True),
        (0.0, 1e-7, 0.0, 1e-6, True),
        (0.1, 0.1, 0.0, 0.0, True),
        (0.3, 0.1 + 0.2, 0.0, 0.0, False),
        (11.0, math.inf, 0.01, 0.5, False),
        (11.0, math.nan, 0.01, 0.5, False),
        (11.0, None, 0.01, 0.0, False),
        (None, None, 0.01, 0.0, False),
        (None, "infeasible", 0.01, 0.0, True),
        (None, "unbounded", 0.01, 0.0, False),
        (11.0, "infeasible", 0.01, 0.0, False),
        (None, 11.0, 0.01, 0.0, False),
        (None, math.inf, 0.01, 0.0, False),
        ("unbounded", None, 0.01, 0.0, False),
        ("unbounded", "unbounded", 0.01, 0.0, True),
        ("unbounded", "infeasible", 0.01, 0.0, False),
        ("unbounded", -math.inf, 0.01, 0.0, True),
        ("unbounded", 1e308, 0.01, 0.0, False),
        ("unbounded", math.nan, 0.01, 0.0, False),
    ],
)
def test_tolerances(
    gold: objective.Gold, found: objective.Found, absolute: float, relative: float, right: bool
) -> None:
    """The wider of the two, bounds within; where there is no objective, its word is right."""
    assert objective.agrees(gold, found, absolute, relative) is right


@pytest.mark.parametrize("gold", [None, "unbounded"])
def test_silence_is_right_only_where_it_may_be(gold: objective.Gold) -> None:
    """And never for a number; the wrong word is wrong all the same."""
    wrong: objective.Found = "unbounded" if gold is None else "infeasible"

    assert objective.agrees(gold, None, 0.01, 0.0, silent=True)
    assert not objective.agrees(gold, wrong, 0.01, 0.0, silent=True)
    assert not objective.agrees(1.0, None, 0.01, 0.0, silent=True)


@pytest.mark.parametrize(
    ("output", "nearest"),
    [
        ("OBJ: [220.]\nend", "OBJ: [220.]"),
        ("  OBJ: 220", "  OBJ: 220"),
        ("OBJ: $220", "OBJ: $220"),
        ("obj = 220", "obj = 220"),
        ("220", ""),
        ("OBJ: " + "x" * 500, ("OBJ: " + "x" * 500)[:80]),
    ],
)
def test_the_nearest_line_is_found(output: str, nearest: str) -> None:
    """For the message; at most 80 characters."""
    assert objective.nearest_line(output, "OBJ:") == nearest


@pytest.mark.parametrize(
    ("gold", "found", "ran", "right"),
    [
        (0.0, 0.0, True, False),
        (5e-7, None, False, True),
        (5e-7, 0.0, True, True),
        (2e-6, None, False, False),
        (11.0, 11.0, True, True),
        (11.0, 11.00001, True, True),
        (11.0, 11.00002, True, False),
        (None, None, True, True),
        (None, None, False, False),
        (None, 3.0, True, False),
    ],
)
def test_the_faults_of_the_released_code(gold: float | None, found: float | None, ran: bool, right: bool) -> None:
    """Truth stands in for presence, and the error is |gold| where there is nothing to compare."""
    assert objective.sirl_agrees(gold, found, ran) is right


def test_overlaps() -> None:
    """Multisets rounded to three decimals; the strict one counts no zeros and no padding."""
    assert objective.overlap([0, 0, 0, 5], [0, 0, 0, 0]) == 0.75
    assert objective.overlap([1, 2], [2.0004, 1.0, 9, 9]) == 1.0
    assert objective.overlap([0.0], [-0.0001]) == 1.0
    assert objective.strict_overlap([0, 0, 0, 5], [0, 0, 0, 0]) == 0.0
    assert objective.strict_overlap([1, 2], [2, 1, 9, 9]) == 0.5
    assert objective.strict_overlap([0, 0], [0]) == 1.0


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("SOLUTION: [1, 2.5]", (1.0, 2.5)),
        ("SOLUTION: {'x': 1, 'y': 0}", (1.0, 0.0)),
        ('SOLUTION: [1]\nSOLUTION: {"x": 2}', (2.0,)),
        ("SOLUTION: [3. 1.]", (3.0, 1.0)),
        ("SOLUTION: [ 3.00000000e+00 -1.5]", (3.0, -1.5)),
        ("SOLUTION: array([3., 1.])", (3.0, 1.0)),
        ("SOLUTION: [3. 1.\n 2.]\nOBJ: 5", (3.0, 1.0, 2.0)),
        ("SOLUTION: array([3., 1.,\n       2.])", (3.0, 1.0, 2.0)),
        ("SOLUTION: {'x': 1,\n 'y': 0}\n[9]", (1.0, 0.0)),
        ("SOLUTION: [1, 2\nOBJ: 5\n[9]", None),
        ("SOLUTION: [3. 1. ... 4.]", None),
        ("SOLUTION: [1 -]", None),
        ("SOLUTION: [True]", None),
        ("SOLUTION: ['1']", None),
        ("SOLUTION: [1e999]", None),
        (f"SOLUTION: [{'9' * 400}]", None),
        ("SOLUTION: 5", None),
        ("SOLUTION: [", None),
        ("nothing", None),
    ],
)
def test_solutions_are_literals_of_numbers(output: str, found: tuple[float, ...] | None) -> None:
    """Lists and objects; anything else is none."""
    assert objective.read_solution(output, "SOLUTION:") == found


@pytest.mark.parametrize("body", ["OBJ: 1\n", "OBJ:", _NEAR_MISS, "OBJ: 1,234", "9", "\n", "OBJ: " + "1,111" * 200])
def test_a_megabyte_is_read_in_time(body: str) -> None:
    """By every reader: whatever takes quadratic time takes far longer than this."""
    text = body * (1_000_000 // len(body))
    started = time.process_time()

    objective.last_objective(text, "OBJ:")
    objective.first_objective(text, "OBJ:")
    objective.sirl_objective(text, "OBJ:")
    objective.read_solution(text, "OBJ:")

    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "written", ["{'x': np.float64(3.0), 'y': np.int64(1)}", "[np.float64(3.0), np.float64(1.0)]", "[3.0, 1]"]
)
def test_solutions_may_hold_scalars_of_numpy(written: str) -> None:
    """What `print` makes of a dictionary or a list of a solver's values."""
    assert objective.read_solution(f"SOLUTION: {written}", "SOLUTION:") == (3.0, 1.0)


@pytest.mark.parametrize(
    ("written", "right"), [("inf", True), ("-Infinity", True), ("1e9999", False), ("-1e999", False)]
)
def test_an_unbounded_objective_is_told_by_a_word(written: str, right: bool) -> None:
    """A number that is beyond all floats is a number, and wrong."""
    found = objective.last_objective(f"OBJ: {written}", "OBJ:")

    assert objective.agrees("unbounded", found, 0.01, 1e-6) is right
    assert not objective.agrees(None, found, 0.01, 1e-6)
