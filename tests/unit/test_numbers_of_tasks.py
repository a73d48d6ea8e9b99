"""Neither what JSON calls true and false nor a text is a number of a task."""

from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.verifiers.builtin import default_registry

_REGISTRY = default_registry()
_VARIABLE = {"name": "x", "high": 3}
_ROW = {"terms": {"x": 1}, "sense": "<=", "rhs": 2}


def _model(**other: Any) -> dict[str, Any]:
    parts = {"sense": "maximize", "variables": [_VARIABLE], "objective": {"terms": {"x": 1}}, "constraints": [_ROW]}
    return {"verifier": "optimum", "model": {**parts, **other}}


SOLVER = {"verifier": "solver", "gold_objective": 1}
MODEL = _model()
MEASURED = {"verifier": "simulator", "baseline_rmse": 1, "simulated_rmse": 1}
LAP = {"verifier": "simulator", "goal": {"measure": "speed", "target": 1}}


@pytest.mark.parametrize("value", [True, False, "1"])
@pytest.mark.parametrize(
    ("task", "field"),
    [
        (SOLVER, "gold_objective"), (SOLVER, "absolute_tolerance"), (SOLVER, "relative_tolerance"),
        *((MODEL, name) for name in ("feasibility_absolute", "feasibility_relative", "integer_tolerance",
                                     "gap_absolute", "gap_relative", "credit_gap")),
        (MEASURED, "baseline_rmse"), (MEASURED, "simulated_rmse"), (MEASURED, "failure_rmse"),
        (LAP, "seed"), (LAP, "budget_s"), (LAP, "noise"),
    ],
)  # fmt: skip
def test_fields_are_neither_booleans_nor_texts(task: dict[str, Any], field: str, value: object) -> None:
    """They would be read as 1 or 0, which nobody wrote."""
    with pytest.raises(InvalidRequest, match=r"number|integer"):
        _REGISTRY.parse_task({"id": "t", **task, field: value})


@pytest.mark.parametrize(
    "task",
    [
        {**SOLVER, "gold_solution": [True, 1]},
        {**SOLVER, "gold_solution": {"x": True}},
        _model(variables=[{**_VARIABLE, "low": False}]),
        _model(variables=[{**_VARIABLE, "high": True}]),
        _model(objective={"terms": {"x": True}}),
        _model(objective={"terms": {"x": 1}, "constant": True}),
        _model(constraints=[{**_ROW, "terms": {"x": True}}]),
        _model(constraints=[{**_ROW, "rhs": True}]),
        {"verifier": "simulator", "goal": {"measure": "speed", "target": True}},
        {**LAP, "track": [[True, 0, 1, 1]] * 8},
    ],
)
def test_parts_are_no_booleans(task: dict[str, Any]) -> None:
    """However deep they lie."""
    with pytest.raises(InvalidRequest):
        _REGISTRY.parse_task({"id": "t", **task})


@pytest.mark.parametrize("task", [SOLVER, MODEL, MEASURED, LAP])
def test_numbers_are_numbers(task: dict[str, Any]) -> None:
    """The same tasks without a boolean are read."""
    assert _REGISTRY.parse_task({"id": "t", **task}).id == "t"
