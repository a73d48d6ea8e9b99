"""Linear and mixed-integer models as tasks write them in JSON."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, Self  # Any: a document from a caller is unparsed JSON

import numpy as np
from pydantic import Field, model_validator

from assay.schema import Wire
from assay.spelling import choices, shown
from assay.verifiers.optimisation.problem import Problem
from assay.verifiers.refusals import misplaced

MOST_NAMES = 200_000
_LISTED = 10  # names that a refusal lists


class Variable(Wire):
    """One variable of a model."""

    name: str = Field(min_length=1, max_length=255)
    """What completions call it; unique in the model."""
    low: float | None = Field(0.0, allow_inf_nan=False)
    """Lower bound; null: none."""
    high: float | None = Field(None, allow_inf_nan=False)
    """Upper bound; null: none."""
    kind: Literal["continuous", "integer", "binary"] = "continuous"
    """`binary` is an integer between 0 and 1, whatever its bounds."""

    @model_validator(mode="after")
    def _have_room(self) -> Self:
        low, high = _bounds(self)
        if low > high:
            raise misplaced(("low",), f"{low:g} is above the upper bound, {high:g}")
        return self


class Row(Wire):
    """One constraint: the sum of coefficients times variables, compared with a number."""

    name: str = Field("", max_length=255)
    """Names it in messages."""
    terms: dict[str, float]
    """Coefficients by variable."""
    sense: Literal["<=", ">=", "="]
    """How the sum stands to the number."""
    rhs: float = Field(allow_inf_nan=False)
    """The number."""

    @model_validator(mode="before")
    @classmethod
    def _say_where_coefficients_stand(cls, document: Any) -> Any:
        return _with_terms(document, ("name", "terms", "sense", "rhs"), "a constraint")


class Objective(Wire):
    """What is made as small or as large as can be."""

    terms: dict[str, float] = Field(default_factory=dict)
    """Coefficients by variable."""
    constant: float = Field(0.0, allow_inf_nan=False)
    """Added to the sum."""

    @model_validator(mode="before")
    @classmethod
    def _say_where_coefficients_stand(cls, document: Any) -> Any:
        return _with_terms(document, ("terms", "constant"), "an objective")


class LinearModel(Wire):
    """A linear or mixed-integer model."""

    sense: Literal["minimize", "maximize"]
    """Which way the objective is to go."""
    variables: tuple[Variable, ...] = Field(min_length=1, max_length=MOST_NAMES)
    """All variables, each by its name."""
    objective: Objective
    """What is optimised."""
    constraints: tuple[Row, ...] = Field((), max_length=MOST_NAMES)
    """What must hold, beside the bounds."""

    @model_validator(mode="after")
    def _hang_together(self) -> Self:
        known: dict[str, int] = {}
        for number, variable in enumerate(self.variables):
            if variable.name in known:
                before = f"variables[{known[variable.name]}]"
                raise misplaced(("variables", number, "name"), f"{variable.name!r} is there twice: {before} has it too")
            known[variable.name] = number
        _check_terms(self.objective.terms, known, ("objective", "terms"))
        for number, row in enumerate(self.constraints):
            _check_terms(row.terms, known, ("constraints", number, "terms"))
        return self


def _with_terms(document: Any, fields: Sequence[str], what: str) -> Any:
    """Return a document; raise ValidationError if a number stands beside its fields, as only coefficients do."""
    for name, value in document.items() if isinstance(document, Mapping) else ():
        if name not in fields and isinstance(value, int | float):
            raise misplaced(
                (name,),
                f"{what} has no field {str(name)[:80]!r}, only {', '.join(fields)}",
                f'write coefficients as {{"terms": {{{str(name)[:80]!r}: {value!r}}}}}'.replace("'", '"'),
            )
    return document


def _check_terms(terms: Mapping[str, float], known: Collection[str], place: tuple[str | int, ...]) -> None:
    """Raise ValidationError for a coefficient that is none, or of no variable."""
    for name, value in terms.items():
        if name not in known:
            fix = f"{choices(name, known, most=_LISTED)} (`variables`)"
            raise misplaced((*place, name), f"there is no variable {shown(name)}", fix)
        if not math.isfinite(value):
            raise misplaced((*place, name), "coefficients are finite numbers")


def arrange(model: LinearModel) -> Problem:
    """Return a model as arrays."""
    names = tuple(variable.name for variable in model.variables)
    places = {name: place for place, name in enumerate(names)}
    costs = np.zeros(len(names))
    for name, cost in model.objective.terms.items():
        costs[places[name]] = cost
    bounds = [_bounds(variable) for variable in model.variables]
    sides = [_sides(row) for row in model.constraints]
    sizes = [len(row.terms) for row in model.constraints]
    return Problem(
        names=names,
        maximize=model.sense == "maximize",
        offset=model.objective.constant,
        costs=costs,
        low=np.array([low for low, _ in bounds]),
        high=np.array([high for _, high in bounds]),
        integer=np.array([variable.kind != "continuous" for variable in model.variables]),
        row_low=np.array([low for low, _ in sides], dtype=np.float64),
        row_high=np.array([high for _, high in sides], dtype=np.float64),
        starts=np.concatenate(([0], np.cumsum(sizes))).astype(np.int32),
        columns=np.array([places[name] for row in model.constraints for name in row.terms], dtype=np.int32),
        values=np.array([value for row in model.constraints for value in row.terms.values()], dtype=np.float64),
    )


def _bounds(variable: Variable) -> tuple[float, float]:
    if variable.kind == "binary":
        return 0.0, 1.0
    low = -math.inf if variable.low is None else variable.low
    return low, math.inf if variable.high is None else variable.high


def _sides(row: Row) -> tuple[float, float]:
    return -math.inf if row.sense == "<=" else row.rhs, math.inf if row.sense == ">=" else row.rhs
