"""The tasks of `optimum`: a model, where the answer to it stands, and what counts as feasible and as best."""

from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, field_validator, model_validator

from assay.schema import Limits
from assay.verifiers.optimisation.allowances import Allowance
from assay.verifiers.optimisation.answers import Place
from assay.verifiers.optimisation.feasibility import Tolerances
from assay.verifiers.optimisation.linear_model import LinearModel
from assay.verifiers.optimisation.problem import Status
from assay.verifiers.python_task import Dotted
from assay.verifiers.refusals import misplaced
from assay.verifiers.requirements import including
from assay.verifiers.rules.rule import Profile, RuleTask
from assay.verifiers.spending import share_of

HIGHS = "highspy"
_MOST_TEXT = 20_000_000
_MODELS = ("model", "lp", "mps")
_READ = {"values": ("places", "tag"), "program": ("fences", "forbid")}
"""The fields that only one way to answer reads."""
_SMALL: dict[str, JsonValue] = {
    "sense": "maximize",
    "variables": [{"name": "wheat", "high": 3}, {"name": "rye"}],
    "objective": {"terms": {"wheat": 3, "rye": 2}},
    "constraints": [
        {"terms": {"wheat": 1, "rye": 1}, "sense": "<=", "rhs": 4},
        {"terms": {"wheat": 1, "rye": 3}, "sense": "<=", "rhs": 6},
    ],
}


SOLVING_LIMITS = Limits(wall_s=30.0, cpu_s=60.0, memory_mb=1024, processes=256, disk_mb=128)
"""Of solving a model, which may lie in a file then, and of a program that does."""


class OptimumTask(RuleTask):
    """A linear or mixed-integer model, answered by the values of its variables: they are judged, and not a number.

    Terms, 0 or 1 but for a partial `optimal`: `parsed` (every variable has a value), `feasible` (rows, bounds and
    integrality hold within the tolerances), `integral`, `optimal` (feasible, and the objective within the gap of the
    best one). reward = optimal unless `weights` say otherwise; 0 to 1. With `credit_gap` a feasible answer beyond the
    gap has 1 - distance / (credit_gap (|best| + 1)), at least 0, where distance is between its objective and the best.
    Weights for `parsed` and `feasible` pay more steps on the way; where 0 is feasible they come easily.

    HiGHS reads and solves the model once per task content, in the oracle's jail, within `limits`; it proves the best
    objective. What it finds, its integers rounded, must pass the same examination as answers and be as good as it says;
    else it solves again with integrality held to 1e-9 and 1e-10. A model for which that does not help, such as one with
    a big M far larger than it needs to be, is "numerically unsafe".

    The answer is checked against the model in the worker, by sums that are exact where rounding could decide; integer
    variables count as the nearest integers. Where all variables of a row, or of the objective, are integer and its
    coefficients and side have up to 6 decimal places, its sum changes by steps: 1, or 0.01 with two places. There, and
    at the bounds of integer variables, the usual 1e-6 + 1e-6 |side| stays below half a step, so that it never buys a
    unit: with integers all is exact. Tolerances that the task gives itself stand.

    What stands in <think> or <thinking> is no answer, nor what follows where that is not closed.
    The values stand in the completion as one object, JSON, a short Python literal or `{x: 3, y: 1}` without quotes
    around plain names, or a program prints them (see `solver` for how it runs). An `objective` and a `status` "optimal"
    beside the values are passed over, unless they are variables: the objective is worked out. A model that is not
    linear, cannot be read, is not solved within the limits or is numerically unsafe, or is infeasible or unbounded when
    `expected` says otherwise, is `task_error`.
    Source: our own; the objective gap is that of mixed-integer solvers (|best - found|).
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"id": "two-crops", "verifier": "optimum", "model": _SMALL},
                {"id": "shaped", "verifier": "optimum", "model": _SMALL, "credit_gap": 0.1,
                 "weights": {"parsed": 0.1, "feasible": 0.2, "optimal": 0.7}},
                {"id": "text", "verifier": "optimum", "lp": "max\n obj: 3x + 2y\nst\n x + y <= 4\n x + 3y <= 6\nend\n"},
                {"id": "none", "verifier": "optimum", "lp": "min\n x\nst\n x >= 2\n x <= 1\nend\n",
                 "expected": "infeasible"},
            ]
        }
    )  # fmt: skip
    PROFILES: ClassVar = (Profile("optimum/hardened", {}, "our own", "the defaults: 1 for a proven optimum, else 0"),)

    verifier: Literal["optimum"] = "optimum"
    requires: tuple[str, ...] = (HIGHS,)
    """Modules a worker must have; highspy is always among them."""
    limits: Limits = SOLVING_LIMITS
    """Of solving the task's model, and of the program if there is one; default here: 30 s, 60 s of CPU, 1024 MB."""
    lp: str | None = Field(None, min_length=1, max_length=_MOST_TEXT)
    """The model in the LP format, as HiGHS reads it: rows have one side, and `1 <= x + y <= 3` is written as two."""
    mps: str | None = Field(None, min_length=1, max_length=_MOST_TEXT)
    """The model in the MPS format, free or fixed, as HiGHS reads it."""
    model: LinearModel | None = None
    """The model as JSON. Exactly one of the three is given."""
    expected: Status = "optimal"
    """What the model is; where it has no optimum the completion must say so: by that word alone, by a sentence that
    says no more ("The model is infeasible."), or by `{"status": "..."}`."""
    answer: Literal["values", "program"] = "values"
    """`values`: the completion holds them; `program`: its program prints them, as the last object or line."""
    places: tuple[Place, ...] = Field((Place.TAG, Place.FENCE, Place.LAST_LINE, Place.LAST_OBJECT), min_length=1)
    """With `values`: where they may stand; the first place that holds an answer counts."""
    tag: str = Field("answer", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")
    """The tag of the first of these places."""
    missing: Literal["refused", "zero"] = "refused"
    """What a variable without a value is: `refused`: there is no answer; `zero`: 0. Names that the model does not have
    and names that are there twice are always refused, so that there is no answer either."""
    feasibility_absolute: float | None = Field(None, ge=0.0, le=1.0, allow_inf_nan=False)
    """By how much a row or bound may be missed; null: 1e-6, but below half a step of a row of integers."""
    feasibility_relative: float | None = Field(None, ge=0.0, le=0.1, allow_inf_nan=False)
    """And by what share of its own right-hand side; null: the same."""
    integer_tolerance: float = Field(1e-5, ge=0.0, lt=0.5, allow_inf_nan=False)
    """How far an integer variable may be from the nearest integer, as which it counts."""
    gap_absolute: float | None = Field(None, ge=0.0, allow_inf_nan=False)
    """By how much the objective may be worse than the best; null: as above, by the objective's coefficients."""
    gap_relative: float | None = Field(None, ge=0.0, le=1.0, allow_inf_nan=False)
    """And by what share of |best|; null: the same."""
    credit_gap: float | None = Field(None, gt=0.0, le=1e6, allow_inf_nan=False)
    """Share of |best| + 1 at which a feasible answer earns nothing more; null: only the best earns."""
    fences: bool = True
    """With `program`: whether it may stand in a fence where there is no section `<python>`."""
    forbid: tuple[Dotted, ...] = ()
    """With `program`: modules and names whose use is a `violation`. Found in the syntax tree, for honest models; the
    jail is the wall."""

    @field_validator("requires")
    @classmethod
    def _require_highs(cls, requires: tuple[str, ...]) -> tuple[str, ...]:
        return including(requires, (HIGHS,))

    @model_validator(mode="after")
    def _agree(self) -> Self:
        given = [name for name in _MODELS if getattr(self, name) is not None]
        if not given:
            raise misplaced(("model",), f"there is no model: give exactly one of {', '.join(_MODELS)}", absent=True)
        if given[1:]:
            raise misplaced(given[1:2], f"there are {' and '.join(given)}", f"give exactly one of {', '.join(_MODELS)}")
        self.refuse_fields_of_other_kinds(self.answer, _READ, f"for answer {self.answer!r}")
        return self

    def runs_something(self) -> bool:
        """The model is solved in a jail."""
        return True

    @property
    def part_limits(self) -> Limits:
        """Those of solving the model and of the program, if there is one; both together keep to the attempt's time."""
        return share_of(self.limits, 1 if self.answer == "values" else 2)

    @property
    def tolerances(self) -> Tolerances:
        """What counts as feasible and as best."""
        sides = Allowance(self.feasibility_absolute, self.feasibility_relative)
        return Tolerances(sides, self.integer_tolerance, Allowance(self.gap_absolute, self.gap_relative))
