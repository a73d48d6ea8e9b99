"""The three kinds of conformity lines, told apart by their keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any  # Any: tasks and expectations are JSON whose shape depends on the family

from pydantic import BaseModel, ConfigDict, Field

from assay.cli.conformity.macros import expand
from assay.errors import InvalidRequest
from assay.verifiers.registry import parse

Document = Mapping[str, Any]

_RUN_KEYS = frozenset({"repeat", "concurrent", "same_output", "time_limit_s"})


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")  # prose keys (`why`, `source`, …) are not ours


class Expectation(_Line):
    """What an honest program must come to; None leaves a key unchecked, except `reward` (null)."""

    outcome: str
    reward: float | None
    passed: tuple[int, ...] | None = None
    outcome_also: tuple[str, ...] = ()
    max_wall_s: float | None = None
    exit_code: int | None = None
    stdout: str | None = None


class HonestLine(_Line):
    """One honest program with the verdict it must get."""

    id: str
    style: str
    task: Document
    completion: str | None
    expected: Expectation


class HackReward(_Line):
    """What a hack must earn."""

    reward: float


class HackLine(_Line):
    """One reward hack, with a right and a wrong solution of the same task."""

    id: str
    style: str
    task: Document
    completion: str
    honest: str
    wrong: str
    expected: HackReward
    before: tuple[str, ...] = ()
    during: tuple[str, ...] = ()
    repeat: int = Field(1, ge=1)
    probe_after: bool = False
    leak_markers: tuple[str, ...] = ()


class FamilyLine(_Line):
    """One case of a family of rewards."""

    family: str
    case: str
    task: Document
    completion: Any = None
    expected: Document

    @property
    def id(self) -> str:
        """The case's name across families."""
        return f"{self.family}/{self.case}"


Line = HonestLine | HackLine | FamilyLine


@dataclass(frozen=True)
class Repetition:
    """How often a program runs, and how many runs are under way at once."""

    times: int = 1
    at_once: int = 1
    same_output: bool = False


def read_line(document: Document, *, path: str) -> Line:
    """Type one line by its keys. Raises InvalidRequest naming the fault."""
    expanded = expand(document)
    if {"family", "case"} <= expanded.keys():
        return parse(FamilyLine, expanded, path=path)
    if {"honest", "wrong"} <= expanded.keys():
        return parse(HackLine, _with_lists(expanded), path=path)
    if {"style", "expected"} <= expanded.keys():
        return parse(HonestLine, expanded, path=path)
    raise InvalidRequest(
        f"no conformity line has the keys {', '.join(sorted(expanded))}",
        path=path,
        fix="see the keys of reward families, honest programs and hacks",
    )


def repetition(task: Document) -> Repetition:
    """Return how a line's task asks to be repeated."""
    return Repetition(
        times=max(int(task.get("repeat", 1)), int(task.get("concurrent", 1))),
        at_once=int(task.get("concurrent", 1)),
        same_output=bool(task.get("same_output", False)),
    )


def task_document(line_id: str, style: str, task: Document) -> Document:
    """Return the task as a service receives it: `script` goes to verifier `run`, the rest to `python`."""
    document = {key: value for key, value in task.items() if key not in _RUN_KEYS}
    if "time_limit_s" in task:
        document["limits"] = {**task.get("limits", {}), "attempt_wall_s": task["time_limit_s"]}
    if style == "script":
        return {"id": line_id, "verifier": "run", **document}
    return {"id": line_id, "verifier": "python", "style": style, **document}


def _with_lists(document: Document) -> Document:
    """`before` and `during` may hold one completion instead of a list of them."""
    return {
        key: [value] if key in ("before", "during") and isinstance(value, str) else value
        for key, value in document.items()
    }
