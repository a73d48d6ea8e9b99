"""Neither what JSON calls true and false nor a text is a number of a task."""

from collections.abc import Iterator
from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.schema import Attempt, BatchOptions, Wire
from assay.verifiers.builtin import default_registry
from assay.verifiers.models.endpoints import Endpoint

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


def kinds_in(schema: object) -> Iterator[dict[str, Any]]:
    """Every part of a validation schema that reads a number or a boolean."""
    if isinstance(schema, dict):
        if schema.get("type") in ("int", "float", "bool"):
            yield schema
        schema = tuple(schema.values())
    if isinstance(schema, list | tuple):
        for part in schema:
            yield from kinds_in(part)


@pytest.mark.parametrize(
    "model",
    [*(_REGISTRY.get(name).task_model for name in _REGISTRY.names), Attempt, BatchOptions, Endpoint],
    ids=lambda model: model.__name__,
)
def test_every_number_and_boolean_of_every_model_is_taken_to_the_letter(model: type[Wire]) -> None:
    """However deep it lies, and whoever adds the field."""
    kinds = list(kinds_in(model.__pydantic_core_schema__))

    assert kinds
    assert [kind for kind in kinds if not kind.get("strict")] == []


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"verifier": "python", "tests": ["assert f()"], "limits": {"wall_s": True}}, "limits.wall_s"),
        ({"verifier": "python", "tests": ["assert f()"], "limits": {"memory_mb": "64"}}, "limits.memory_mb"),
        ({"verifier": "python", "tests": ["assert f()"], "limits": {"stop_on_fail": 1}}, "limits.stop_on_fail"),
        ({"verifier": "python", "tests": ["assert f()"], "pass_threshold": True}, "pass_threshold"),
        ({"verifier": "classification", "label": "a", "weights": {"format": True}}, "weights.format"),
        ({"verifier": "classification", "label": "a", "weights": {"format": "1"}}, "weights.format"),
        ({"verifier": "countdown", "numbers": [1, True], "target": 1}, "numbers[1]"),
        ({"verifier": "countdown", "numbers": [1], "target": True}, "target"),
        ({**SOLVER, "fences": 1}, "fences"),
        ({**SOLVER, "fences": "yes"}, "fences"),
        ({"verifier": "simulator", "adheres": 1}, "adheres"),
        ({"verifier": "regex", "patterns": ["a"], "ignore_case": "true"}, "ignore_case"),
    ],
)  # fmt: skip
def test_refusals_name_the_field(fields: dict[str, Any], path: str) -> None:
    """Numbers where a boolean should be are refused like booleans where a number should be."""
    with pytest.raises(InvalidRequest) as caught:
        _REGISTRY.parse_task({"id": "t", **fields})

    assert caught.value.path == f"task.{path}"


def test_whole_numbers_do_for_others() -> None:
    """JSON writes 1 and 1.0 for the same number."""
    task = _REGISTRY.parse_task({"id": "t", "verifier": "classification", "label": "a", "weights": {"format": 1}})

    assert task.weights == {"format": 1.0}  # type: ignore[attr-defined]  # of rules
