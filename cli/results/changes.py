"""How two results of one attempt differ, and what in their lines may explain it. Pure functions of two lines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any  # Any: lines are unparsed JSON, of whatever version wrote them

from assay.cli.results.lines import CONTENT, ResultLine
from assay.cli.results.telling import number, on_a_line

_MOST_NAMED = 8
_MEASURED = ("speedup", "clock", "is_decided")
"""What reports compare of each timed size of a kernel."""


class Kind(StrEnum):
    """What changed of an attempt's verdict; the first that holds, in this order."""

    GONE = "gone"
    """Only the old file has the attempt."""
    NEW = "new"
    """Only the new file has it."""
    NULL_TO_NUMBER = "null_to_number"
    NUMBER_TO_NULL = "number_to_null"
    OUTCOME_AND_REWARD = "outcome_and_reward"
    """Both, from number to number."""
    REWARD = "reward"
    """The reward alone."""
    OUTCOME = "outcome"
    """The outcome alone, also from one without a reward to another."""
    PARTS = "parts"
    """Which tests passed, or terms of the reward, that come to the same."""
    MESSAGE = "message"
    """The text that says why alone."""


@dataclass(frozen=True)
class Change:
    """An attempt whose verdict is another one: its lines, and what they hold that may explain it."""

    kind: Kind
    old: ResultLine | None
    new: ResultLine | None
    effects: tuple[str, ...] = ()
    """What else of the verdict differs: tests, terms, message, measurements."""
    causes: tuple[str, ...] = ()
    """What differs of that on which verdicts hang: task, completion, versions, sandbox, flags."""

    @property
    def line(self) -> ResultLine:
        """The line that names the attempt."""
        found = self.new or self.old
        if found is None:
            raise ValueError("a change of nothing")
        return found


def compare(old: ResultLine, new: ResultLine, tolerance: float) -> Change | None:
    """Return how the verdict changed, None if it did not; numbers that differ by `tolerance` or less are equal."""
    kind = _kind(old, new, tolerance)
    if kind is None:
        return None
    return Change(kind, old, new, tuple(_effects(old, new, tolerance)), tuple(_causes(old, new)))


def _kind(old: ResultLine, new: ResultLine, tolerance: float) -> Kind | None:
    match old.reward is None, new.reward is None:
        case True, False:
            return Kind.NULL_TO_NUMBER
        case False, True:
            return Kind.NUMBER_TO_NULL
    has_other_reward = not _are_equal(old.reward, new.reward, tolerance)
    if old.outcome != new.outcome:
        return Kind.OUTCOME_AND_REWARD if has_other_reward else Kind.OUTCOME
    if has_other_reward:
        return Kind.REWARD
    if old.passed != new.passed or any(_changed(old.terms, new.terms, tolerance)):
        return Kind.PARTS
    return Kind.MESSAGE if old.message != new.message else None


def _effects(old: ResultLine, new: ResultLine, tolerance: float) -> Iterator[str]:
    yield from _flipped(old.passed, new.passed)
    for name in list(_changed(old.terms, new.terms, tolerance))[:_MOST_NAMED]:
        yield f"term {on_a_line(name)}: {_told(old.terms, name)} -> {_told(new.terms, name)}"
    if old.message != new.message:
        yield f"message: {on_a_line(old.message) or 'none'} -> {on_a_line(new.message) or 'none'}"
    before, after = _measured(old), _measured(new)
    for name in list(_changed(before, after, tolerance))[:_MOST_NAMED]:
        yield f"{name}: {_told(before, name)} -> {_told(after, name)}"


def _flipped(old: tuple[int, ...], new: tuple[int, ...]) -> Iterator[str]:
    if len(old) != len(new):
        yield f"tests: {sum(old)} of {len(old)} passed -> {sum(new)} of {len(new)}"
        return
    for value, said in ((1, "now pass"), (0, "no longer pass")):
        places = [str(place) for place, pair in enumerate(zip(old, new, strict=True)) if pair == (1 - value, value)]
        if places:
            more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
            yield f"tests {', '.join(places[:_MOST_NAMED])}{more} {said}"


def _causes(old: ResultLine, new: ResultLine) -> Iterator[str]:
    """Yield what differs; where nothing does, say that too: the verdict itself is then not stable."""
    if not old.versions.keys() & new.versions.keys():
        yield "the lines do not tell what both were judged with"
        return
    told = list(_told_causes(old, new))
    yield from told or ["nothing on which the verdict hangs differs: it is not stable, or a limit was near"]


def _told_causes(old: ResultLine, new: ResultLine) -> Iterator[str]:
    before, after = old.versions, new.versions
    has_other_task = _differ(before, after, "task")
    if has_other_task and old.content is not None and old.content == new.content:
        yield "the task is written as before, and is read otherwise by this version"
    elif has_other_task:
        yield "the task has changed (fields other than id and metadata)"
    elif _differ(before, after, CONTENT):
        yield "the completion, its group, flags or metadata, the task's metadata or the profile have changed"
    if old.fields.get("verifier") != new.fields.get("verifier"):
        yield f"verifier: {on_a_line(str(old.fields.get('verifier')))} -> {on_a_line(str(new.fields.get('verifier')))}"
    others = sorted((before.keys() | after.keys()) - {"task", CONTENT})
    for name in [name for name in others if before.get(name) != after.get(name)][: 2 * _MOST_NAMED]:
        shown = "version of the verifier" if name == "verifier" else f"version of {on_a_line(name)}"
        yield f"{shown}: {_told(before, name)} -> {_told(after, name)}"
    if old.fields.get("sandbox") != new.fields.get("sandbox"):
        yield f"sandbox: {_told(old.fields, 'sandbox')} -> {_told(new.fields, 'sandbox')}"
    for sign, flags in (("+", set(new.flags) - set(old.flags)), ("-", set(old.flags) - set(new.flags))):
        if flags:
            yield f"flags: {' '.join(sign + on_a_line(flag) for flag in sorted(flags))}"


def _differ(old: Mapping[str, Any], new: Mapping[str, Any], name: str) -> bool:
    """Whether both tell it, and not the same."""
    return name in old and name in new and old[name] != new[name]


def _measured(line: ResultLine) -> Mapping[str, Any]:
    """Return what reports compare of a kernel's record, by dotted names; empty where there is none."""
    details = line.fields.get("details")
    if not isinstance(details, Mapping):
        return {}
    found = {"reference": details.get("reference")}
    for part, name in (("device", "name"), ("artifact", "sha256")):
        record = details.get(part)
        found[f"{part}.{name}"] = record.get(name) if isinstance(record, Mapping) else None
    shapes = details.get("shapes")
    for place, shape in enumerate(shapes if isinstance(shapes, list) else []):
        if isinstance(shape, Mapping):
            found |= {f"shapes[{place}].{name}": shape.get(name) for name in _MEASURED}
    return found


def _changed(old: Mapping[str, Any], new: Mapping[str, Any], tolerance: float) -> Iterator[str]:
    return (name for name in sorted(old.keys() | new.keys()) if not _are_equal(old.get(name), new.get(name), tolerance))


def _are_equal(old: Any, new: Any, tolerance: float) -> bool:
    if isinstance(old, int | float) and isinstance(new, int | float):
        return bool(old == new) or abs(Fraction(old) - Fraction(new)) <= tolerance  # no double holds any integer
    return bool(old == new)


def _told(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is None:
        return "none"
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else on_a_line(str(value))
