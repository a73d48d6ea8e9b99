"""Where attempts of a backend live, as the outside sees it: its processes, and what they could leave behind."""

import glob
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import watching

_LOOKS = 5
_LASTS_S = 30.0


class NamespacesPlace:
    """The namespaces that this process is in: nothing else lives there."""

    def named(self, prefix: str) -> list[str]:
        """Return the names of running processes that begin with `prefix`."""
        return watching.named(prefix)

    def count(self) -> dict[str, Any]:
        """Count what attempts could leave behind."""
        groups = f"/sys/fs/cgroup/**/assay-{os.getpid()}-*"
        return {
            "processes": sorted(watching.processes().values()),
            "groups": len({Path(path).name for path in glob.glob(groups, recursive=True)}),
            "ipc": sum(len(Path(f"/proc/sysvipc/{kind}").read_text().splitlines()) for kind in ("shm", "msg", "sem")),
            **_count_files(Path("/proc/self"), Path("/")),
        }


class ContainersPlace:
    """The containers of this worker, and the processes below the session; all others on the machine are no matter."""

    def __init__(self, session: int) -> None:
        self._session = session

    def named(self, prefix: str) -> list[str]:
        """Return the names of running processes that begin with `prefix`, also of those that change their numbers."""
        containers = _containers()
        for _ in range(_LOOKS):
            if found := sorted(self._processes(containers, prefix)):
                return found
        return []

    def count(self) -> dict[str, Any]:
        """Count what attempts could leave behind."""
        containers = _containers()
        counts: dict[str, Any] = {"processes": sorted(self._processes(containers)), "containers": len(containers)}
        for _, keeper in containers:
            counts |= _count_files(Path(f"/proc/{keeper}"), Path(f"/proc/{keeper}/root"))
        return counts

    def _processes(self, containers: list[tuple[str, int]], prefix: str = "") -> list[str]:
        ids = [container for container, _ in containers]
        seen = watching.processes().items()
        return [name for pid, name in seen if name.startswith(prefix) and self._is_ours(pid, ids)]

    def _is_ours(self, pid: int, containers: list[str]) -> bool:
        try:
            groups = Path(f"/proc/{pid}/cgroup").read_text()
        except OSError:
            return False  # it ended meanwhile
        return self._session in _ancestry(pid) or any(container in groups for container in containers)


def _containers() -> list[tuple[str, int]]:
    """Return the ids of this worker's containers, with the numbers of their first processes."""
    client = docker.from_env()
    try:
        listed = client.api.containers(filters={"label": f"assay.worker={os.getpid()}"})
        return [(one["Id"], client.api.inspect_container(one["Id"])["State"]["Pid"]) for one in listed]
    finally:
        client.close()


def _ancestry(pid: int) -> Iterator[int]:
    while pid > 1:
        yield pid
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
        except OSError:
            return


def _count_files(process: Path, root: Path) -> dict[str, int]:
    """Count what a process sees of mounts, shared memory and folders for jails."""
    return {
        "mounts": len((process / "mounts").read_text().splitlines()),
        "roots": len(_lasting_roots(root / "tmp")),
        "shared memory": len(list((root / "dev/shm").iterdir())),
    }


def _lasting_roots(folder: Path) -> set[Path]:
    """Return the folders of jails that stay: whoever makes a jail on this machine has one there for a moment."""
    deadline_s = time.monotonic() + _LASTS_S
    left = set(folder.glob("assay-root-*"))
    while left and time.monotonic() < deadline_s:
        time.sleep(0.02)
        left &= set(folder.glob("assay-root-*"))
    return left
