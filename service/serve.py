"""`assay serve`: one process that holds the API and keeps a private Redis and the workers running."""

import asyncio
import fcntl
import ipaddress
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile

import uvicorn

from assay.errors import AssayError, InfraFault, InvalidRequest
from assay.interrupts import raise_interrupts
from assay.service.api import create_app
from assay.service.assembly import Assembler, check_files
from assay.service.connection import Connection
from assay.service.fleet import Fleet
from assay.service.launch import Orders, read_orders, spawn
from assay.service.leash import end_with
from assay.service.logs import configure_logging
from assay.service.parts import Parts, assemble_parts
from assay.service.queue import ChunkQueue
from assay.service.redis_server import PrivateRedis
from assay.service.supervisor import Supervisor
from assay.service.upkeep import Upkeep
from assay.service.worker import make_worker_name
from assay.settings import Settings

log = logging.getLogger(__name__)

_LOCK_S = 15.0  # a predecessor that was killed leaves a Redis that still writes
_LOOK_S = 0.05
_DRAIN_S = 3
_KEEP_ALIVE_S = 75  # longer than clients keep an idle connection, so that they never use one that was just closed
_BACKLOG = 4096
_READY_S = 120.0


def serve(
    settings: Settings,
    *,
    assembler: Assembler | None = None,
    on_ready: Callable[[str], None] | None = None,
) -> int:
    """Serve until SIGTERM or SIGINT; return the exit status. Call it from the main thread.

    Raises InvalidRequest if it would be reachable from elsewhere without keys or cannot use a file or folder it names,
    InfraFault if something it stands on cannot be started. `on_ready` gets the address once attempts are judged.
    """
    _prepare(settings)
    chosen = assembler or Assembler()
    with ExitStack() as stack:
        wishes = stack.enter_context(_handling_signals())
        redis_url = _start_redis(settings, stack)
        connection = Connection(redis_url)
        stack.callback(connection.close)
        registry = chosen.make_registry()
        parts = assemble_parts(settings, connection, registry, private_redis=settings.redis_url is None)
        listener = _listen(settings)
        stack.callback(listener.close)
        server = _Server(parts, _address(listener), on_ready)
        supervisor = Supervisor(settings, redis_url, chosen, on_refused=server.give_up)
        stack.callback(supervisor.stop)
        supervisor.start()
        upkeep = Upkeep(parts, make_worker_name())
        stack.callback(upkeep.stop)
        upkeep.start()
        if not wishes:
            server.run(sockets=[listener])
    log.info("stopped")
    return 1 if server.has_given_up else 0


@contextmanager
def embedded(settings: Settings, *, assembler: Assembler | None = None) -> Iterator[str]:
    """Run a whole service beside this process for the duration of the block; gives its address.

    Raises InfraFault if it does not become ready; its log, on standard error, says why.
    """
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as ready:
        try:
            orders = Orders(settings, assembler or Assembler(), ready_fd=writing)
            process = spawn("assay.service.serve", orders, pass_fds=(writing,))
        finally:
            os.close(writing)
        try:
            address = ready.read().decode()  # ends when it is written, or when the process ends
            if not address:
                raise InfraFault("the embedded service did not start; its log says why")
            yield address
        finally:
            _end(process)


def check_exposure(settings: Settings) -> None:
    """Raise InvalidRequest if the service would be reachable from other machines without a key."""
    if settings.api_keys or _is_loopback(settings.host):
        return
    raise InvalidRequest(
        f"refusing to listen on {settings.host} without keys",
        path="api_keys",
        fix="set ASSAY_API_KEYS, or bind to 127.0.0.1",
    )


class _Server(uvicorn.Server):
    """Tells when attempts are judged; ends when a worker says that it never will be."""

    def __init__(self, parts: Parts, address: str, on_ready: Callable[[str], None] | None) -> None:
        config = uvicorn.Config(
            create_app(parts),
            log_config=None,
            access_log=False,
            timeout_graceful_shutdown=_DRAIN_S,
            timeout_keep_alive=_KEEP_ALIVE_S,
            backlog=_BACKLOG,
        )
        super().__init__(config)
        self._hub = parts.hub
        self._readiness = parts.readiness if parts.settings.workers else lambda: ""
        self._address = address
        self._on_ready = on_ready
        self._announced = False
        self.has_given_up = False

    def give_up(self) -> None:
        """End with a failure."""
        self.has_given_up = True
        self.should_exit = True

    def handle_exit(self, *_: object, **__: object) -> None:
        """Want an end. A second Ctrl-C changes nothing: uvicorn would leave calls and workers behind."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what waits for results before uvicorn waits for it."""
        log.info("stopping")
        self._hub.release()
        await super().shutdown(sockets)

    async def on_tick(self, counter: int) -> bool:
        """Called by uvicorn ten times a second."""
        if not self._announced and not await asyncio.to_thread(self._readiness):
            self._announced = True
            log.info("ready url=%s", self._address)
            if self._on_ready is not None:
                self._on_ready(self._address)
        return await super().on_tick(counter)


@contextmanager
def _handling_signals() -> Iterator[list[int]]:
    """Take SIGTERM and SIGINT as mere wishes for the whole block; gives the list to which they are added.

    uvicorn handles them while it runs and raises them again when it is done; by default that would end the process
    before its workers and its Redis.
    """
    wishes: list[int] = []
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = {number: signal.signal(number, lambda got, _: wishes.append(got)) for number in numbers}
    try:
        yield wishes
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _prepare(settings: Settings) -> None:
    """Refuse what cannot be served, and have what a service stands on but does not start."""
    check_exposure(settings)
    if settings.workers:
        check_files(settings)
    _prepare_folder(settings.data_dir)
    _raise_file_limit()


def _prepare_folder(folder: Path) -> None:
    """Make the data folder, and prove it writable before anything is started."""
    try:
        for one in (folder, folder / "redis", folder / "results"):
            one.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=one):
                pass
    except OSError as error:
        raise InvalidRequest(
            f"cannot use the folder {folder}: {error.strerror}",
            path="data_dir",
            fix="choose another with --data-dir or ASSAY_DATA_DIR, or let this user write there",
        ) from error


def _start_redis(settings: Settings, stack: ExitStack) -> str:
    if settings.redis_url is not None:
        return settings.redis_url.get_secret_value()
    lock = _lock(settings)
    stack.callback(os.close, lock)
    private = PrivateRedis(settings.data_dir)
    stack.callback(private.stop)
    private.start(lock)
    connection = Connection(private.url)
    try:
        requeued = ChunkQueue(connection).release()  # its workers died with its predecessor
        for worker in Fleet(connection).workers():
            Fleet(connection).retire(worker.name)
    finally:
        connection.close()
    if requeued:
        log.warning("chunks_requeued count=%d reason=restart", requeued)
    return private.url


def _lock(settings: Settings) -> int:
    path = settings.data_dir / "lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    deadline = time.monotonic() + _LOCK_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                os.close(descriptor)
                raise InfraFault(f"another service uses {settings.data_dir}; choose another ASSAY_DATA_DIR") from error
            time.sleep(_LOOK_S)


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise InfraFault(f"cannot listen on {settings.host}:{settings.port}: {error}; choose another port") from error
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _raise_file_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_READY_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def main() -> int:
    """Run a service as ordered by `embedded`; return the exit status."""
    orders = read_orders()
    configure_logging(orders.settings.log_level)
    end_with(orders.parent_pid)
    raise_interrupts()

    def announce(address: str) -> None:
        if orders.ready_fd is not None:
            os.write(orders.ready_fd, address.encode())
            os.close(orders.ready_fd)

    try:
        return serve(orders.settings, assembler=orders.assembler, on_ready=announce)
    except AssayError as error:
        log.error("serve_failed reason=%s", error)
        return 2


if __name__ == "__main__":
    sys.exit(main())
