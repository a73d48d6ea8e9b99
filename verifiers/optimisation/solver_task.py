"""The tasks of `solver`: the right objective, how the program tells its own, and what is paid for what."""

import math
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from assay.schema import Limits
from assay.verifiers.optimisation.libraries import NEEDED
from assay.verifiers.python_task import Dotted
from assay.verifiers.refusals import misplaced
from assay.verifiers.requirements import including
from assay.verifiers.rules.rule import Profile, RuleTask

Values = tuple[float, ...] | dict[str, float]
"""Of variables, by name or not."""


PROGRAM_LIMITS = Limits(wall_s=10.0, cpu_s=20.0, memory_mb=1024, processes=256)
"""Of a program that calls solvers: these map much memory and start a thread for each core."""

_PAPER = "arXiv 2505.11792"
_CODE = "Cardinal-Operations/SIRL@8e85194 SIRLTrain/reward_func"
_PUBLISHED = {"solver_call": "ignored", "no_objective": "silent", "program": "first"}
_EQUAL = {"execution": 1.0, "accuracy": 1.0}
_AS_CODE = {**_PUBLISHED, "objective_line": "sirl", "comparison": "sirl", "program": "sirl"}


class SolverTask(RuleTask):
    """A problem of optimisation with a known objective, answered by a program that solves it (SIRL).

    reward = 0.5 format + 1 execution + 2 accuracy, 0 to 3.5: the sections are there, the program runs to its end with
    exit code 0, and its objective is the right one. With `gold_solution` there is also `solution`, the share of the
    right values of variables, paid only with the right objective. After a crash or a limit nothing that was printed
    counts. Sections are looked for in the completion alone: where the prompt's template opens `<think>` itself, put its
    tag in front of the completion, or give `format` the weight 0.

    The program is the last section `<python>` (a fence inside it is taken off), else the last fence marked as Python,
    else a section that nothing closes; what stands in <think> or <thinking> is none, nor what follows where that is not
    closed. It runs in a jail of its own, beside the extra `solvers` as far as installed (`assay doctor` lists it):
    scipy, highspy, pulp with its CBC, OR-Tools, pyomo on HiGHS, cvxpy; gurobipy and pyscipopt are optional.

    What the contract cannot do: whoever knows the number can print it. `solver_call` asks that a solver was called and
    said what the objective needs, noted in the program's own process: code that sets out to can forge that, or solve
    `min x, x = guess`. The verifier `optimum` is for what no number can win.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "two-crops",
                    "verifier": "solver",
                    "gold_objective": 11,
                    "weights": {"format": 0.125, "execution": 0.25, "accuracy": 0.625},
                },
                {"id": "as-in-the-paper", "verifier": "solver", "gold_objective": 11, "profile": "sirl/paper"},
                {"id": "no-plan", "verifier": "solver", "gold_objective": None},
                {"id": "open-end", "verifier": "solver", "gold_objective": "unbounded"},
                {"id": "returned", "verifier": "solver", "gold_objective": 3.5, "objective": "returned"},
            ]
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "sirl/hardened", {}, f"{_PAPER} §3.3; solver_call is ours",
            "the defaults: as the paper, and a solver must have been called; that there is no objective must be said",
        ),
        Profile(
            "sirl/paper", _PUBLISHED, f"{_PAPER} §3.3, §10",
            "0.5 sections in order, 1 execution, 2 objective within 0.01; the contract for the objective is ours",
        ),
        Profile(
            "sirl/paper-relative",
            {**_PUBLISHED, "absolute_tolerance": 0.0, "relative_tolerance": 1e-6},
            f"{_PAPER} §11", "a relative error of 1e-6 instead, of |gold| + 1, so that 0 can be met",
        ),
        Profile(
            "sirl/code-stage1", {**_AS_CODE, "format": "deductions", "weights": {"format": 1.0, **_EQUAL}},
            f"{_CODE} stage 1",
            "half of 2 less deductions, 1 execution, 1 objective. Faults kept: the first line with the marker counts, "
            "anywhere in it, exponents are cut off, `np.float64(3)` is 64, 0 is never right, a gold below 1e-6 always "
            "is, the first program counts, in the reasoning too. Not kept: execution within the judge's process, and "
            "the line that it adds to programs for Gurobi",
        ),
        Profile(
            "sirl/code-stage2", {**_AS_CODE, "format": "none", "weights": {**_EQUAL, "solution": 1.0}},
            f"{_CODE} stage 2",
            "1 execution, 1 objective, and with it the share of `gold_solution` that is met: zeros count, names do not",
        ),
        Profile(
            "objective/hardened", {"format": "none", "weights": {"execution": 0.0, "accuracy": 1.0}}, "our own",
            "as `sirl/hardened` finds it: 1 for the right objective, else 0, which data sets are scored with",
        ),
    )  # fmt: skip

    verifier: Literal["solver"] = "solver"
    requires: tuple[str, ...] = NEEDED
    """Modules a worker must have; scipy and highspy are always among them."""
    limits: Limits = PROGRAM_LIMITS
    """Of the program; default here: 10 s, 20 s of CPU, 1024 MB, 256 processes and threads."""
    gold_objective: Annotated[float, Field(allow_inf_nan=False)] | Literal["unbounded"] | None
    """The right objective; null: nothing is feasible; `"unbounded"`: there is no end to it. The program then says so
    instead of a number: `infeasible` or `None`, or `unbounded`, `inf` or `-inf`; see `no_objective`."""
    no_objective: Literal["said", "silent"] = "said"
    """What tells that there is no objective: `said`: the word alone; `silent`: telling nothing at all does so too, of
    either kind."""
    program: Literal["last", "first", "sirl"] = "last"
    """Which program counts: the `last` or the `first` one outside of reasoning; `sirl`: the first in the whole text."""
    absolute_tolerance: float = Field(0.01, ge=0.0, le=1e9, allow_inf_nan=False)
    """How far off the objective may be."""
    relative_tolerance: float = Field(0.0, ge=0.0, lt=1.0, allow_inf_nan=False)
    """How far off it may be as a share of |gold| + 1; the wider of the two holds."""
    objective: Literal["marker", "returned"] = "marker"
    """`marker`: a line of output that starts with the marker holds it, or the word; `returned`: a function or variable
    of the program does, and None is none; without such a name, or with what is no number, nothing is told."""
    marker: str = Field("OBJ:", min_length=1, max_length=200, pattern=r"^[^\n\r]+$")
    """What that line starts with, letter case minded, behind blanks or Markdown's emphasis too; the number follows,
    with or without a sign of money, exponent and thousands separators, or `inf`; numpy's scalars, `np.float64(3.0)`,
    and U+2212 as a minus are read too, but nothing of this by `objective_line: sirl`. What can be read in two ways is
    no number (`11 000`, `11, 000`), and one as large as `1e9999` is a number, not infinite."""
    objective_line: Literal["last", "first", "sirl"] = "last"
    """Which of several such lines counts; `sirl`: the first that holds the marker anywhere, exponents unread."""
    returned_by: str = Field("solve", pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=100)
    """With `returned`: the name of a function without arguments, or of a variable."""
    comparison: Literal["tolerance", "sirl"] = "tolerance"
    """`sirl`: as the released code compares, its faults included; tolerances are not read then."""
    format: Literal["sections", "deductions", "none"] = "sections"
    """`sections`: 1 if think, model and python are there exactly once and in that order, else 0; `deductions`: as the
    released code counts, see the verifier `format`; `none`: no such term."""
    fences: bool = True
    """Whether a program may stand in a fence where there is no section for it."""
    solver_call: Literal["ignored", "called", "value"] = "called"
    """`called`: the objective counts only if a solver was called and found a solution, or that nothing is feasible, or
    no end, as the right objective has it; `value`: and if what is told is, but for its sign, what one found. Noted are
    all that solves in scipy.optimize, scipy.sparse.csgraph, highspy, pulp, OR-Tools, pyomo, cvxpy, gurobipy, pyscipopt
    and coptpy where the program names them; what it works out by itself, by another library, or in another process that
    it starts, is not paid then."""
    forbid: tuple[Dotted, ...] = ()
    """Modules and names whose use in the program is a `violation`. Found in the syntax tree, for honest models; the
    jail is the wall."""
    gold_solution: Values | None = Field(None, min_length=1)
    """Right values of variables, for the term `solution`; names do not take part."""
    solution_marker: str = Field("SOLUTION:", min_length=1, max_length=200, pattern=r"^[^\n\r]+$")
    """The last line of output that starts with this goes on with a list or an object of values, also as numpy prints
    a vector: `[3. 1.]`."""
    solution_overlap: Literal["values", "nonzero"] = "values"
    """`values`: multisets of all values, rounded to 3 decimals, by the right ones; `nonzero`: without zeros, by the
    longer of the two, so that listing more does not help."""

    @field_validator("requires")
    @classmethod
    def _require_solvers(cls, requires: tuple[str, ...]) -> tuple[str, ...]:
        return including(requires, NEEDED)

    @field_validator("gold_solution")
    @classmethod
    def _be_finite(cls, gold: Values | None) -> Values | None:
        values = gold.items() if isinstance(gold, dict) else enumerate(gold or ())
        for place, value in values:
            if not math.isfinite(value):
                raise misplaced((place,), "values of a solution are finite numbers")
        return gold

    @model_validator(mode="after")
    def _refuse_what_is_not_read(self) -> Self:
        unread = {
            "with objective 'marker'": ("returned_by",) if self.objective == "marker" else (),
            "with objective 'returned'": ("marker", "objective_line") if self.objective == "returned" else (),
            "with comparison 'sirl'": ("absolute_tolerance", "relative_tolerance") if self.comparison == "sirl" else (),
            "without gold_solution": () if self.gold_solution else ("solution_marker", "solution_overlap"),
        }
        for given, names in unread.items():
            for alien in sorted(self.model_fields_set.intersection(names)):
                raise misplaced((alien,), f"not read {given}", "leave it out")
        return self

    def runs_something(self) -> bool:
        """The program runs in a jail."""
        return True

    @property
    def solution(self) -> tuple[float, ...]:
        """The right values; empty if none are given."""
        gold = self.gold_solution
        return tuple(gold.values()) if isinstance(gold, dict) else gold or ()
