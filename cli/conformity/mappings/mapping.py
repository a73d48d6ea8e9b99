"""A family of cases that one verifier judges: how its tasks and profiles are put, and the check of a line."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any  # Any: expectations are JSON values

from assay.cli.conformity.judging import Judge, Judged, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.musts import broken_musts

Check = Callable[[FamilyLine, Judge], list[str]]


@dataclass(frozen=True)
class FamilyMapping:
    """How a family's lines become tasks of ours; calling it checks one line."""

    document: Callable[[Document], Document]
    """From a line's `task` to the fields of our task, `verifier` among them."""
    profiles: Mapping[str, Document] = field(default_factory=dict)
    """Fields that are laid over the task for each profile of the file that must exist and agree."""
    hardened: Document = field(default_factory=dict)
    """Fields that are laid over it for `expected.hardened`."""
    terms: Mapping[str, str] = field(default_factory=dict)
    """Our names of components that the file calls otherwise."""

    def __call__(self, line: FamilyLine, judge: Judge) -> list[str]:
        """Return what deviates in one line: headline, components, `must`, hardened value, named profiles."""
        expected = {key: line.expected[key] for key in ("reward", "components") if key in line.expected}
        judged = self._judge(line, judge, {})
        problems = [*self._differences("", expected, judged), *broken_musts(line.expected.get("must", {}), judged)]
        if "hardened" in line.expected:
            judged = self._judge(line, judge, self.hardened)
            problems += self._differences("hardened: ", _shaped(line.expected["hardened"]), judged)
        for name, value in line.expected.get("profiles", {}).items():
            if name in self.profiles and not isinstance(value, str):  # prose: it raised, hung or was not run
                judged = self._judge(line, judge, self.profiles[name])
                problems += self._differences(f"profile {name}: ", _shaped(value), judged)
        return problems

    def _judge(self, line: FamilyLine, judge: Judge, fields: Document) -> Judged:
        return judge.judge({"id": line.id, **self.document(line.task), **fields}, line.completion)

    def _differences(self, where: str, expected: Document, judged: Judged) -> Iterator[str]:
        said = f"({judged.outcome}: {judged.message[:200]})"
        if "reward" in expected and not agree(expected["reward"], judged.reward):
            yield f"{where}expected {expected['reward']}, got {judged.reward} {said}"
        for name, value in expected.get("components", {}).items():
            if not agree(_number(value), got := self._term(judged, name)):
                yield f"{where}{name}: expected {value}, got {got} {said}"

    def _term(self, judged: Judged, name: str) -> float | None:
        return judged.terms.get(self.terms.get(name, name))


def _shaped(value: Any) -> Document:
    """A profile's value is a reward, an object with `reward` or `components`, or the components themselves."""
    if not isinstance(value, Mapping):
        return {"reward": value}
    if {"reward", "components"} & value.keys():
        return value
    return {"components": value}


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
