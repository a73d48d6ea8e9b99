"""Linear and mixed-integer models as tasks write them in JSON."""

import math
from collections import Counter
from typing import Literal, Self

import numpy as np
from pydantic import Field, model_validator

from assay.schema import Wire
from assay.verifiers.numbers import Real
from assay.verifiers.optimisation.problem import Problem

MOST_NAMES = 200_000


class Variable(Wire):
    """One variable of a model."""

    name: str = Field(min_length=1, max_length=255)
    """What completions call it; unique in the model."""
    low: Real | None = Field(0.0, allow_inf_nan=False)
    """Lower bound; null: none."""
    high: Real | None = Field(None, allow_inf_nan=False)
    """Upper bound; null: none."""
    kind: Literal["continuous", "integer", "binary"] = "continuous"
    """`binary` is an integer between 0 and 1, whatever its bounds."""


class Row(Wire):
    """One constraint: the sum of coefficients times variables, compared with a number."""

    name: str = Field("", max_length=255)
    """Names it in messages."""
    terms: dict[str, Real]
    """Coefficients by variable."""
    sense: Literal["<=", ">=", "="]
    """How the sum stands to the number."""
    rhs: Real = Field(allow_inf_nan=False)
    """The number."""


class Objective(Wire):
    """What is made as small or as large as can be."""

    terms: dict[str, Real] = Field(default_factory=dict)
    """Coefficients by variable."""
    constant: Real = Field(0.0, allow_inf_nan=False)
    """Added to the sum."""


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
        known = Counter(variable.name for variable in self.variables)
        if twice := next((name for name, count in known.items() if count > 1), None):
            raise ValueError(f"variable {twice!r} is there twice")
        for terms in (self.objective.terms, *(row.terms for row in self.constraints)):
            unknown = next((name for name in terms if name not in known), None)
            if unknown is not None:
                raise ValueError(f"there is no variable {unknown!r}")
            if not all(map(math.isfinite, terms.values())):
                raise ValueError("coefficients are finite")
        return self


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
