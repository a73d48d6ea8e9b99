"""Whose a container is: labels by which the containers of crashed workers are told from those of living ones."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LABEL = "assay.worker"
"""On every container of ours: the worker's process id."""
_START, _BOOT, _NAMESPACE = "assay.start", "assay.boot", "assay.pid-namespace"
_START_FIELD = 19  # of /proc/PID/stat, counted after the command's name


@dataclass(frozen=True)
class Machine:
    """The boot and pid namespace in which process ids are known to this process."""

    boot: str
    namespace: str


def this_machine() -> Machine:
    """Look at where this process runs."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return Machine(boot, os.readlink("/proc/self/ns/pid"))


def labels_of(pid: int, machine: Machine) -> dict[str, str]:
    """Return the labels for containers of the worker with that process id."""
    start = _start_of(pid) or ""
    return {LABEL: str(pid), _START: start, _BOOT: machine.boot, _NAMESPACE: machine.namespace}


def is_orphan(labels: Mapping[str, str], machine: Machine, *, running: bool) -> bool:
    """Whether the worker that made a container is known to be gone.

    A worker of another machine, or in another pid namespace, cannot be looked up: its container is left alone while
    it runs (it ends by itself when its worker does).
    """
    if labels.get(_BOOT) != machine.boot:
        return not running
    if labels.get(_NAMESPACE) != machine.namespace:
        return False
    pid = labels.get(LABEL, "")
    return not (pid.isdigit() and _start_of(int(pid)) == labels.get(_START))


def _start_of(pid: int) -> str | None:
    """When that process started, in ticks since boot: process ids are used again. None if there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else fields[_START_FIELD]
