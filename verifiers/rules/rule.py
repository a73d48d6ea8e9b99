"""What a rule is: a task model, named terms, named presets, and a pure function from a text to its terms."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol, Self, runtime_checkable  # Any: a rule's task model is its own

from pydantic import Field, model_validator

from assay.errors import InvalidRequest, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Scoring, TaskBase, Verdict

MOST_FACTOR = 1e9
"""Weights and bounds of terms lie within plus or minus this, so that every reward is finite."""

Factor = Annotated[float, Field(ge=-MOST_FACTOR, le=MOST_FACTOR, allow_inf_nan=False)]
"""A weight or a bound of a term in a task."""

_SLACK = 1e-9  # sums of floats that are full marks on paper


@dataclass(frozen=True)
class Term:
    """One named component of a reward: its raw range, and the weight it has unless the task says otherwise."""

    name: str
    low: float
    high: float
    about: str
    weight: float = 1.0


@dataclass(frozen=True)
class Profile:
    """A named preset of a task's fields that reproduces one published reward."""

    name: str
    """`system/variant`; the variants are `paper`, `code` (what its authors released) and `hardened`."""
    fields: Mapping[str, Any]
    source: str
    """The paper's equation or the repository with its commit."""
    about: str
    """What sets it apart, and where it differs from what it reproduces."""


@dataclass(frozen=True)
class Scored:
    """What a rule found in one completion: raw terms, before weights."""

    terms: Mapping[str, float]
    answered: bool = True
    """Whether there was anything to judge; without, the outcome is `no_answer`, and the terms still count."""
    message: str = ""
    flags: tuple[str, ...] = ()


def unknown_profile(name: str, known: Iterable[str]) -> InvalidRequest:
    """Return the refusal of a preset that a verifier does not have."""
    listed = ", ".join(known)
    return InvalidRequest(
        f"unknown profile {name!r}",
        path="profile",
        fix=f"use one of {listed}" if listed else "leave it out: this verifier has none",
    )


class ProfiledTask(TaskBase):
    """Fields of every task whose reward is a weighted sum of terms, with named presets."""

    PROFILES: ClassVar[tuple[Profile, ...]] = ()

    profile: str | None = None
    """A named preset of the fields below; fields that the task gives itself go before it."""
    weights: dict[str, Factor] = Field(default_factory=dict)
    """Factors of terms in the reward, by term; terms that are not named keep their default."""

    @model_validator(mode="before")
    @classmethod
    def _lay_over_profile(cls, document: Any) -> Any:
        if not isinstance(document, Mapping) or not isinstance(document.get("profile"), str):
            return document  # what is no name is refused as every wrong type is
        known = {profile.name: profile for profile in cls.PROFILES}
        if document["profile"] not in known:
            raise unknown_profile(document["profile"], known)
        return {**known[document["profile"]].fields, **document}


class RuleTask(ProfiledTask):
    """Fields of every task that a rule judges."""

    @model_validator(mode="after")
    def _refuse_what_nothing_reads(self) -> Self:
        if "limits" in self.model_fields_set and not self.runs_something():
            if not self.asks_models():
                raise ValueError("limits mean nothing here: this verifier runs nothing")
            if idle := sorted(self.limits.model_fields_set - {"attempt_wall_s"}):
                raise ValueError(f"limits mean nothing here, but for attempt_wall_s: drop {', '.join(idle)}")
        if self.scoring is not Scoring.SHARE:
            raise ValueError("scoring means nothing here: the reward is the weighted sum of the terms")
        return self

    def runs_something(self) -> bool:
        """Rules start no process; a verifier whose tasks are of this kind and that does says so."""
        return False

    def refuse_fields_of_other_kinds(self, kind: str, fields: Mapping[str, Sequence[str]]) -> None:
        """Raise ValueError if the task gives a field that is not read for its kind; `fields` names those of each."""
        mine = fields[kind]
        others = {name for names in fields.values() for name in names if name not in mine}
        if alien := sorted(self.model_fields_set & others):
            raise ValueError(f"{', '.join(alien)}: not read for kind {kind!r}")


class Rule(Protocol):
    """A rule scores one completion in this process: in time linear in the text, without running any of it."""

    @property
    def name(self) -> str:
        """The value of a task's `verifier` field."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same attempt could get another verdict."""
        ...

    @property
    def task_model(self) -> type[RuleTask]:
        """The pydantic model of its tasks."""
        ...

    def terms(self, task: Any) -> Sequence[Term]:
        """Return the terms that a task of it is judged by, each with its range."""
        ...

    def score(self, task: Any, text: str) -> Scored:
        """Return the raw terms of a completion. Raises TaskFault where the task is at fault."""
        ...


@runtime_checkable
class Termed(Protocol):
    """A verifier that tells its terms: all rules do, and some that run something."""

    def terms(self, task: Any) -> Sequence[Term]:
        """Return the terms that a task of it is judged by, each with its range."""
        ...


def check_weights(task: ProfiledTask, terms: Sequence[Term]) -> None:
    """Raise InvalidRequest if the task weighs a term that it does not have, or none that it has."""
    weights = {term.name: task.weights.get(term.name, term.weight) for term in terms}
    for name in task.weights:
        if name not in weights:
            raise InvalidRequest(
                f"there is no term {name!r} here", path=f"weights.{name}", fix=f"use {', '.join(weights)}"
            )
    if not any(weights.values()):
        raise InvalidRequest(
            "all weights are 0", path="weights", fix=f"give one of {', '.join(weights)} another weight"
        )


@dataclass(frozen=True)
class RuleVerifier:
    """A rule as a verifier."""

    rule: Rule
    name: str = field(init=False)
    version: str = field(init=False)
    task_model: type[RuleTask] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.rule.name)
        object.__setattr__(self, "version", self.rule.version)
        object.__setattr__(self, "task_model", self.rule.task_model)

    def terms(self, task: Any) -> Sequence[Term]:
        """Return the terms that a task of it is judged by, each with its range."""
        return self.rule.terms(task)

    def judge(self, task: Any, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault where the task is at fault."""
        del slot  # nothing runs
        return conclude(task, self.rule.terms(task), self.rule.score(task, completion))


def conclude(task: RuleTask, terms: Sequence[Term], scored: Scored) -> Verdict:
    """Return the verdict: the weighted sum of the terms, `passed` at full marks or from the task's threshold on.

    Raises TaskFault if the task weighs a term that it does not have, or none that it has; where the terms are known
    beforehand, such a task was refused (`check_weights`).
    """
    try:
        check_weights(task, terms)
    except InvalidRequest as error:
        raise TaskFault(str(error)) from error
    weights = {term.name: task.weights.get(term.name, term.weight) for term in terms}
    reward = math.fsum(weights[name] * value for name, value in scored.terms.items())
    threshold = task.pass_threshold if task.pass_threshold is not None else _most(terms, weights) - _SLACK
    outcome = Outcome.PASSED if reward >= threshold else Outcome.FAILED
    if not scored.answered:
        outcome = Outcome.NO_ANSWER
    return Verdict(
        outcome=outcome,
        reward=reward,
        terms=scored.terms,
        message="" if outcome is Outcome.PASSED else scored.message,
        flags=scored.flags,
    )


def _most(terms: Sequence[Term], weights: Mapping[str, float]) -> float:
    """Return the highest reward that the ranges allow."""
    return math.fsum(max(weights[term.name] * term.low, weights[term.name] * term.high) for term in terms)
