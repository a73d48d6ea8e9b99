"""A warm interpreter that is killed while it starts says nothing about the machine: it is started again."""

import os
import signal
import socket
from collections.abc import Iterator, Sequence

import pytest

from assay.errors import IsolationUnavailable, Mishap, SandboxFault
from assay.levels import Level
from assay.sandboxes import backends, jails, wire
from assay.sandboxes.cgroup import Controllers
from assay.sandboxes.conformance import Checked
from assay.sandboxes.jails import Backend, JailPool
from assay.sandboxes.procfs import children_of
from assay.sandboxes.warm import Started, Warm, spawn
from assay.settings import Settings

READY = (["ready"], ["forked", 7])


class Interpreters:
    """Starts interpreters that say what each is told to say, and then hang up; those after the last do as it does."""

    def __init__(self, *said: Sequence[list[object]], killed_by: int | None = None) -> None:
        self._said = list(said)
        self._killed_by = killed_by
        self.started = 0

    def start(self) -> Started:
        """Start the next one."""
        said = self._said[min(self.started, len(self._said) - 1)]
        self.started += 1
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for message in said:
            wire.send(theirs, message)
        theirs.shutdown(socket.SHUT_WR)
        return Started(ours, theirs.close, killed_by=lambda: self._killed_by)

    def warm(self) -> Warm:
        """A handle on them."""
        return Warm((), Level.NAMESPACES, self.start)


@pytest.fixture
def control() -> Iterator[socket.socket]:
    """A socket for a host."""
    one, other = socket.socketpair()
    with one, other:
        yield one


def test_an_interpreter_that_is_killed_while_starting_is_started_again(control: socket.socket) -> None:
    """One kill costs a moment."""
    interpreters = Interpreters((), READY, killed_by=signal.SIGKILL)
    warm = interpreters.warm()

    pid, _ = warm.fork_host(control, 0)
    warm.close()

    assert (pid, interpreters.started) == (7, 2)


@pytest.mark.parametrize(
    ("said", "killed_by", "fault", "starts"),
    [
        ((), signal.SIGKILL, Mishap, 3),
        ((), signal.SIGSEGV, IsolationUnavailable, 3),
        ((), None, IsolationUnavailable, 1),
        ((["broken", "no namespaces"],), signal.SIGKILL, IsolationUnavailable, 1),
        ((["short", "no memory"],), None, Mishap, 1),
        ((["ready"], ["short", "no memory"]), None, Mishap, 1),
        ((["ready"], ["broken", "not permitted"]), None, SandboxFault, 1),
    ],
)
def test_only_what_an_interpreter_does_of_itself_is_a_refusal(
    control: socket.socket, said: Sequence[list[object]], killed_by: int | None, fault: type[Exception], starts: int
) -> None:
    """However often it is killed from outside, or lacks memory: that is no evidence. What it says is."""
    interpreters = Interpreters(said, killed_by=killed_by)

    with pytest.raises(SandboxFault if fault is Mishap else fault) as caught:
        interpreters.warm().fork_host(control, 0)

    assert (caught.type, interpreters.started) == (fault, starts)


def test_a_real_interpreter_tells_what_killed_it() -> None:
    """The kernel says so."""
    before = set(children_of(os.getpid()))
    started = spawn({})
    (pid,) = set(children_of(os.getpid())) - before

    os.kill(pid, signal.SIGKILL)

    with started.control:
        assert wire.receive(started.control) is None
        assert started.killed_by() == signal.SIGKILL
    started.end()


@pytest.mark.parametrize(("killed_by", "tried"), [(signal.SIGKILL, 1), (None, 2)])
def test_no_weaker_level_is_taken_for_a_kill(
    monkeypatch: pytest.MonkeyPatch, killed_by: int | None, tried: int
) -> None:
    """It would stay so for as long as the worker lives. What is not to be had is another matter."""
    interpreters = Interpreters((), killed_by=killed_by)
    levels: list[Level] = []

    def open_backend(_settings: Settings, level: Level) -> Backend:
        levels.append(level)
        return Backend(level, interpreters.start, Controllers(None, None))

    monkeypatch.setattr(backends, "_backend", open_backend)

    with pytest.raises(Mishap if killed_by else IsolationUnavailable):
        backends.open_pool(Settings(slots=1))

    assert len(levels) == tried


@pytest.mark.parametrize(
    ("faults", "raised"),
    [
        ([SandboxFault("it ended")], None),
        ([SandboxFault("it ended")] * 3, IsolationUnavailable),
        ([Mishap("killed")] * 3, Mishap),
        ([IsolationUnavailable("no filter")], IsolationUnavailable),
    ],
)
def test_a_self_check_that_ends_for_no_known_reason_is_repeated(
    monkeypatch: pytest.MonkeyPatch, faults: list[Exception], raised: type[Exception] | None
) -> None:
    """A jail's host may have been killed: only what happens every time is the machine's doing."""
    left = list(faults)

    def examine(*_: object) -> tuple[Checked, ...]:
        if left:
            raise left.pop(0)
        return ()

    monkeypatch.setattr(jails, "examine", examine)
    pool = JailPool(
        Backend(Level.NAMESPACES, Interpreters(()).start, Controllers(None, None)), slots=1, recycle_after=1
    )

    if raised is None:
        pool.check([])
    else:
        with pytest.raises(raised):
            pool.check([])

    assert not left
