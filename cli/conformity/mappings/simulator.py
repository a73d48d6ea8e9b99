"""The family of parameters for a robot's controller."""

from collections.abc import Mapping

from assay.cli.conformity.lines import Document
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping

_PROSE = frozenset({"policy", "note", "unit"})


def _task(task: Document) -> Document:
    """Return our task: every key of the file is a field of ours, and the headline is the published rule."""
    fields = {key: value for key, value in task.items() if key not in _PROSE}
    return {"verifier": "simulator", "profile": "robotxr1/paper", **fields}


FAMILIES: Mapping[str, Check] = {
    "robot_controller": FamilyMapping(
        _task,
        profiles={
            "robotxr1_paper": {"profile": "robotxr1/paper"},
            "robotxr1_code": {"profile": "robotxr1/code"},
            "robotxr1_hardened": {"profile": "robotxr1/hardened"},
        },
        hardened={"profile": "robotxr1/hardened"},
    )
}
"""By the name of the family."""
