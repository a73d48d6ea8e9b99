"""One running container: the connection to its keeper, and the warm interpreters that it starts on demand."""

import logging
import os
import select
import shutil
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from assay.errors import IsolationUnavailable, SandboxFault
from assay.sandboxes import wire
from assay.sandboxes.containers.engine import Handle
from assay.sandboxes.containers.hardening import SOCKET_NAME
from assay.sandboxes.containers.sources import source_digest
from assay.sandboxes.warm import Started

log = logging.getLogger(__name__)

_START_DEADLINE_S = 60.0
_LOOK_EVERY_S = 0.5
_ANSWER_S = 30.0


class Container:
    """A place for warm interpreters. Thread-safe."""

    def __init__(self, container_id: str, keeper: socket.socket, python: str) -> None:
        self.id = container_id
        self.python = python
        """The version of its Python."""
        self._keeper = keeper
        self._lock = threading.Lock()
        self._retired = False
        keeper.settimeout(_ANSWER_S)

    def start_zygote(self, tuning: Mapping[str, str]) -> Started:
        """Start a warm interpreter. Raises SandboxFault if the container is gone."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:
                answer = self._ask(["start", dict(tuning)], [theirs.fileno()])
            if answer[0] != "started":
                raise SandboxFault(f"the container {self.id[:12]} cannot start an interpreter: {answer[1:]}")
        except SandboxFault:
            ours.close()
            self.retire()
            raise

        def killed_by() -> int | None:
            return signal.SIGKILL if self.has_killed_for_memory() else None

        return Started(ours, self.retire, lambda: self.is_retired, self.retire, self.has_killed_for_memory, killed_by)

    @property
    def is_retired(self) -> bool:
        """Whether no attempt may start in here any more."""
        return self._retired or self.has_ended

    @property
    def has_ended(self) -> bool:
        """Whether its keeper is gone, and everything in the container with it."""
        poll = select.poll()
        poll.register(self._keeper, 0)
        return bool(poll.poll(0))

    def retire(self) -> None:
        """Let it end as soon as the last attempt in it has. Idempotent."""
        with self._lock:
            if not self._retired:
                self._retired = True
                try:
                    wire.send(self._keeper, ["retire"])
                except OSError:
                    log.info("container_gone_before_retirement container=%s", self.id[:12])

    def has_killed_for_memory(self) -> bool:
        """Whether the container as a whole ran out of memory: attempts may have lost processes through no fault of
        theirs. It is then retired."""
        try:
            (_, kills) = self._ask(["kills"])
        except SandboxFault:
            return True
        if kills:
            self.retire()
        return bool(kills)

    def close(self) -> None:
        """Hang up, which ends the container. Idempotent."""
        self._keeper.close()

    def _ask(self, question: list[object], fds: list[int] | None = None) -> list[object]:
        with self._lock:
            try:
                wire.send(self._keeper, question, fds or [])
                received = wire.receive(self._keeper)
            except OSError:
                received = None
        if received is None:
            raise SandboxFault(f"the container {self.id[:12]} has ended")
        return received[0]


def start_container(create: Callable[[str], Handle]) -> Container:
    """Create a container, given the folder to mount, start it and wait for its keeper's hello.

    Raises IsolationUnavailable with what it wrote if it ends, stays silent or holds another version of Assay.
    """
    with _listening() as (listener, folder):
        handle = create(folder)
        try:
            handle.start()
            keeper = _accept(listener, handle)
            try:
                return _greet(keeper, handle)
            except BaseException:
                keeper.close()
                raise
        except BaseException:
            handle.remove()
            raise


def _greet(keeper: socket.socket, handle: Handle) -> Container:
    received = wire.receive(keeper)
    if received is None:
        raise IsolationUnavailable(f"the container {handle.id[:12]} ended at once: {handle.last_words()}")
    _, digest, *rest = received[0]
    if digest != source_digest():  # first: what else another version says, and in what order, is not known
        raise IsolationUnavailable(
            "the image holds another version of Assay than this worker; build it anew: script/build-image"
        )
    python, missing = rest
    if missing:
        raise IsolationUnavailable(
            f"the container's kernel lacks what jails need: {', '.join(missing)}; if that is gVisor's, "
            "take a newer runsc, or ASSAY_DOCKER_RUNTIME=runc"
        )
    return Container(handle.id, keeper, str(python))


@contextmanager
def _listening() -> Iterator[tuple[socket.socket, str]]:
    """Listen where only the engine (which runs as root) can look: the outer folder is this user's alone."""
    outer = tempfile.mkdtemp(prefix="assay-container-")
    folder = os.path.join(outer, "socket")
    try:
        os.mkdir(folder, 0o755)
        os.chmod(folder, 0o755)
        path = os.path.join(folder, SOCKET_NAME)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(path)
            Path(path).chmod(0o666)  # the container's user is another one
            listener.listen(1)
            listener.settimeout(_LOOK_EVERY_S)
            yield listener, folder
    finally:
        shutil.rmtree(outer, ignore_errors=True)


def _accept(listener: socket.socket, handle: Handle) -> socket.socket:
    deadline = time.monotonic() + _START_DEADLINE_S
    while time.monotonic() < deadline:
        try:
            keeper, _ = listener.accept()
        except TimeoutError:
            if not handle.is_running():
                raise IsolationUnavailable(
                    f"the container {handle.id[:12]} ended before it answered: {handle.last_words()}"
                ) from None
            continue
        keeper.settimeout(_ANSWER_S)
        return keeper
    raise IsolationUnavailable(
        f"the container {handle.id[:12]} did not connect to the worker's socket within {_START_DEADLINE_S:g} s; "
        "the engine must run on this machine, not in a virtual one or elsewhere"
    )
