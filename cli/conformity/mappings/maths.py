"""Families of mathematics."""

from collections.abc import Mapping

from assay.cli.conformity.lines import Document
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping

_PROSE = frozenset({"policy", "note", "unit"})
_RENAMED = {"gold": "answer"}


def _task(task: Document) -> Document:
    """Return our task: the file's `gold` is our `answer`; every other key is a field of ours."""
    return {"verifier": "math", **{_RENAMED.get(key, key): value for key, value in task.items() if key not in _PROSE}}


FAMILIES: Mapping[str, Check] = {"math": FamilyMapping(_task)}
"""By the name of the family."""
