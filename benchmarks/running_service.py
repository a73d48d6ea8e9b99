"""A service of its own processes for a benchmark, and what they weigh."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

_START_S = 60.0
_STOP_S = 30.0
_LOOK_S = 0.5


@dataclass(frozen=True)
class RunningService:
    """Where it listens, its first process, and its data folder."""

    url: str
    pid: int
    folder: Path

    def pss_mb(self) -> float:
        """Return the proportional set size of every process of the service, in MB (2^20 bytes)."""
        return sum(map(_pss_kb, self._pids())) / 1024

    @contextmanager
    def weighed(self) -> Iterator[list[float]]:
        """Lend a list that gets what the service weighs (`pss_mb`), every half second and at the end."""
        seen: list[float] = []
        ended = threading.Event()

        def look() -> None:
            while not ended.wait(_LOOK_S):
                seen.append(self.pss_mb())

        looking = threading.Thread(target=look)
        looking.start()
        try:
            yield seen
        finally:
            ended.set()
            looking.join()
            seen.append(self.pss_mb())

    def cpu_s(self) -> float:
        """Return the CPU seconds that the service has used so far, ended children included."""
        return sum(map(cpu_s, self._pids()))

    def _pids(self) -> set[int]:
        """The process tree, and whatever else names the data folder (a Redis that left the tree)."""
        parents = dict(_parents())
        found = {self.pid, *(pid for pid in parents if str(self.folder) in _command(pid))}
        while children := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= children
        return found


@contextmanager
def running_service(*options: str) -> Iterator[RunningService]:
    """Start `assay serve` with a private Redis in a folder of its own; end it at the end."""
    with TemporaryDirectory(prefix="assay-bench-") as folder:
        port = free_port()
        command = [sys.executable, "-m", "assay", "serve", "--port", str(port), "--data-dir", folder, *options]
        process = subprocess.Popen(command)
        try:
            service = RunningService(f"http://127.0.0.1:{port}", process.pid, Path(folder))
            _wait_ready(service.url, process)
            yield service
        finally:
            process.terminate()
            process.wait(_STOP_S)


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_ready(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(httpx.TransportError):  # not listening yet
            if httpx.get(f"{url}/readyz").is_success:
                return
        time.sleep(0.05)
    raise SystemExit("the service did not become ready")


def _parents() -> Iterator[tuple[int, int]]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue  # ended meanwhile
            yield int(entry.name), int(stat.rpartition(")")[2].split()[1])


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process so far, those of its children that have ended included; 0 if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return 0.0
    ticks = sum(map(int, stat.rpartition(")")[2].split()[11:15]))  # utime, stime, cutime, cstime
    return ticks / os.sysconf("SC_CLK_TCK")


def _pss_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
