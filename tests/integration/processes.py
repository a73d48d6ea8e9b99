"""A service whose processes a test can see and kill."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from batches import wait_for

from assay.service.assembly import Assembler
from assay.service.connection import Connection
from assay.service.fakes import FAKE
from assay.service.fleet import Fleet
from assay.service.launch import Orders, spawn
from assay.settings import Settings


class Running:
    """One service, its address, and the processes that it consists of."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, data_dir: Path) -> None:
        self.process = process
        self.http = httpx.Client(base_url=url, timeout=60)
        self.redis_url = f"unix://{data_dir / 'redis' / 'redis.sock'}"
        self.connection = Connection(self.redis_url)

    def worker_pids(self) -> list[int]:
        """The processes of live workers."""
        return [worker.pid for worker in Fleet(self.connection).workers()]

    def redis_pid(self) -> int:
        """The process of the private Redis."""
        return int(self.connection.client.info("server")["process_id"])

    def close(self) -> None:
        """Let go of the connections."""
        self.http.close()
        self.connection.close()


@contextmanager
def running(settings: Settings, assembler: Assembler = FAKE) -> Iterator[Running]:
    """Run a service that judges echo tasks; whatever is left of it afterwards is ended."""
    reading, writing = os.pipe()
    process = spawn("assay.service.serve", Orders(settings, assembler, ready_fd=writing), pass_fds=(writing,))
    os.close(writing)
    with os.fdopen(reading, "rb") as ready:
        url = ready.read().decode()
    if not url:
        process.wait(60)
    assert url, "the service did not start"
    service = Running(process, url, settings.data_dir)
    try:
        yield service
    finally:
        service.close()
        process.terminate()
        process.wait(60)


def kill(pid: int) -> None:
    """Kill a process that is not a child of ours, and wait until it is gone."""
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(pid))


def is_alive(pid: int) -> bool:
    """Say whether a process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
