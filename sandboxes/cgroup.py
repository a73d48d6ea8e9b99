"""Control groups for jails, v1 or v2, where the machine lets us make them; a hard stop behind the host's own looks."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.errors import SandboxFault

_PREFIX = "assay-"
_REMOVAL_S = 5.0
_RETRY_S = 0.002
_SLACK_MB = 16  # page tables, tmpfs and the host's own pages are charged too


@dataclass(frozen=True)
class Controllers:
    """Where groups can be made for this process: the memory controller's folder, and its hierarchy's version.

    Version 1 accounts for processor time in a hierarchy of its own, whose folder is `cpu`; in version 2 all do.
    """

    memory: Path | None
    version: int | None
    cpu: Path | None = None


def find_controllers(proc_cgroup: str | None = None) -> Controllers:
    """Find where groups could be made for this process; nothing is written."""
    text = proc_cgroup if proc_cgroup is not None else Path("/proc/self/cgroup").read_text()
    own = {names: path for _, names, path in (line.split(":", 2) for line in text.splitlines() if line)}
    memory = _v1_folder(own, "memory")
    if memory is not None:
        return Controllers(memory, 1, _v1_folder(own, "cpuacct"))
    unified = Path("/sys/fs/cgroup" + own.get("", "/"))
    available = _read(unified / "cgroup.controllers").split()
    if "memory" in available and os.access(unified / "cgroup.subtree_control", os.W_OK):
        return Controllers(unified, 2)
    return Controllers(None, None)


class JailGroup:
    """The group of one jail: its host and every child of it."""

    def __init__(self, controllers: Controllers, name: str) -> None:
        self._version = controllers.version
        self._memory = controllers.memory / name if controllers.memory else None
        self._cpu = controllers.cpu / name if controllers.cpu else None
        self._limit_mb: int | None = None
        self._kills_seen = 0
        if controllers.version == 2 and controllers.memory:
            _write(controllers.memory / "cgroup.subtree_control", "+memory")
        for folder in self._folders:
            folder.mkdir(exist_ok=True)

    @property
    def _folders(self) -> tuple[Path, ...]:
        return tuple(folder for folder in (self._memory, self._cpu) if folder is not None)

    def adopt(self, pid: int) -> None:
        """Put the host in; children inherit it."""
        for folder in self._folders:
            _write(folder / "cgroup.procs", str(pid))

    def limit(self, memory_mb: int) -> None:
        """Set the hard limit for the next child: its memory, and what it may keep in its temporary file system."""
        if self._memory is None or memory_mb == self._limit_mb:
            return
        name = "memory.max" if self._version == 2 else "memory.limit_in_bytes"
        _write(self._memory / name, str((memory_mb + _SLACK_MB) * 2**20))
        self._limit_mb = memory_mb

    def cpu_s(self) -> float | None:
        """Processor time of everything that ever ran in here, also of what ended unseen; None where none is told."""
        if self._cpu is not None:
            text = _read(self._cpu / "cpuacct.usage").strip()
            return int(text) / 1e9 if text else None
        if self._version == 2 and self._memory is not None:
            for line in _read(self._memory / "cpu.stat").splitlines():
                if line.startswith("usage_usec "):
                    return int(line.split()[1]) / 1e6
        return None

    def killed_since_last_look(self) -> bool:
        """Whether the kernel killed something in here for memory since the last call."""
        if self._memory is None:
            return False
        name = "memory.events" if self._version == 2 else "memory.oom_control"
        kills = memory_kills(_read(self._memory / name))
        fresh = kills > self._kills_seen
        self._kills_seen = kills
        return fresh

    def remove(self) -> None:
        """Remove the group as soon as its last process has ended, which its host's end brings about. Idempotent."""
        deadline = time.monotonic() + _REMOVAL_S
        for folder in self._folders:
            while not _remove(folder) and time.monotonic() < deadline:
                time.sleep(_RETRY_S)


def memory_kills(text: str) -> int:
    """Return how many processes were killed for memory, by `memory.events` (v2) or `memory.oom_control` (v1)."""
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == "oom_kill":
            return int(value)
    return 0


def open_group(controllers: Controllers) -> JailGroup | None:
    """Make a group that no other jail has, of this process's pools either; None where groups cannot be made."""
    if controllers.memory is None:
        return None
    try:
        return JailGroup(controllers, f"{_PREFIX}{os.getpid()}-{os.urandom(4).hex()}")
    except OSError:
        return None  # a read-only or foreign hierarchy: the host's own looks enforce memory


def sweep(controllers: Controllers) -> int:
    """Remove groups left by workers that are gone; returns how many folders that were."""
    stale = [folder for folder in _groups(controllers) if not _alive(folder.name)]
    for folder in stale:
        _remove(folder)
    return len(stale)


def _groups(controllers: Controllers) -> Iterator[Path]:
    for hierarchy in (controllers.memory, controllers.cpu):
        if hierarchy is not None:
            yield from hierarchy.glob(f"{_PREFIX}*-*")


def _alive(name: str) -> bool:
    pid = name.removeprefix(_PREFIX).split("-")[0]
    return pid.isdigit() and os.path.exists(f"/proc/{pid}")


def _v1_folder(own: dict[str, str], controller: str) -> Path | None:
    for names, path in own.items():
        if controller in names.split(","):
            folder = Path(f"/sys/fs/cgroup/{controller}{path}")
            return folder if os.access(folder, os.W_OK) else None
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""  # the file does not exist in this version of the hierarchy


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise SandboxFault(f"cannot write {path}: {error}") from error


def _remove(folder: Path) -> bool:
    """Remove one group; False while it still holds a process (what stays is found by the next sweep)."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
