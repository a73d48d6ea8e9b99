"""The task model of the verifier `program`."""

import json
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, Self  # Any: `data` is whatever JSON the task's verifier reads

from pydantic import ConfigDict, Field, model_validator

from assay.canonical import content_hash
from assay.schema import Wire
from assay.verifiers.program.returned import MOST_TERMS, NAME, WHOLE
from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.rule import Factor, Profile, RuleTask
from assay.verifiers.scoring import SLACK

_Name = Annotated[str, Field(pattern=NAME)]

_EXAMPLE = '''\
import json

def verify(completion, task):
    """A palindrome over the given letters; the longer the better, up to `enough`."""
    letters, enough = task["data"]["letters"], task["data"]["enough"]
    word = completion.strip().lower()
    legal = bool(word) and set(word) <= set(letters) and word == word[::-1]
    return {"legal": legal, "length": min(1.0, len(word) / enough) if legal else 0.0}
'''


class OnError(StrEnum):
    """What an attempt is worth on which the task's own source fails: raises, gives nothing usable, or does not end."""

    TASK_ERROR = "task_error"
    """Nothing is known: the outcome is `task_error`, the reward null."""
    LOWEST = "lowest"
    """The lowest reward there is, outcome `failed`, flag `undecided`: the completion did not satisfy the source."""


class Range(Wire):
    """What a term can be, and what it weighs."""

    low: Factor = 0.0
    """Its lowest value."""
    high: Factor = 1.0
    """Its highest value: full marks."""
    weight: Factor = 1.0
    """Its factor in the reward; the task's `weights` go before it."""

    @model_validator(mode="after")
    def _ascend(self) -> Self:
        if self.low >= self.high:
            raise misplaced(("low",), f"low must be below high, {self.high:g}")
        return self


class SourcedTask(RuleTask):
    """Fields of every task that brings trusted source of its own."""

    on_error: OnError | None = None
    """What an attempt is worth on which the task's own source fails; default: `lowest` where the task has a `gold`,
    since that has passed and so the source works, else `task_error`. A null reward is one that a completion can earn
    by upsetting a careless verifier, so give a gold. A gold on which the source fails is always `task_error`."""

    def runs_something(self) -> bool:
        """The task's own source runs in a jail."""
        return True

    def blames(self, completion: str) -> bool:
        """Whether a failure of the task's source on this completion is the completion's own loss."""
        return self.holds_liable(completion, None if self.on_error is None else self.on_error is OnError.LOWEST)


class ProgramTask(SourcedTask):
    """A verifier of the task's own: reward = sum of weight x term over what its `verify(completion, task)` returns.

    `source` is Python, trusted, and runs in the oracle's jail: no network, no files but its own, `limits` hold. It gets
    the completion as text and the task as a dict of `id`, `metadata` and `data`. It must not run the completion: code
    that it evaluates could report its own verdict; for completions that are programs there is `python`.
    It returns a number or a bool, which is the term `reward`, or a dict of terms, or a pair of either and a message.
    Without `terms` every term has the range 0 to 1 and the weight 1; where a dict has `reward` beside others, it alone
    counts and the others are only reported. A `pass_threshold` is then at most 1, or what the `weights` sum up to. Full
    marks are the highest values. A value outside its range, NaN, None or another type, and an exception, are failures
    of the source: see `on_error`; so is one that exhausts its limits.
    Source: the verification functions of RLVR tasks, as in Tulu 3, arXiv 2411.15124 section 6.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "palindrome",
                    "verifier": "program",
                    "source": _EXAMPLE,
                    "data": {"letters": "abc", "enough": 5},
                    "weights": {"legal": 0.5, "length": 0.5},
                    "gold": "abcba",
                },
                {
                    "id": "guess",
                    "verifier": "program",
                    "source": "def verify(completion, task):\n    return -abs(int(completion) - task['data'])\n",
                    "data": 42,
                    "terms": {"reward": {"low": -100, "high": 0}},
                    "on_error": "lowest",
                },
            ]
        }
    )
    PROFILES: ClassVar[tuple[Profile, ...]] = ()

    verifier: Literal["program"] = "program"
    source: str = Field(min_length=1, max_length=1_000_000)
    """Python source that defines `verify(completion, task)`; numpy is warm where it is mentioned."""
    data: Any = None
    """What the source reads as `task["data"]`: any JSON."""
    terms: dict[_Name, Range] = Field(default_factory=dict, max_length=MOST_TERMS)
    """The terms that the source returns, each of them every time, with their ranges; default: what it returns."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for name in ("data", "metadata"):
            try:
                json.dumps(getattr(self, name), allow_nan=False)
            except (ValueError, RecursionError) as error:
                raise misplaced((name,), f"it goes to the source as JSON: {error}") from None
        most = sum(max(0.0, self.weights.get(name, one.weight)) for name, one in self.ranges.items())
        if self.pass_threshold is not None and not self.terms and self.pass_threshold > most + SLACK:
            what = f"{self.pass_threshold:g} is above {most:g}, the most that is sure without `terms`"
            raise misplaced(("pass_threshold",), what, "give the terms that the source returns, with their ranges")
        return self

    @property
    def document(self) -> dict[str, Any]:
        """What the source is given as `task`."""
        return {"id": self.id, "metadata": self.metadata, "data": self.data}

    @property
    def ranges(self) -> dict[str, Range]:
        """The terms as far as they are known beforehand."""
        return self.terms or {name: Range() for name in self.weights} or {WHOLE: Range()}

    @cached_property
    def _content_hash(self) -> str:
        """Unlike that of other tasks, the content holds id and metadata: the source may read them."""
        return content_hash(self.model_dump(mode="json"))
