"""Result lines as files hold them, also those that an earlier or later Assay wrote: what is needed is checked."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # Any: lines are unparsed JSON, of whatever version wrote them

from assay.cli.records.reading import FileRecord, read_records
from assay.clients.grouping import LARGEST
from assay.errors import InvalidRequest
from assay.outcomes import Outcome, has_null_reward
from assay.spelling import shown

CONTENT = "attempt"
"""The key of a result's `versions` that names the content which was judged."""


@dataclass(frozen=True)
class ResultLine:
    """One result: what reports and comparisons need, checked, and the whole of it as it was read."""

    task: str
    label: str
    group: str
    outcome: Outcome
    reward: float | None
    fields: Mapping[str, Any]

    @property
    def content(self) -> str | None:
        """What names the task and completion that were judged, None where the line does not tell."""
        name = self.versions.get(CONTENT)
        return name if isinstance(name, str) else None

    @property
    def versions(self) -> Mapping[str, Any]:
        """What the verdict hangs on, by name."""
        return self._mapping("versions")

    @property
    def terms(self) -> Mapping[str, Any]:
        """Named components of the reward."""
        return self._mapping("terms")

    @property
    def message(self) -> str:
        """Why the reward is no higher."""
        return str(self.fields.get("message") or "")

    @property
    def flags(self) -> tuple[str, ...]:
        """What the outcome does not say."""
        found = self.fields.get("flags")
        return tuple(map(str, found)) if isinstance(found, list) else ()

    @property
    def passed(self) -> tuple[int, ...]:
        """0 or 1 a test."""
        found = self.fields.get("passed")
        return tuple(int(bool(one)) for one in found) if isinstance(found, list) else ()

    @property
    def run_s(self) -> float:
        """Wall seconds that it ran, 0 where the line does not tell."""
        return max(_finite(self._mapping("timing").get("run_s")) or 0.0, 0.0)

    def _mapping(self, name: str) -> Mapping[str, Any]:
        found = self.fields.get(name)
        return found if isinstance(found, Mapping) else {}


def read_result_lines(path: Path) -> Iterator[ResultLine]:
    """Yield the results of a file, without the events of a stream.

    Raises InvalidRequest naming the place of what is no result.
    """
    for record in read_records(path):
        if "event" not in record.fields:
            yield _line(record)


def _line(record: FileRecord) -> ResultLine:
    fields = record.fields
    try:
        outcome, reward = Outcome(fields["outcome"]), fields["reward"]
        task, label = str(fields["task_id"]), str(fields["attempt"])
    except (KeyError, ValueError) as error:
        raise InvalidRequest(f"this is no result: {error}", path=record.path, fix="give results.jsonl") from error
    number = _finite(reward)
    if (number is None) != (reward is None) or (number is not None and has_null_reward(outcome)):
        raise InvalidRequest(
            f"{outcome} with the reward {shown(reward)} is no result",
            path=f"{record.path}.reward",
            fix="give results.jsonl",
        )
    group = fields.get("group")
    return ResultLine(task, label, task if group is None else str(group), outcome, number, fields)


def _finite(value: object) -> float | None:
    """Return a number as a double, None for what is none, or is larger than what statistics are made of."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        return float(value) if math.isfinite(value) and abs(value) <= LARGEST else None
    except OverflowError:
        return None
