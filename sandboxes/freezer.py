"""Stopping a process tree between two questions: it uses no processor until it is let on.

Where control groups of version 2 can be had (also beside those of version 1), the tree gets a group of its own, which
no process in it can leave or thaw, and which the kernel still ends when told to. A freezer of version 1 is not used:
what is frozen there cannot be killed, so a worker that died would leave it for ever. Without groups one process can be
stopped by signals; it is looked at until it has stopped.
"""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from assay.errors import SandboxFault
from assay.sandboxes import cgroup

_MOUNTS = (Path("/sys/fs/cgroup/unified"), Path("/sys/fs/cgroup"))
_STOP_S = 2.0
"""How long one `freeze` tries."""
_FREEZES = 10
"""How many `stop` makes of them, one after the other."""
_AGAIN_S = 0.001
_GONE_S = 5.0
_RETRY_S = 0.002
_STOPPED = frozenset("TtZX")


class NotStopped(Exception):
    """It went on running, or is gone."""


class Freezer(Protocol):
    """Holds one process and what it starts."""

    def freeze(self) -> None:
        """Stop it; it has stopped when this returns. Raises NotStopped."""
        ...

    def thaw(self) -> None:
        """Let it go on."""
        ...

    def cpu_s(self) -> float | None:
        """Processor time of all that ever ran in here; None where only the process's own clock tells."""
        ...

    def close(self) -> None:
        """Once it has ended: leave nothing behind. Idempotent."""
        ...


class GroupFreezer:
    """A control group of version 2."""

    def __init__(self, folder: Path, pid: int) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "cgroup.procs").write_text(str(pid))
        self._switch = os.open(folder / "cgroup.freeze", os.O_WRONLY | os.O_CLOEXEC)
        self._events = os.open(folder / "cgroup.events", os.O_RDONLY | os.O_CLOEXEC)

    def freeze(self) -> None:
        """Stop it, whatever it has started. Raises NotStopped."""
        os.pwrite(self._switch, b"1", 0)
        deadline = time.monotonic() + _STOP_S
        while b"frozen 1" not in os.pread(self._events, 256, 0):
            if time.monotonic() > deadline:
                raise NotStopped("it could not be frozen")

    def thaw(self) -> None:
        """Let it go on."""
        os.pwrite(self._switch, b"0", 0)

    def cpu_s(self) -> float | None:
        """Processor time of all that ever ran in here."""
        for line in (self._folder / "cpu.stat").read_text().splitlines():
            if line.startswith("usage_usec "):
                return int(line.split()[1]) / 1e6
        return None

    def close(self) -> None:
        """Remove the group as soon as its last process has ended. Idempotent."""
        if self._switch < 0:
            return
        os.close(self._switch)
        os.close(self._events)
        self._switch = -1
        deadline = time.monotonic() + _GONE_S
        while not cgroup.remove_folder(self._folder) and time.monotonic() < deadline:
            time.sleep(_RETRY_S)


class SignalFreezer:
    """Signals, for one process of one thread; it can resist for a while, but not unseen."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def freeze(self) -> None:
        """Stop it, and see that it has stopped. Raises NotStopped."""
        deadline = time.monotonic() + _STOP_S
        try:
            while True:
                os.kill(self._pid, signal.SIGSTOP)
                if self._has_stopped():
                    return
                if time.monotonic() > deadline:
                    raise NotStopped("it could not be stopped")
                time.sleep(0 if time.monotonic() < deadline - _STOP_S + _AGAIN_S else _AGAIN_S)
        except OSError as error:
            raise NotStopped("it is gone") from error

    def thaw(self) -> None:
        """Let it go on."""
        try:
            os.kill(self._pid, signal.SIGCONT)
        except ProcessLookupError:
            return  # whoever waits for its answer learns of its end

    def cpu_s(self) -> float | None:
        """Only its own clock tells."""
        return None

    def close(self) -> None:
        """Nothing was made."""

    def _has_stopped(self) -> bool:
        with open(f"/proc/{self._pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] in _STOPPED


def stop(freezer: Freezer, has_ended: Callable[[], bool]) -> bool:
    """Freeze a process with patience: on a starved machine it takes seconds until one hears that it is to stop.

    Returns False if it has ended instead, which `has_ended` says after a while. Raises NotStopped if it goes on.
    """
    for _ in range(_FREEZES):
        try:
            freezer.freeze()
        except (NotStopped, OSError):
            if has_ended():
                return False
        else:
            return True
    raise NotStopped("it did not stop")


def sweep() -> int:
    """Remove groups left by workers that are gone; returns how many."""
    folders = {_own_group(os.getpid(), mounted) for mounted in _MOUNTS} - {None}
    return sum(cgroup.sweep_folder(folder) for folder in folders if folder is not None)


def open_freezer(pid: int, processes: int) -> Freezer:
    """Return what can stop that process, and the others it may start. Raises SandboxFault."""
    for mounted in _MOUNTS:
        folder = _own_group(pid, mounted)
        if folder is not None:
            group = folder / cgroup.fresh_name()
            try:
                return GroupFreezer(group, pid)
            except OSError:
                cgroup.remove_folder(group)
    if processes > 1:
        raise SandboxFault(
            "runners of several processes need control groups of version 2 that this worker may make; run it as root, "
            "or ask for one process"
        )
    return SignalFreezer(pid)


def _own_group(pid: int, mounted: Path) -> Path | None:
    """Return the group of version 2 that the process is in, below that mount."""
    if not (mounted / "cgroup.controllers").exists():
        return None
    lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), None)
    return None if path is None else mounted / path.lstrip("/")
