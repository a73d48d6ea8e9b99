"""Whether values satisfy a model, to the last bit where it matters."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimisation_attempts import MODEL
from pydantic import ValidationError

from assay.verifiers.optimisation.allowances import Allowance
from assay.verifiers.optimisation.feasibility import Finding, Tolerances, exact_dot, examine
from assay.verifiers.optimisation.linear_model import LinearModel, arrange

TIGHT = Tolerances(Allowance(1e-6, 1e-6), 1e-5, Allowance())
USUAL = Tolerances(Allowance(), 1e-5, Allowance())
FREE = {"low": None}


def found(values: dict[str, float], tolerances: Tolerances = TIGHT, **changed: Any) -> Finding:
    """Examine values in the usual model, with some of it changed."""
    problem = arrange(LinearModel.model_validate({**MODEL, **changed}))
    return examine(problem, np.array([values[name] for name in problem.names]), tolerances)


def difference(rhs: float) -> dict[str, Any]:
    """Two free variables whose difference is bounded."""
    return {
        "variables": [{"name": "x", **FREE}, {"name": "y", **FREE}],
        "constraints": [{"terms": {"x": 1, "y": -1}, "sense": "<=", "rhs": rhs}],
        "objective": {"terms": {"x": 1, "y": -1}, "constant": 10},
    }


@pytest.mark.parametrize(
    ("values", "feasible", "fault"),
    [
        ({"x": 3, "y": 1}, True, ""),
        ({"x": 3, "y": 1 + 5e-7}, True, ""),
        ({"x": 3 + 5e-6, "y": 0}, False, "x is out of bounds: 3.000005 is above its upper bound, 3"),
        ({"x": 0, "y": -1e-5}, False, "y is out of bounds: -1e-05 is below its lower bound, 0"),
        ({"x": 3, "y": 1.001}, False, "constraint 0"),
        ({"x": 0, "y": 2.1}, False, "constraint 1"),
    ],
)
def test_rows_and_bounds(values: dict[str, float], feasible: bool, fault: str) -> None:
    """Within tolerance; the message names what does not hold."""
    finding = found(values)

    assert finding.feasible is feasible
    assert finding.fault.startswith(fault)


@pytest.mark.parametrize("scale", [1.0, 1e6, 1e12, 1e20, 1e200])
def test_values_that_cancel_buy_nothing(scale: float) -> None:
    """However large they are: the tolerance is a share of the side, not of the summands."""
    step = max(1.0, np.spacing(scale) * 2)

    assert not found({"x": scale + 5 * step, "y": scale}, **difference(4)).feasible
    assert found({"x": scale, "y": scale}, **difference(4)).feasible


def test_values_that_overflow_satisfy_nothing() -> None:
    """Infinities and what is no number hold no row, and have no objective."""
    finding = found({"x": 1e308, "y": -1e308}, **difference(4))

    assert not finding.feasible
    assert finding.objective is None


def test_the_objective_is_exact_where_values_cancel() -> None:
    """The constant is part of it."""
    assert found({"x": 1e16 + 4, "y": 1e16}, **difference(4)).objective == 14.0


def test_integers_count_as_the_nearest() -> None:
    """In rows and objective: their tolerance buys nothing."""
    whole = [{"name": "x", "kind": "integer"}, {"name": "y"}]

    near = found({"x": 3 + 9e-6, "y": 1}, variables=whole)
    far = found({"x": 2.5, "y": 1}, variables=whole)

    assert (near.feasible, near.integral, near.objective) == (True, True, 11.0)
    assert (far.feasible, far.integral, far.fault) == (False, False, "x is no integer: 2.5")


def test_binaries_are_0_or_1() -> None:
    """Whatever their bounds say."""
    binary = [{"name": "x", "kind": "binary", "high": 9}, {"name": "y"}]

    assert not found({"x": 2, "y": 0}, variables=binary).feasible


@pytest.mark.parametrize(("sense", "values"), [("=", (4, 5)), (">=", (4, 3)), ("<=", (4, 5))])
def test_senses(sense: str, values: tuple[float, float]) -> None:
    """The first value holds, the second does not."""
    rows = [{"terms": {"x": 1}, "sense": sense, "rhs": 4}]
    holds = [
        found({"x": value, "y": 0}, constraints=rows, variables=[{"name": "x"}, {"name": "y"}]).feasible
        for value in values
    ]

    assert holds == [True, False]


def test_a_model_without_rows() -> None:
    """Bounds alone decide; an empty row is a sum of 0."""
    assert found({"x": 3, "y": 99}, constraints=[]).feasible
    assert not found({"x": 3, "y": 9}, constraints=[{"terms": {}, "sense": ">=", "rhs": 1}]).feasible


@given(st.lists(st.tuples(st.floats(-1e100, 1e100), st.floats(-1e100, 1e100)), max_size=20))
def test_sums_of_products_are_rounded_once(pairs: list[tuple[float, float]]) -> None:
    """As fractions say; where products are too small to be split, only their last bits are lost."""
    first, second = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    exact = sum((Fraction(one) * Fraction(other) for one, other in pairs), Fraction(0))

    assert abs(Fraction(exact_dot(first, second)) - exact) <= Fraction(np.spacing(abs(float(exact)))) + Fraction(1e-300)


@pytest.mark.parametrize(
    ("changed", "place"),
    [
        ({"variables": [{"name": "x"}, {"name": "x"}]}, "variables.1.name"),
        ({"variables": []}, "variables"),
        ({"variables": [{"name": "x"}]}, "objective.terms.y"),
        ({"objective": {"terms": {"z": 1}}}, "objective.terms.z"),
        ({"objective": {"terms": {"x": float("inf")}}}, "objective.terms.x"),
        ({"constraints": [{"terms": {"z": 1}, "sense": "<=", "rhs": 1}]}, "constraints.0.terms.z"),
        ({"constraints": [{"terms": {"x": float("nan")}, "sense": "<=", "rhs": 1}]}, "constraints.0.terms.x"),
        ({"constraints": [{"terms": {"x": 1}, "sense": "<", "rhs": 1}]}, "constraints.0.sense"),
        ({"constraints": [{"terms": {"x": 1}, "sense": "<=", "rhs": float("inf")}]}, "constraints.0.rhs"),
        ({"sense": "max"}, "sense"),
    ],
)
def test_models_that_mean_nothing_are_refused(changed: dict[str, Any], place: str) -> None:
    """Names that are there twice or not at all, numbers that are none."""
    with pytest.raises(ValidationError) as caught:
        LinearModel.model_validate({**MODEL, **changed})

    assert ".".join(map(str, caught.value.errors()[0]["loc"])) == place


def pair(objective: dict[str, float], row: tuple[dict[str, float], float], *kinds: str) -> dict[str, Any]:
    """Two variables of these kinds, x and y, and one row."""
    kinds = kinds or ("binary", "binary")
    return {
        "variables": [{"name": name, "kind": kind} for name, kind in zip("xy", kinds, strict=True)],
        "objective": {"terms": objective},
        "constraints": [{"terms": row[0], "sense": "<=", "rhs": row[1]}],
    }


@pytest.mark.parametrize(
    ("row", "kinds", "feasible"),
    [
        (({"x": 500_001, "y": 500_000}, 1_000_000), ("binary", "binary"), False),
        (({"x": 500_001, "y": 499_999}, 1_000_000), ("binary", "binary"), True),
        (({"x": 5000.01, "y": 5000}, 10_000), ("binary", "binary"), False),
        (({"x": 5000.01, "y": 4999.99}, 10_000), ("binary", "binary"), True),
        (({"x": 0.1, "y": 0.2}, 0.3), ("binary", "binary"), True),
        (({"x": 1e6 / 3, "y": 1e6 / 3}, 2e6 / 3 - 0.5), ("binary", "binary"), True),
        (({"x": 500_001, "y": 500_000}, 1_000_000), ("binary", "continuous"), True),
        (({"x": 1_000_001, "y": 0}, 1_000_000), ("binary", "continuous"), False),
    ],
)
def test_no_share_of_a_side_buys_a_unit(
    row: tuple[dict[str, float], float], kinds: tuple[str, str], feasible: bool
) -> None:
    """Where integers and coefficients let the sum change by steps alone; elsewhere the share stands."""
    finding = found({"x": 1, "y": 1}, USUAL, **pair({}, row, *kinds))

    assert finding.feasible is feasible


def test_a_tolerance_that_the_task_gives_stands_for_integers_too() -> None:
    """And a narrower absolute one does not bring the usual share of the side back."""
    model = pair({}, ({"x": 500_001, "y": 500_000}, 1_000_000))

    for own, feasible in ((Allowance(None, 1e-6), True), (Allowance(1.0), True), (Allowance(1e-9), False)):
        tolerances = Tolerances(own, 1e-5, Allowance())

        assert found({"x": 1, "y": 1}, tolerances, **model).feasible is feasible


@pytest.mark.parametrize(("high", "value"), [(2_000_000, 2_000_001), (2_000_000.5, 2_000_001)])
def test_bounds_of_integers_are_not_missed_by_a_unit(high: float, value: float) -> None:
    """Whichever side of a half they are."""
    variables = [{"name": "x", "kind": "integer", "high": high}, {"name": "y", "kind": "integer", "low": -high}]
    free = {"variables": variables, "constraints": []}

    assert found({"x": value - 1, "y": 1 - value}, USUAL, **free).feasible
    assert not found({"x": value, "y": 0}, USUAL, **free).feasible
    assert not found({"x": 0, "y": -value}, USUAL, **free).feasible


@pytest.mark.parametrize(
    ("costs", "kinds", "gap"),
    [
        ({"x": 10_000_000, "y": 1}, ("binary", "binary"), 0.5),
        ({"x": 10_000_000, "y": 0.01}, ("binary", "binary"), 0.005),
        ({"x": 10_000_000}, ("binary", "continuous"), 0.5),
        ({"x": 10_000_000, "y": 1}, ("binary", "continuous"), 10.000001),
        ({"x": 10_000_000, "y": 1 / 3}, ("binary", "binary"), 10.000001),
    ],
)
def test_the_usual_gap_stays_below_a_step_of_the_objective(
    costs: dict[str, float], kinds: tuple[str, str], gap: float
) -> None:
    """What stands in no summand does not matter."""
    problem = arrange(LinearModel.model_validate({**MODEL, **pair(costs, ({"x": 1}, 1), *kinds)}))

    assert USUAL.gap_of(problem, 1e7) == pytest.approx(gap)
    assert Tolerances(Allowance(), 1e-5, Allowance(2.0)).gap_of(problem, 1e7) >= 2.0


@given(
    st.lists(st.tuples(st.integers(-(10**8), 10**8), st.integers(-1000, 1000)), min_size=1, max_size=8),
    st.integers(0, 6),
    st.integers(-2, 2),
)
def test_decimal_rows_of_integers_hold_as_decimals_say(pairs: list[tuple[int, int]], places: int, off: int) -> None:
    """To the last place of the coefficients, although no float is a tenth."""
    exact = sum(coefficient * value for coefficient, value in pairs)
    names = [f"v{number}" for number in range(len(pairs))]
    terms = {name: coefficient / 10**places for name, (coefficient, _) in zip(names, pairs, strict=True)}
    model = {
        "variables": [{"name": name, "kind": "integer", "low": None} for name in names],
        "constraints": [{"terms": terms, "sense": "<=", "rhs": (exact + off) / 10**places}],
        "objective": {},
    }

    finding = found({name: value for name, (_, value) in zip(names, pairs, strict=True)}, USUAL, **model)

    assert finding.feasible is (off >= 0)
