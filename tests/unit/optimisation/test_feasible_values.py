"""Whether values satisfy a model, to the last bit where it matters."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optimisation_attempts import MODEL
from pydantic import ValidationError

from assay.verifiers.optimisation.feasibility import Finding, Tolerances, exact_dot, examine
from assay.verifiers.optimisation.linear_model import LinearModel, arrange

TIGHT = Tolerances(1e-6, 1e-6, 1e-5)
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
