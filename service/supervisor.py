"""Keeps the worker processes of one service alive: starts them, requeues what a dead one held, starts another."""

import logging
import os
import subprocess
import threading
import time
from collections.abc import Callable

from assay.errors import AssayError
from assay.service.assembly import Assembler
from assay.service.connection import Connection
from assay.service.fleet import Fleet
from assay.service.launch import Orders, spawn
from assay.service.queue import ChunkQueue
from assay.service.worker import EXIT_REFUSED, make_worker_name
from assay.settings import Settings

log = logging.getLogger(__name__)

_STOP_S = 20.0
_LOOK_S = 0.2
_LIVED_S = 10.0  # a worker that ends sooner than this is restarted with a pause
_PAUSE_S = 1.0
_BELIEVED = 3  # refusals in a row, once a worker was ready here


class Supervisor:
    """Owns `settings.workers` worker processes. `start` and `stop` come from one thread."""

    def __init__(
        self, settings: Settings, redis_url: str, assembler: Assembler, on_refused: Callable[[], None]
    ) -> None:
        self._settings = settings
        self._redis_url = redis_url
        self._assembler = assembler
        self._on_refused = on_refused
        self._connection = Connection(redis_url)
        self._stopping = threading.Event()
        self._processes: dict[str, tuple[subprocess.Popen[bytes], float]] = {}
        self._due: list[float] = []
        """When workers that have ended are replaced."""
        self._was_ready = False
        self._refusals = 0
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    def start(self) -> None:
        """Start the workers."""
        self._thread.start()

    def stop(self) -> None:
        """End the workers, letting each finish or give back what it holds."""
        self._stopping.set()
        self._thread.join()
        self._connection.close()

    def _watch(self) -> None:
        # Workers live and die in this thread: the kernel ends them when the thread that started them ends.
        try:
            self._due = [time.monotonic()] * self._settings.workers
            self._start_due()
            while not self._stopping.wait(_LOOK_S):
                for name, (process, started) in list(self._processes.items()):
                    if process.poll() is not None:
                        self._replace(name, process, started)
                self._start_due()
            self._end_all()
        except BaseException:  # the thread's outermost frame: without it no worker would be left, nor come
            log.exception("supervisor_failed")
            self._on_refused()

    def _end_all(self) -> None:
        for process, _ in self._processes.values():
            process.terminate()
        deadline = time.monotonic() + _STOP_S
        for name, (process, _) in self._processes.items():
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.warning("worker_killed name=%s", name)
                process.kill()
                process.wait()

    def _replace(self, name: str, process: subprocess.Popen[bytes], started: float) -> None:
        log.warning("worker_ended name=%s status=%s", name, process.returncode)
        if process.returncode == EXIT_REFUSED and self._is_believed():
            self._stopping.set()
            self._on_refused()
            del self._processes[name]
            return
        self._was_ready = self._was_ready or self._is_any_ready()
        del self._processes[name]
        self._release(name)
        now = time.monotonic()
        self._due.append(now + _PAUSE_S if now - started < _LIVED_S else now)

    def _is_believed(self) -> bool:
        """Whether a refusal is final: no worker here was ever ready, or none is and there were several in a row."""
        if self._is_any_ready():
            self._was_ready, self._refusals = True, 0
            return False
        self._refusals += 1
        return not self._was_ready or self._refusals >= _BELIEVED

    def _is_any_ready(self) -> bool:
        """Whether one of the workers, be it that which has just ended, has told of itself."""
        try:
            return any(worker.name in self._processes for worker in Fleet(self._connection).workers())
        except AssayError as error:
            log.warning("fleet_unknown error=%s", error)
            return self._was_ready

    def _release(self, name: str) -> None:
        try:
            count = ChunkQueue(self._connection).release(name)
            Fleet(self._connection).retire(name)
        except AssayError as error:
            log.warning("release_failed worker=%s error=%s", name, error)  # its leases run out by themselves
            return
        if count:
            log.warning("chunks_requeued count=%d reason=dead_worker", count)

    def _start_due(self) -> None:
        for due in [one for one in self._due if one <= time.monotonic()]:
            self._due.remove(due)
            try:
                self._start_worker()
            except OSError as error:  # no process to be had at the moment
                log.error("worker_not_started reason=%s", error)
                self._due.append(time.monotonic() + _PAUSE_S)

    def _start_worker(self) -> None:
        name = make_worker_name()
        orders = Orders(self._settings, self._assembler, parent_pid=os.getpid(), redis_url=self._redis_url, name=name)
        self._processes[name] = (spawn("assay.service.worker_main", orders), time.monotonic())
