"""What a rule is: a task model, named terms, named presets, and a pure function from a text to its terms."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Annotated, Any, ClassVar, Protocol, Self, runtime_checkable  # Any: a rule's task model is its own

from pydantic import Field, model_validator

from assay.errors import InvalidRequest, TaskFault, VerifierFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Scoring, TaskBase, Verdict
from assay.spelling import choices, shown
from assay.verifiers.refusals import json_path, misplaced
from assay.verifiers.scoring import SLACK, why

MOST_FACTOR = 1e9
"""Weights and bounds of terms lie within plus or minus this, so that every reward is finite."""

Factor = Annotated[float, Field(ge=-MOST_FACTOR, le=MOST_FACTOR, allow_inf_nan=False)]
"""A weight or a bound of a term in a task."""

UNDECIDED = "undecided"
"""The flag of an attempt that could not be judged for the completion's sake, and has the lowest reward for it."""


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
    names = list(known)
    fix = choices(name, names) if names else "leave it out: this verifier has none"
    return InvalidRequest(f"unknown profile {shown(name)}", path="profile", fix=fix)


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


_OF_TESTS = ("max_limit_hits", "stop_on_fail")


def refuse_limits_of_tests(task: TaskBase) -> None:
    """Raise ValidationError if a task gives limits that only tests are bound by, and has none."""
    for name in _OF_TESTS if not task.runs_tests() else ():
        if name in task.limits.model_fields_set:
            raise misplaced(("limits", name), "it means nothing here: there are no tests to leave out", "leave it out")


class RuleTask(ProfiledTask):
    """Fields of every task that a rule judges."""

    @model_validator(mode="after")
    def _refuse_what_nothing_reads(self) -> Self:
        if "limits" in self.model_fields_set and not self.runs_something():
            if not self.asks_models():
                raise misplaced(("limits",), "limits mean nothing here: this verifier runs nothing", "leave them out")
            if idle := sorted(self.limits.model_fields_set - {"attempt_wall_s"}):
                what = "limits mean nothing here, but for attempt_wall_s"
                raise misplaced(("limits",), what, f"drop {', '.join(idle)}")
        refuse_limits_of_tests(self)
        if self.scoring is not Scoring.SHARE:
            what = "scoring means nothing here: the reward is the weighted sum of the terms"
            raise misplaced(("scoring",), what, "leave it out")
        return self

    def runs_something(self) -> bool:
        """Rules start no process; a verifier whose tasks are of this kind and that does says so."""
        return False

    def runs_tests(self) -> bool:
        """Terms are no tests; a verifier whose tasks are of this kind and that has some says so."""
        return False

    def holds_liable(self, completion: str, told: bool | None) -> bool:
        """Whether it is this completion's own loss that it cannot be judged: as the task tells, but never the gold's.

        Where the task does not tell, it is if there is a gold: that has passed, and so the judge works.
        """
        return completion != self.gold and (self.gold is not None if told is None else told)

    def refuse_fields_of_other_kinds(self, kind: str, fields: Mapping[str, Sequence[str]], told: str = "") -> None:
        """Raise ValidationError if the task gives a field that is not read for its kind; `fields` names those of each.

        `told` says what the kind is, where the task has no field `kind` that does.
        """
        mine = fields[kind]
        others = {name for names in fields.values() for name in names if name not in mine}
        if alien := sorted(self.model_fields_set & others):
            more = f"; nor {'is' if len(alien) == 2 else 'are'} {', '.join(alien[1:])}" if alien[1:] else ""
            what = f"not read {told or f'for kind {str(kind)!r}'}{more}"
            raise misplaced(alien[:1], what, f"leave it out; read are {', '.join(mine)}")


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
                f"there is no term {shown(name)} here", path=json_path("weights", (name,)), fix=choices(name, weights)
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
    beforehand, such a task was refused (`check_weights`). Raises VerifierFault unless there is just one number for each
    of `terms`, within its range.
    """
    try:
        check_weights(task, terms)
    except InvalidRequest as error:
        raise TaskFault(str(error)) from error
    weights = {term.name: task.weights.get(term.name, term.weight) for term in terms}
    found = _within(task.verifier, terms, scored.terms)
    least, most = range_of(terms, task.weights)
    reward = min(most, max(least, math.fsum(weights[name] * value for name, value in found.items())))
    threshold = task.pass_threshold if task.pass_threshold is not None else most - SLACK
    outcome = Outcome.PASSED if reward >= threshold else Outcome.FAILED
    if not scored.answered:
        outcome = Outcome.NO_ANSWER
    message = why(reward, most, task.pass_threshold if scored.answered else None, scored.message)
    return Verdict(outcome=outcome, reward=reward, terms=found, message=message, flags=scored.flags)


def _within(verifier: str, terms: Sequence[Term], given: Mapping[str, float]) -> Mapping[str, float]:
    """Return the numbers of terms. Raises VerifierFault where one is missing, nobody's, no number or out of range."""
    declared = {term.name: term for term in terms}
    if given.keys() != declared.keys():
        odd = ", ".join(sorted(shown(name) for name in given.keys() ^ declared.keys())[:10])
        raise VerifierFault(verifier, f"it scored other terms than it declares: {odd}")
    found: dict[str, float] = {}
    for name, value in given.items():
        low, high = declared[name].low, declared[name].high
        if not isinstance(value, Real):
            raise VerifierFault(verifier, f"it gave a {type(value).__name__} for the term {shown(name)}")
        found[name] = float(value)
        slack = SLACK * max(1.0, abs(low), abs(high))
        if not low - slack <= found[name] <= high + slack:
            what = f"it gave {found[name]:g} for the term {shown(name)}, which lies between {low:g} and {high:g}"
            raise VerifierFault(verifier, what)
        found[name] = min(high, max(low, found[name]))
    return found


def lowest_terms(terms: Sequence[Term], weights: Mapping[str, float]) -> dict[str, float]:
    """Return for each term the end of its range that earns less under these weights."""
    return {term.name: term.high if weights.get(term.name, term.weight) < 0 else term.low for term in terms}


def range_of(terms: Sequence[Term], weights: Mapping[str, float]) -> tuple[float, float]:
    """Return the lowest and the highest reward that the ranges of terms allow under a task's weights."""
    ends = [
        sorted((weights.get(term.name, term.weight) * term.low, weights.get(term.name, term.weight) * term.high))
        for term in terms
    ]
    return math.fsum(low for low, _ in ends), math.fsum(high for _, high in ends)
