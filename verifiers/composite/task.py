"""The task model of the verifier `composite`."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self  # Any: a part's task is unparsed JSON until its verifier types it

from pydantic import (
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from assay.canonical import content_hash
from assay.errors import InvalidRequest
from assay.schema import Scoring
from assay.spelling import choices, shown
from assay.verifiers.composite.group_terms import GroupTerm, Name
from assay.verifiers.composite.parts import Part, TypedPart, type_parts
from assay.verifiers.composite.profiles import PROFILES
from assay.verifiers.composite.templates import expanded, pointed
from assay.verifiers.refusals import Place, misplaced, refusal
from assay.verifiers.registry import Registry
from assay.verifiers.rules.rule import Factor, Profile, ProfiledTask, refuse_limits_of_tests

Fault = tuple[Place, str, str]
"""Where a fault is, what it is, and what to do."""


class CompositeTask(ProfiledTask):
    """A reward made of several: reward = clip(sum of weight x clip(value) over all parts whose gate has passed).

    A part's value is the reward that its verifier gives, or one of its raw terms. `terms` of the result holds each
    part's value under its name and each raw term as `part.term`, before weights, gates and clips. The outcome is
    `passed` if all parts that decide have passed (or from `pass_threshold` on), else that of the first that has not;
    a `violation` in any part is one of the whole, and earns no more than 0. If any part has no reward, the whole has
    none, for the same reason. Limits hold for each part that runs something. The run of an attempt ends within a given
    `attempt_wall_s`: these parts have equal shares of it, so that no part depends on how long another takes; without
    one each has the default of its verifier. Questions to models have as much again, all together. A `gold` is one of
    every part too: what depends on whether a task has one, such as `on_error` and `on_unreadable`, is so for the parts.
    Group terms are added once all attempts of the group are judged; the result then has the flag `group_terms`, and
    attempts without a reward take no part. Sources: huggingface/trl and open-r1@1416fa0 (weighted sums of reward
    functions); Kimi k1.5, arXiv 2501.12599 section 2.3.3 (relative length); TTRL, arXiv 2504.16084 (majority).
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "bird",
                    "verifier": "composite",
                    "terms": [
                        {"name": "class", "verifier": "classification", "term": "accuracy", "task": {"label": "wren"}},
                        {
                            "name": "layout", "verifier": "classification", "term": "format", "task": {"label": "wren"},
                            "weight": 0.5, "gate": "class",
                        },
                    ],
                    "decides": ["class"],
                    "clip": [0, 1.5],
                },
                {"id": "sum", "verifier": "composite", "profile": "open-rs/code", "parameters": {"answer": "42"}},
                {
                    "id": "short",
                    "verifier": "composite",
                    "terms": [{"name": "accuracy", "verifier": "math", "task": {"answer": "42"}}],
                    "group_terms": [{"kind": "relative_length", "name": "length", "weight": 0.5}],
                },
                {"id": "guess", "verifier": "composite", "group_terms": [{"kind": "majority", "name": "vote"}]},
            ]
        }
    )  # fmt: skip
    PROFILES: ClassVar[tuple[Profile, ...]] = PROFILES

    verifier: Literal["composite"] = "composite"
    parameters: dict[str, Any] = Field(default_factory=dict)
    """What the profile leaves open, such as the answer."""
    terms: tuple[Part, ...] = Field((), max_length=32)
    """The parts, judged in this order."""
    group_terms: tuple[GroupTerm, ...] = Field((), max_length=8)
    """Terms that compare the attempts of a group, added when all of them are judged."""
    decides: tuple[Name, ...] = ()
    """Terms that must have passed for the outcome `passed`; default: all parts, or all group terms if there are none.

    A group term passes at 1 (`majority`), at 0 or more (`relative_length`), at 0 (`duplicates`).
    """
    clip: tuple[Factor, Factor] | None = None
    """Lowest and highest reward."""

    _parts: tuple[TypedPart, ...] = PrivateAttr(())
    _asks_models: bool = PrivateAttr(False)  # kept, because it is asked for once per attempt, and usually False

    @property
    def parts(self) -> tuple[TypedPart, ...]:
        """The parts with their typed tasks."""
        return self._parts

    @property
    def deciding(self) -> tuple[str, ...]:
        """The names that `decides` gives, or its default."""
        return self.decides or tuple(part.name for part in self.terms or self.group_terms)

    def runs_something(self) -> bool:
        """Whether any part does."""
        return any(part.first_task.runs_something() for part in self._parts)

    def runs_tests(self) -> bool:
        """Whether any part has several."""
        return any(part.first_task.runs_tests() for part in self._parts)

    def is_timed(self) -> bool:
        """Whether any part is."""
        return any(part.first_task.is_timed() for part in self._parts)

    def uses_device(self) -> bool:
        """Whether any part does."""
        return any(part.first_task.uses_device() for part in self._parts)

    def asks_models(self) -> bool:
        """Whether any part does."""
        return self._asks_models

    @cached_property
    def _content_hash(self) -> str:
        """Hash what the parts' tasks mean, not how they are written."""
        document = self.model_dump(mode="json", exclude={"id", "metadata", "terms"})
        parts = [
            {**part.spec.model_dump(mode="json", exclude={"task"}), "task": part.first_task.content_hash()}
            for part in self._parts
        ]
        return content_hash({**document, "terms": parts})

    @model_validator(mode="before")
    @classmethod
    def _lay_over_profile(cls, document: Any) -> Any:
        if isinstance(document, Mapping) and document.get("profile") is None and document.get("parameters"):
            raise InvalidRequest(
                "parameters go with a profile",
                path="profile",
                fix="name one here: for a task that is stored options.profile comes too late",
            )
        return expanded(cls.PROFILES, document)

    @model_validator(mode="after")
    def _agree(self, info: ValidationInfo) -> Self:
        names = [*(part.name for part in self.terms), *(term.name for term in self.group_terms)]
        for place, what, fix in _faults(self, names):
            raise misplaced(place, what, fix)
        registry = (info.context or {}).get("registry")
        if not isinstance(registry, Registry):
            raise ValueError("a composite task is typed by a registry, which knows the verifiers of its parts")
        self._parts = type_parts(self, self.terms, registry)
        self._asks_models = any(part.first_task.asks_models() for part in self._parts)
        refuse_limits_of_tests(self)
        if "limits" in self.model_fields_set and not (self.runs_something() or self._asks_models):
            raise misplaced(("limits",), "they mean nothing here: no part runs anything", "leave them out")
        kept = [part.first_task.kept_limits() for part in self._parts if part.first_task.runs_something()]
        if kept and (idle := sorted(self.limits.model_fields_set.difference(*kept))):
            raise misplaced(("limits", idle[0]), "it means nothing here: no part keeps it", "leave it out")
        return self

    @model_validator(mode="wrap")
    @classmethod
    def _point_at_parameters(cls, document: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Have faults of what a profile was filled with point at the parameter: nobody wrote the rest."""
        try:
            return handler(document)
        except ValidationError as error:
            raise pointed(cls.PROFILES, document, refusal(error, expanded(cls.PROFILES, document), cls)) from error
        except InvalidRequest as error:
            raise pointed(cls.PROFILES, document, error) from error


def _faults(task: CompositeTask, names: Sequence[str]) -> Iterator[Fault]:
    """Yield what is wrong with a composite, whatever its parts are."""
    parts = {part.name: None for part in task.terms}
    if not names:
        yield ("terms",), "there is nothing to judge by", "give terms, group_terms, or a profile"
    kinds = (("terms", task.terms), ("group_terms", task.group_terms))
    places: list[Place] = [(kind, number) for kind, terms in kinds for number in range(len(terms))]
    for number, (place, name) in enumerate(zip(places, names, strict=True)):
        if name in names[:number]:
            yield (*place, "name"), f"another term is called {name!r}", "give it a name of its own"
    for place, term in zip(places, (*task.terms, *task.group_terms), strict=True):
        others = [part for part in parts if part != term.name]
        if term.gate is not None and term.gate not in others:
            fix = choices(term.gate, others) if others else "leave it out"
            yield (*place, "gate"), f"{shown(term.gate)} is no other part", fix
    for number, group_term in enumerate(task.group_terms):
        if group_term.kind == "relative_length" and group_term.right is not None and group_term.right not in parts:
            fix = choices(group_term.right, parts) if parts else "leave it out"
            yield ("group_terms", number, "right"), f"{shown(group_term.right)} is no part", fix
    for number, name in enumerate(task.decides):
        if name not in names:
            yield ("decides", number), f"there is no term {shown(name)}", choices(name, names)
    for name in task.weights:
        if name not in names:
            yield ("weights", name), f"there is no term {shown(name)}", choices(name, names)
    yield from _numeric_faults(task)


def _numeric_faults(task: CompositeTask) -> Iterator[Fault]:
    places: list[Place] = [("clip",), *(("terms", number, "clip") for number in range(len(task.terms)))]
    for place, bounds in zip(places, (task.clip, *(part.clip for part in task.terms)), strict=True):
        if bounds is not None and bounds[0] > bounds[1]:
            yield place, "the lowest value is above the highest", "turn them round"
    if task.scoring is not Scoring.SHARE:
        yield ("scoring",), "it means nothing here: the reward is the weighted sum of the terms", "leave it out"
    if task.gold is not None and not task.terms:
        yield ("gold",), "a gold says nothing where only group terms judge", "leave it out"
