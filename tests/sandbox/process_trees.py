"""Process trees, for tests that count what is left of them."""

import os
from collections.abc import Iterable
from pathlib import Path


def descendants(root: int) -> set[int]:
    """Return the processes below `root`."""
    parents = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", "rb") as file:
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError):
            continue
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {root}


def living(pids: Iterable[int]) -> set[int]:
    """Return those that still are, and have not merely not been waited for."""
    return {pid for pid in pids if _state(pid) not in ("", "Z", "X")}


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
    except OSError:
        return ""
