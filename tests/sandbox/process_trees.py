"""Process trees, for tests that count what is left of them."""

import os


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
