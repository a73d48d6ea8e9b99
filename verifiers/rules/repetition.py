"""The verifier `repetition`: a penalty for n-grams that occur again."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, model_validator

from assay.verifiers.rules.rule import MOST_FACTOR, Profile, RuleTask, Scored, Term

Ids = NDArray[np.int64]

_TRL = "trl/code"
_FEW_NUMBERS = 2**10
_TABLE = 2**20  # numbers that a table of them is made for
_MOST_NUMBERS = 2**62  # that an identifier holds without overflow


class RepetitionTask(RuleTask):
    """A completion not to repeat itself: reward = `max_penalty` * (1 - distinct / all n-grams), one term.

    N-grams are of lower-cased words between white space, as open-r1 counts, or of the token ids that the task supplies,
    as TRL does. Fewer units than `ngram` earn 0. The penalty nears `max_penalty`, and never is it.
    A megabyte takes 0.03 to 0.1 s.
    Sources: arXiv 2502.03373 app. C.2; huggingface/open-r1@1416fa0 rewards.py; huggingface/trl@f2cd577
    other_rewards.py.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "r", "verifier": "repetition", "ngram": 3, "max_penalty": -1.0}]}
    )
    PROFILES: ClassVar = (
        Profile(
            "open-r1/code", {"ngram": 3, "max_penalty": -1.0}, "huggingface/open-r1@1416fa0 rewards.py",
            "words; its recipes set both numbers",
        ),
        Profile(
            _TRL, {"ngram": 3, "max_penalty": -1.0}, "huggingface/trl@f2cd577 other_rewards.py",
            "token ids, which the task supplies",
        ),
    )  # fmt: skip

    verifier: Literal["repetition"] = "repetition"
    ngram: int = Field(3, ge=1, le=40)
    """Units in each n-gram."""
    max_penalty: float = Field(-1.0, ge=-MOST_FACTOR, le=0, allow_inf_nan=False)
    """What a text of repetitions alone would approach; at most 0."""
    token_ids: tuple[int, ...] | None = None
    """The completion's tokens, counted in place of its words; `trl/code` needs them."""

    @model_validator(mode="after")
    def _count_tokens_as_trl_does(self) -> Self:
        if self.profile == _TRL and self.token_ids is None:
            raise ValueError(f"{_TRL} counts tokens: give `token_ids`, as this service has no tokenizer")
        return self


class Repetition:
    """Counts n-grams exactly, in linear time and space whatever their size."""

    name = "repetition"
    version = "1"
    task_model = RepetitionTask

    def terms(self, task: RepetitionTask) -> Sequence[Term]:
        """Return the penalty."""
        return [Term("repetition", task.max_penalty, 0, "max_penalty times the share of n-grams that occurred before")]

    def score(self, task: RepetitionTask, text: str) -> Scored:
        """Return the penalty."""
        units: Sequence[Hashable] = text.lower().split() if task.token_ids is None else task.token_ids
        total = len(units) - task.ngram + 1
        if total < 1:
            return Scored({"repetition": 0.0})
        distinct = count_distinct(units, task.ngram)
        penalty = task.max_penalty * (1 - distinct / total) if distinct < total else 0.0
        return Scored({"repetition": penalty}, message=f"{distinct} distinct of {total} {task.ngram}-grams")


def count_distinct(units: Sequence[Hashable], ngram: int) -> int:
    """Return how many different runs of `ngram` units there are; at least that many units must be given.

    Runs get numbers, equal ones the same. Numbers of longer runs come from the numbers of two shorter ones, so that
    neither time nor memory grow with the size of the n-grams as they would for tuples.
    """
    known = {unit: number for number, unit in enumerate(dict.fromkeys(units))}
    numbers = np.fromiter(map(known.__getitem__, units), np.int64, len(units))
    runs = _Runs(numbers, len(known), 1)
    powers = [runs]
    while runs.size * 2 <= ngram:
        runs = _join(runs, runs, runs.size * 2)
        powers.append(runs)
    if runs.size < ngram:
        tails = next(shorter for shorter in powers if shorter.size >= ngram - runs.size)
        runs = _join(runs, tails, ngram)
    if runs.all_differ:
        return len(runs.numbers)
    ordered = np.sort(runs.numbers)  # np.unique hashes, which takes ten times as long
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


@dataclass(frozen=True)
class _Runs:
    """The runs of `size` units, each a number from 0 up to `bound`, excluded."""

    numbers: Ids
    bound: int
    size: int
    all_differ: bool = False
    """Whether no two are known to be equal; longer ones then differ too."""


def _join(heads: _Runs, tails: _Runs, size: int) -> _Runs:
    """Return the runs of `size` units that start with one of `heads` and end with one of `tails`; they may overlap."""
    if heads.bound * tails.bound > _MOST_NUMBERS:
        twice = heads is tails
        heads = _renumber(heads)
        tails = heads if twice else _renumber(tails)
    left = len(heads.numbers) - (size - heads.size)
    if heads.all_differ:
        return _Runs(heads.numbers[:left], heads.bound, size, all_differ=True)
    joined = heads.numbers[:left] * tails.bound + tails.numbers[size - tails.size :]
    runs = _Runs(joined, heads.bound * tails.bound, size)
    return _renumber_by_table(runs) if _FEW_NUMBERS < runs.bound <= _TABLE else runs


def _renumber(runs: _Runs) -> _Runs:
    """Return the runs with numbers as small as can be."""
    if runs.bound <= len(runs.numbers) or runs.all_differ:
        return runs
    distinct, numbers = np.unique(runs.numbers, return_inverse=True)
    return _Runs(numbers, len(distinct), runs.size, all_differ=len(distinct) == len(numbers))


def _renumber_by_table(runs: _Runs) -> _Runs:
    """Do the same where numbers are small enough for a table: that takes no sorting."""
    seen = np.zeros(runs.bound, np.bool_)
    seen[runs.numbers] = True
    table = np.cumsum(seen) - 1
    return _Runs(table[runs.numbers], int(table[-1]) + 1, runs.size)
