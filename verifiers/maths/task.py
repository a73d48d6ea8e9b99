"""The tasks of `math`: the right answer, where the completion's is looked for, and when two answers are the same."""

from typing import ClassVar, Literal

from pydantic import ConfigDict, Field, field_validator

from assay.schema import Limits
from assay.verifiers.maths.comparison import Rules
from assay.verifiers.maths.extraction import Extraction, Reasoning
from assay.verifiers.maths.reading import MOST_CHARACTERS
from assay.verifiers.maths.scalars import Tolerance
from assay.verifiers.maths.written_numbers import Style
from assay.verifiers.rules.rule import Profile, RuleTask

_STYLES = {"us": Style(), "european": Style(".", ","), "plain": Style("")}
_OPEN_RS = "knoveleng/open-rs@2889c47; arXiv 2503.16219 section 2"


class MathTask(RuleTask):
    """A question of mathematics with one right answer: reward 1 if the completion's answer has its value, else 0.

    The answer is what the last box holds after the reasoning. Both sides are read by a grammar of our own, in LaTeX,
    plain text or Unicode; two answers are equal if they are the same number, function, tuple, set, interval, matrix,
    equation, ratio or text: `0.5` is `\\frac12`, `(x+1)^2` is `x^2+2x+1`, `1<x\\le4` is `(1,4]`, `5, 2` is `2, 5` but
    `(5,2)` is not `(2,5)`; `25\\%` is `0.25` and not `25`; `1011_2` is `11`; units do not count. Nothing is rounded but
    decimals, and these by their size: `0.666667` is `2/3`, `2^{-60}` is not `2^{-61}`.

    Numbers and rational functions are decided exactly in the worker, and values that differ are told apart there. What
    is left (radicals, trigonometric identities, integrals) goes to a jailed process of the verification's own, which is
    killed at its limits: 110 equal digits at every probe are equality; what cannot be evaluated so goes to another one,
    where sympy simplifies the difference. A text that the grammar does not know is read by that of math-verify, in a
    process that holds nothing else. An answer that makes a comparison too expensive, or impossible to decide, is worth
    0, with the flag `undecided`. A right answer that is too expensive by itself, cannot be read or has no value makes
    the task `task_error`. No text of a completion is ever evaluated. Results name the versions of the libraries.
    Without the extra `math` all that needs no process works, and the rest is `infra_error`.

    The published rewards behind the profiles use math-verify's own comparison, which pays some wrong answers, misses
    some right ones, and pays everything when the gold cannot be read (huggingface/open-r1 issues 86, 215; Math-Verify
    issues 14, 44, 47, 49, 59, 67): they are profiles of what is looked for and where, not of these faults.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"id": "half", "verifier": "math", "answer": "\\frac{1}{2}"},
                {"id": "line", "verifier": "math", "answer": "x+2y=4", "equations": "literal"},
                {"id": "speed", "verifier": "math", "answer": "9.81\\text{ m/s}^2", "relative_tolerance": 0.01},
            ]
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "math/hardened", {}, "the policy of this verifier", "the defaults",
        ),
        Profile(
            "open-rs/paper", {}, _OPEN_RS,
            "the boxed answer, 1 or 0. The released code swaps gold and answer, and pays "
            "every completion if the gold has no delimiters: not reproduced",
        ),
        Profile(
            "open-r1/paper",
            {"extract": ("last_box", "last_formula", "answer_line", "last_number"), "reasoning": "keep"},
            "huggingface/open-r1@1416fa0 accuracy_reward",
            "a box, else a formula, an answer line, a number, anywhere in the text; there, too, a gold that cannot be "
            "read has a null reward",
        ),
        Profile(
            "trl/paper",
            {"extract": ("last_box", "last_formula", "answer_line", "last_number"), "reasoning": "required"},
            "huggingface/trl@f2cd577 reasoning_accuracy_reward",
            "only text after the last `</think>` counts; without one the reward is 0",
        ),
        Profile(
            "exgrpo/paper",
            {"extract": ("last_box", "last_formula", "answer_line", "last_number"), "reasoning": "first"},
            "ElliottYan/LUFFY@01f4ae0 ExGRPO, reward version 3",
            "between the first `</think>` and the next one; no box is needed; 1 or 0, as the code returns, not -1",
        ),
        Profile(
            "d1/paper", {"extract": ("last_box", "whole"), "reasoning": "keep", "weights": {"accuracy": 2.0}},
            "dllm-reasoning/d1@837888f correctness of MATH",
            "2 for the last box, else for the whole text; equality of values, where the code compares strings",
        ),
    )  # fmt: skip

    verifier: Literal["math"] = "math"
    answer: str = Field(max_length=MOST_CHARACTERS)
    """The right answer, in LaTeX or plain text. A completion that is known to be right goes into `gold`."""
    gold_delimited: bool = True
    """Whether `answer` is mathematics from end to end. If not, the mathematics in it is taken: the last box, formula
    between dollar signs or line after `####`, else all of it."""
    extract: tuple[Extraction, ...] = Field((Extraction.LAST_BOX,), min_length=1)
    """Where the answer may stand, in order: the first place that holds one counts. One name may stand for itself."""
    tag: str = Field("answer", pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$")
    """The tag that `extract: tag` looks for."""
    reasoning: Reasoning = Reasoning.STRIP
    """What is done with the reasoning before that."""
    decimals: int | None = Field(6, ge=0, le=15)
    """Places to which decimals must agree with a value; with one so small that these are fewer than three digits, its
    share to which they must. null: decimals are exact."""
    relative_tolerance: float = Field(0.0, ge=0.0, lt=1.0, allow_inf_nan=False)
    """Share of the right value that any number may be off; 0: none."""
    percent: Literal["value", "ignore", "either"] = "value"
    """`value`: 25% is 0.25; `ignore`: 25% is 25; `either`: both."""
    units: Literal["ignore", "match"] = "ignore"
    """`ignore`: 5 cm is 5 and 5 m; `match`: the units of the right answer must be there, and no others."""
    numbers: Literal["us", "european", "plain"] = "us"
    """`us`: 1,234.5; `european`: 1.234,5; `plain`: nothing but a thin space joins thousands."""
    order: Literal["auto", "ordered", "unordered"] = "auto"
    """Of items: `auto`: lists without brackets and sets have none, tuples have; or for all but sets as stated."""
    intervals: Literal["values", "literal"] = "values"
    """`values`: an inequality is the interval that solves it; `literal`: they are never the same."""
    equations: Literal["solutions", "literal"] = "solutions"
    """`solutions`: multiples of an equation are that equation; `literal`: both sides must be equal, or swapped."""
    matrices: Literal["vectors", "strict"] = "vectors"
    """`vectors`: a matrix with one row or column is a tuple too; `strict`: it is a matrix only."""
    base: Literal["value", "implied"] = "value"
    """`value`: 1011_2 is 11; `implied`: digits without a base are in that of the right answer."""
    limits: Limits = Limits(wall_s=3.0, cpu_s=3.0, memory_mb=512, attempt_wall_s=6.0)
    """Of each process, where one is needed; default here: 3 s and 512 MB each, 6 s together."""

    @field_validator("extract", mode="before")
    @classmethod
    def _one_or_more(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    def runs_something(self) -> bool:
        """Whether a process may be needed: always, for it depends on the completion."""
        return True

    @property
    def style(self) -> Style:
        """How numbers are written."""
        return _STYLES[self.numbers]

    @property
    def rules(self) -> Rules:
        """When two structures are the same."""
        return Rules(
            tolerance=Tolerance(self.decimals, self.relative_tolerance),
            order=self.order,
            equations=self.equations,
            vectors_are_tuples=self.matrices == "vectors",
            inequalities_are_intervals=self.intervals == "values",
        )
