"""Control groups for jails, v1 or v2, where the machine lets us make them; a hard stop behind the host's own looks."""

import os
import subprocess
import time
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path

from assay.errors import SandboxFault
from assay.sandboxes import procfs

_PREFIX = "assay-"
_REMOVAL_S = 5.0
_RETRY_S = 0.002
_SLACK_MB = 16  # page tables, tmpfs and the host's own pages are charged too


class Shortage(Enum):
    """Whose memory had run out when the kernel ended something in a group for it."""

    NONE = auto()
    """Nothing was ended."""
    OWN = auto()
    """The group had reached its own limit."""
    AROUND = auto()
    """It had not: the machine ran out, or a group above."""


@dataclass(frozen=True)
class Controllers:
    """Where groups can be made for this process: the memory controller's folder, and its hierarchy's version.

    Version 1 accounts for processor time in a hierarchy of its own, whose folder is `cpu`; in version 2 all do.
    """

    memory: Path | None
    version: int | None
    cpu: Path | None = None


def find_controllers() -> Controllers:
    """Find where groups can be made for this process, by trying. What may not be had is not an error."""
    found = locate(Path("/proc/self/cgroup").read_text())
    return found if found.memory is None or _try(found) else Controllers(None, None)


def locate(proc_cgroup: str, mounted: Path = Path("/sys/fs/cgroup")) -> Controllers:
    """Find where groups belong for a process with that /proc/self/cgroup; nothing is written."""
    own = _paths(proc_cgroup)
    memory = _v1_folder(own, "memory", mounted)
    if memory is not None:
        return Controllers(memory, 1, _v1_folder(own, "cpuacct", mounted))
    unified = _v2_folder(own.get("", "/"), mounted)
    return Controllers(unified, 2 if unified else None)


def _try(controllers: Controllers) -> bool:
    """Whether a process of ours can be moved into a group made there; on v2 that takes more than writable files."""
    group = open_group(controllers)
    if group is None:
        return False
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={}) as moved:
        try:
            group.adopt(moved.pid)
        except SandboxFault:
            return False
        finally:
            moved.kill()
            moved.wait()
            group.remove()
    return True


class JailGroup:
    """The group of one jail: its host and every child of it."""

    def __init__(self, controllers: Controllers, name: str) -> None:
        self._version = controllers.version
        self._memory = controllers.memory / name if controllers.memory else None
        self._cpu = controllers.cpu / name if controllers.cpu else None
        self._limit_mb: int | None = None
        self._kills_seen = self._refusals_seen = 0
        if controllers.version == 2 and controllers.memory:
            passed_down = controllers.memory / "cgroup.subtree_control"
            if "memory" not in _read(passed_down).split():
                _write(passed_down, "+memory")
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

    def shortage(self) -> Shortage:
        """Say whether the kernel killed something in here for memory since the last call, and for want of whose.

        Kills are told whatever they are for; that the group's own limit was reached is told beside them.
        """
        if self._memory is None:
            return Shortage.NONE
        if self._version == 2:
            events = _read(self._memory / "memory.events")
            kills, refusals = memory_kills(events), _count(events, "oom")
        else:
            kills = memory_kills(_read(self._memory / "memory.oom_control"))
            refusals = int(_read(self._memory / "memory.failcnt") or 0)
        is_killed, is_own = kills > self._kills_seen, refusals > self._refusals_seen
        self._kills_seen, self._refusals_seen = kills, refusals
        if not is_killed:
            return Shortage.NONE
        return Shortage.OWN if is_own else Shortage.AROUND

    def remove(self) -> None:
        """Remove the group as soon as its last process has ended, which its host's end brings about. Idempotent."""
        deadline = time.monotonic() + _REMOVAL_S
        for folder in self._folders:
            while not remove_folder(folder) and time.monotonic() < deadline:
                time.sleep(_RETRY_S)


def memory_kills(text: str) -> int:
    """Return how many processes were killed for memory, by `memory.events` (v2) or `memory.oom_control` (v1)."""
    return _count(text, "oom_kill")


def kills_around(proc_cgroup: Path = Path("/proc/self/cgroup"), mounted: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Return how many processes the kernel has killed for memory in this process's group, as far as that is told.

    Else those of the whole machine, others' too; None if that is not told either.
    """
    own = _paths(_read(proc_cgroup))
    files = [mounted / own.get("", "/").lstrip("/") / "memory.events"]
    for names, path in own.items():
        if "memory" in names.split(","):
            files.insert(0, mounted / "memory" / path.lstrip("/") / "memory.oom_control")
    for file in files:
        if "oom_kill " in (text := _read(file)):
            return memory_kills(text)
    return procfs.memory_kills()


def _paths(proc_cgroup: str) -> dict[str, str]:
    """Return the group of a process by the names of controllers; none have the empty name."""
    return {names: path for _, names, path in (line.split(":", 2) for line in proc_cgroup.splitlines() if line)}


def _count(text: str, wanted: str) -> int:
    for line in text.splitlines():
        key, _, value = line.partition(" ")
        if key == wanted:
            return int(value)
    return 0


def open_group(controllers: Controllers) -> JailGroup | None:
    """Make a group that no other jail has, of this process's pools either; None where groups cannot be made."""
    if controllers.memory is None:
        return None
    try:
        return JailGroup(controllers, fresh_name())
    except (OSError, SandboxFault):
        return None  # a read-only or foreign hierarchy: the host's own looks enforce memory


def fresh_name() -> str:
    """Return a name for a group of this process that no other has."""
    return f"{_PREFIX}{os.getpid()}-{_pid_namespace()}-{os.urandom(4).hex()}"


def sweep(controllers: Controllers) -> int:
    """Remove groups left by workers that are gone; returns how many folders that were."""
    return sum(sweep_folder(folder) for folder in (controllers.memory, controllers.cpu) if folder is not None)


def sweep_folder(hierarchy: Path) -> int:
    """Remove the groups in one folder that were left by workers that are gone; returns how many."""
    stale = [folder for folder in hierarchy.glob(f"{_PREFIX}*-*") if not _alive(folder.name)]
    for folder in stale:
        remove_folder(folder)
    return len(stale)


def _alive(name: str) -> bool:
    """Say whether the worker of a group lives, or may: ids of processes of another namespace say nothing here."""
    pid, *namespace, _ = name.removeprefix(_PREFIX).split("-")
    return namespace not in ([], [_pid_namespace()]) or (pid.isdigit() and os.path.exists(f"/proc/{pid}"))


def _pid_namespace() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino)


def _v1_folder(own: dict[str, str], controller: str, mounted: Path) -> Path | None:
    for names, path in own.items():
        if controller in names.split(","):
            folder = mounted / controller / path.lstrip("/")
            return folder if os.access(folder, os.W_OK) else None
    return None


def _v2_folder(path: str, mounted: Path) -> Path | None:
    """Return the parent of our own group: none but the root may hold processes and pass on controllers."""
    own = mounted / path.lstrip("/")
    if "memory" not in _read(own / "cgroup.controllers").split():
        return None
    folder = own if path == "/" else own.parent
    return folder if os.access(folder, os.W_OK) and os.access(folder / "cgroup.procs", os.W_OK) else None


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


def remove_folder(folder: Path) -> bool:
    """Remove one group, and ours in it; False while it holds a process (what stays is found by the next sweep)."""
    for inner in folder.glob(f"{_PREFIX}*-*"):
        remove_folder(inner)
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
