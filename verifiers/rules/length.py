"""The verifier `length`: terms of a completion's length, given whether its answer is right."""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal, Self, assert_never

from pydantic import ConfigDict, Field, model_validator

from assay.errors import InvalidRequest
from assay.verifiers.rules.rule import Factor, Profile, RuleTask, Scored, Term

_FIELDS = {
    "cosine": ("correct", "clamp", "min_wrong", "max_wrong", "min_correct", "max_correct"),
    "soft_overlong": ("cache",),
}
_OPEN_R1 = {"kind": "cosine", "clamp": False}
_MOST = 10**9  # characters or tokens


class LengthTask(RuleTask):
    """A completion to be short, or not too long. The reward is one term, named like `kind`.

    `cosine`, of length L with M = `max_len`: long + (short - long) / 2 * (1 + cos(pi * L / M)), where a right answer
    goes from `max_correct` (short) to `min_correct` (long) and a wrong one from `min_wrong` to `max_wrong`. Clamped,
    the default, L counts as M beyond it; otherwise the cosine turns back, and a right answer of length 2M earns the
    most again (huggingface/open-r1 issue 312).
    `soft_overlong`, with C = `cache`: 0 up to M - C, then (M - C - L) / C down to -1 at M, and -1 beyond.
    Sources: arXiv 2502.03373 app. C.1; Open-RS, arXiv 2503.16219 section 2; DAPO, arXiv 2503.14476 eq. 13.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": "l", "verifier": "length", "kind": "cosine", "max_len": 1000, "correct": True}]
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "open-r1/code", {**_OPEN_R1, "max_len": 1000}, "huggingface/open-r1@1416fa0 rewards.py",
            "characters, not clamped; where the gold cannot be parsed the released function pays 1, here that is "
            "`task_error`",
        ),
        Profile(
            "open-rs/code", {**_OPEN_R1, "max_len": 3584}, "knoveleng/open-rs@2889c47, run 3",
            "the same with the longest length of its third run, chosen in tokens and counted in characters",
        ),
        Profile(
            "trl/code", {"kind": "cosine", "clamp": True, "unit": "tokens"},
            "huggingface/trl@f2cd577 accuracy_rewards.py", "clamped, in tokens, which the task supplies",
        ),
        Profile(
            "dapo/paper", {"kind": "soft_overlong", "unit": "tokens"}, "arXiv 2503.14476 eq. 13",
            "in tokens, which the task supplies",
        ),
    )  # fmt: skip

    verifier: Literal["length"] = "length"
    kind: Literal["cosine", "soft_overlong"] = "cosine"
    """Which term."""
    max_len: int = Field(gt=0, le=_MOST)
    """The longest length, in `unit`."""
    unit: Literal["characters", "tokens"] = "characters"
    """Characters are Unicode code points of the completion; tokens have to be supplied as `length`."""
    length: int | None = Field(None, ge=0, le=_MOST)
    """The completion's length in `unit`, where it is known; otherwise its characters are counted."""
    correct: bool | None = None
    """Whether the answer is right (`cosine`): the task says so, or a composite from the term that judged it."""
    clamp: bool = True
    """Whether lengths beyond `max_len` count as `max_len` (`cosine`)."""
    min_wrong: Factor = -1.0
    """Value of the shortest wrong answer (`cosine`)."""
    max_wrong: Factor = -0.5
    """Value of a wrong answer of the longest length (`cosine`)."""
    min_correct: Factor = 0.5
    """Value of a right answer of the longest length (`cosine`)."""
    max_correct: Factor = 1.0
    """Value of the shortest right answer (`cosine`)."""
    cache: int | None = Field(None, ge=0, le=_MOST)
    """The last part of `max_len` over which the penalty grows, in `unit` (`soft_overlong`)."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        self.refuse_fields_of_other_kinds(self.kind, _FIELDS)
        if self.unit == "tokens" and self.length is None:
            raise ValueError("unit 'tokens' needs `length`: this service has no tokenizer")
        if self.kind == "soft_overlong" and (self.cache is None or self.cache > self.max_len):
            raise ValueError("soft_overlong needs `cache`, at most max_len")
        if self.min_wrong > self.max_wrong or self.min_correct > self.max_correct:
            raise ValueError("min_wrong <= max_wrong and min_correct <= max_correct must hold")
        if self.kind == "cosine" and self.correct is None:
            raise InvalidRequest(
                "a cosine of the length needs to know whether the answer is right",
                path="correct",
                fix='add true or false, or make it a part of a composite: "given": {"correct": "NAME OF A PART"}',
            )
        return self


class Length:
    """Computes the term from the length alone."""

    name = "length"
    version = "1"
    task_model = LengthTask

    def terms(self, task: LengthTask) -> Sequence[Term]:
        """Return the one term, named like the kind."""
        if task.kind == "soft_overlong":
            return [Term(task.kind, -1, 0, "0 up to max_len - cache, falling to -1 at max_len")]
        bounds = (task.min_wrong, task.max_wrong, task.min_correct, task.max_correct)
        return [Term(task.kind, min(bounds), max(bounds), "between the two bounds of a right or a wrong answer")]

    def score(self, task: LengthTask, text: str) -> Scored:
        """Return the term."""
        length = len(text) if task.length is None else task.length
        match task.kind:
            case "cosine":
                value = _score_cosine(task, length)
            case "soft_overlong":
                assert task.cache is not None  # validated
                value = soft_overlong(length, task.max_len, task.cache)
            case _:
                assert_never(task.kind)
        return Scored({task.kind: value}, message=f"{length} {task.unit}, of {task.max_len}")


def _score_cosine(task: LengthTask, length: int) -> float:
    counted = min(length, task.max_len) if task.clamp else length
    if task.correct:
        return cosine(counted / task.max_len, task.max_correct, task.min_correct)
    return cosine(counted / task.max_len, task.min_wrong, task.max_wrong)


def cosine(progress: float, short: float, long: float) -> float:
    """Return the value at a share of the longest length: `short` at 0, `long` at 1, on half a cosine between them."""
    return long + 0.5 * (short - long) * (1.0 + math.cos(progress * math.pi))


def soft_overlong(length: int, max_len: int, cache: int) -> float:
    """Return DAPO's penalty: 0, then linear to -1 over the last `cache` of `max_len`, then -1."""
    free = max_len - cache
    if length <= free:
        return 0.0
    return -1.0 if length > max_len else (free - length) / cache
