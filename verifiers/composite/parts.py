"""The parts of a composite reward: how they are written, and the typed tasks that their verifiers judge by."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any  # Any: a part's task is unparsed JSON until its verifier types it

from pydantic import Field

from assay.errors import InvalidRequest
from assay.schema import Limits, TaskBase, Wire
from assay.spelling import choices, shown
from assay.verifiers.composite.group_terms import Name
from assay.verifiers.registry import Registry
from assay.verifiers.rules.rule import Factor, ProfiledTask, Termed

_MOST_GIVEN = 3
_OUTER_FIELDS = ("id", "verifier", "limits", "gold", "canonical_solution", "requires", "metadata")


class Part(Wire):
    """One part of a composite reward."""

    name: Name
    """What the part is called in `terms`, gates and weights."""
    verifier: str
    """The verifier that judges it; not `composite`."""
    task: dict[str, Any] = Field(default_factory=dict)
    """The fields of its task that belong to its verifier. Modules that it needs are named in the whole's `requires`."""
    weight: Factor = 1.0
    """Factor of the part in the reward."""
    term: str | None = None
    """The raw term of its verdict that is the part's value; default: its reward. A term that counts something, such as
    `steps`, is 0 where there is no answer: with a negative weight, giving up is cheaper than trying. Weigh it in the
    part's own task, and take its reward."""
    gate: Name | None = None
    """A part that must have passed for this one to count; its raw terms are handed back in any case.

    A part with `term` has passed when that term is all that it can be.
    """
    clip: tuple[Factor, Factor] | None = None
    """Lowest and highest value that the part brings into the sum, before its weight."""
    given: dict[str, Name] = Field(default_factory=dict, max_length=_MOST_GIVEN)
    """Fields of its task that say whether an earlier part has passed: `{"correct": "accuracy"}`."""


@dataclass(frozen=True)
class TypedPart:
    """A part with its typed tasks, one for each way in which the parts that it is `given` may end."""

    spec: Part
    weight: float
    tasks: Mapping[tuple[bool, ...], TaskBase]
    full_marks: float | None = None
    """The most that its raw term can be, where it has one."""

    def task(self, passed: Mapping[str, bool]) -> TaskBase:
        """Return the task to judge by, given which earlier parts have passed."""
        return self.tasks[tuple(passed[name] for name in self.spec.given.values())]

    @property
    def first_task(self) -> TaskBase:
        """One of the tasks, for what they have in common."""
        return next(iter(self.tasks.values()))


def type_parts(whole: ProfiledTask, terms: Sequence[Part], registry: Registry) -> tuple[TypedPart, ...]:
    """Have each part's task typed by its verifier. Raises InvalidRequest with a path that starts at the composite task.

    Limits that the whole gives are laid over a part's own; parts that run something share its wall time alike.
    """
    parts = [_type_part(whole, terms, number, registry) for number in range(len(terms))]
    if "limits" not in whole.model_fields_set:
        return tuple(parts)
    shared = whole.limits
    running = sum(part.first_task.runs_something() for part in parts)
    if "attempt_wall_s" in shared.model_fields_set and running:
        shared = shared.model_copy(update={"attempt_wall_s": shared.attempt_wall_s / running})
    return tuple(_limited(part, shared, registry) for part in parts)


def _type_part(whole: ProfiledTask, terms: Sequence[Part], number: int, registry: Registry) -> TypedPart:
    spec, path = terms[number], f"terms[{number}]"
    earlier = {part.name for part in terms[:number]}
    for field, name in spec.given.items():
        if name not in earlier:
            raise InvalidRequest(f"{name!r} is no earlier part", path=f"{path}.given.{field}", fix="list it before")
        if field in spec.task:
            raise InvalidRequest("the field is given twice", path=f"{path}.task.{field}", fix="drop it here")
    for field in _OUTER_FIELDS:
        if field in spec.task:
            raise InvalidRequest(
                f"{field} belongs to the composite, not to a part", path=f"{path}.task.{field}", fix="move it"
            )
    if spec.verifier == "composite":
        raise InvalidRequest("a part is no composite", path=f"{path}.verifier", fix="list its parts here")
    ways = product((False, True), repeat=len(spec.given))
    tasks = {way: _type_task(whole, spec, dict(zip(spec.given, way, strict=True)), path, registry) for way in ways}
    full_marks = None if spec.term is None else _full_marks(spec, tasks[(False,) * len(spec.given)], registry, path)
    return TypedPart(spec, whole.weights.get(spec.name, spec.weight), tasks, full_marks)


def _type_task(whole: ProfiledTask, spec: Part, given: Mapping[str, bool], path: str, registry: Registry) -> TaskBase:
    known = [name for name in registry.names if name != whole.verifier]
    if spec.verifier not in known:
        raise InvalidRequest(
            registry.missing(spec.verifier), path=f"{path}.verifier", fix=choices(spec.verifier, known)
        )
    document = {**spec.task, **given, "id": whole.id, "metadata": whole.metadata, "verifier": spec.verifier}
    typed = registry.parse_task(document, path=f"{path}.task")
    if missing := sorted(set(typed.requires) - set(whole.requires)):
        raise InvalidRequest(
            f"part {spec.name!r} requires {', '.join(missing)}",
            path="requires",
            fix="name it here: it decides who judges",
        )
    if given and typed.asks_models():
        raise InvalidRequest("a part that asks models is given nothing", path=f"{path}.given", fix="drop it")
    return typed.model_copy(update={"gold": whole.gold})  # it passing shows that each part works, as if it were theirs


def _limited(part: TypedPart, shared: Limits, registry: Registry) -> TypedPart:
    """Return a part under the limits of the whole. Raises InvalidRequest if it cannot be judged within them."""

    if not (part.first_task.runs_something() or part.first_task.asks_models()):
        return part
    tasks = {way: task.model_copy(update={"limits": task.limits_beneath(shared)}) for way, task in part.tasks.items()}
    for way, task in tasks.items():
        if "attempt_wall_s" in task.limits.model_fields_set:
            _check_wall_time(part.spec, task, dict(zip(part.spec.given, way, strict=True)), registry)
    return replace(part, tasks=tasks)


def _check_wall_time(spec: Part, task: TaskBase, given: Mapping[str, bool], registry: Registry) -> None:
    """Raise InvalidRequest if the part's verifier refuses the share that it has of the attempt's wall time."""
    share_s = task.limits.attempt_wall_s
    document = {**spec.task, **given, "id": task.id, "verifier": task.verifier, "limits": {"attempt_wall_s": share_s}}
    try:
        registry.parse_task(document)
    except InvalidRequest as error:
        fault = f"part {spec.name!r} has {share_s:g} s of it: {error.detail}"
        raise InvalidRequest(fault, path="limits.attempt_wall_s", fix=error.fix) from error


def _full_marks(spec: Part, task: TaskBase, registry: Registry, path: str) -> float:
    """Return the most that a raw term can be; refuse one that the part's verdict will not have."""
    verifier = registry.get(spec.verifier)
    terms = verifier.terms(task) if isinstance(verifier, Termed) else ()
    known = {term.name: term.high for term in terms}
    if spec.term not in known:
        raise InvalidRequest(
            f"{spec.verifier} has no term {shown(spec.term)} here",
            path=f"{path}.term",
            fix=choices(spec.term, known) if known else "leave it out: the part's value is its reward",
        )
    return known[spec.term]
