"""A slot: a jail for every kind of child, one poll loop."""

import os
import select
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from assay.errors import MemoryRanOut, SandboxFault
from assay.levels import Level
from assay.sandboxes.capture import Capture
from assay.sandboxes.cgroup import Shortage
from assay.sandboxes.interface import Ended, Event, Launch, Readable, Role
from assay.sandboxes.jail import Heard, Jail
from assay.sandboxes.payload import write_payload
from assay.sandboxes.pipes import open_pipe
from assay.sandboxes.procfs import Sample
from assay.sandboxes.running import LocalResident, RunningChild
from assay.sandboxes.wire import Order

_END_DEADLINE_S = 10.0
_LONGEST_POLL_S = 0.5


@dataclass
class _Cell:
    """A jail and what runs in it."""

    jail: Jail
    child: RunningChild | None = None
    resident: LocalResident | None = None

    @property
    def rests(self) -> bool:
        """Whether what runs in it serves no attempt at the moment."""
        return self.resident is not None and self.resident.is_released


class JailSlot:
    """Implements `interface.Slot`. Used by one thread; only `cancel` is for others."""

    def __init__(
        self, make_jail: Callable[[Role, str], Jail], level: Level, *, recycle_after: int, origin: Mapping[str, str]
    ) -> None:
        self._make_jail = make_jail
        self._level = level
        self._recycle_after = recycle_after
        self._origin = origin
        self._cells: dict[tuple[Role, str, str], _Cell] = {}
        self._serial = 0
        self._cancelled = False

    @property
    def description(self) -> str:
        """The confinement level, for results."""
        return str(self._level)

    @property
    def origin(self) -> Mapping[str, str]:
        """What its jails are made from, for the versions in results."""
        return self._origin

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags that every result from this slot carries."""
        return ("insecure",) if self._level is Level.INSECURE else ()

    def start(self, launch: Launch) -> RunningChild:
        """Start a child. Raises SandboxFault if the jail cannot be made or is taken."""
        self._check_cancelled()
        cell = self._cell(launch.role, launch.flavour, f"jail {launch.jail}" if launch.jail else "")
        if cell.child is not None and cell.child.exit is None:
            raise SandboxFault(f"the {launch.role} jail already runs a child")
        return self._start(cell, launch)

    def resident(self, launch: Launch) -> LocalResident:
        """Lend the resident of that program. Raises SandboxFault if its jail cannot be made."""
        self._check_cancelled()
        cell = self._cell(launch.role, launch.flavour, launch.program)
        if cell.resident is not None and (cell.resident.has_ended or cell.jail.is_stale):
            self._end(cell)
        if cell.resident is None:
            self._recycle(cell)
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            with theirs:
                child = self._start(cell, replace(launch, fds=(theirs.fileno(),)))
            cell.resident = LocalResident(child, ours)
        cell.resident.is_released = False
        return cell.resident

    def _start(self, cell: _Cell, launch: Launch) -> RunningChild:
        self._serial += 1
        theirs: list[int] = [write_payload(launch.payload)]
        try:
            child = _open_streams(self._serial, launch, theirs)
            cell.child = child
            cell.jail.start(_order(self._serial, launch), [*theirs, *launch.fds])
        finally:
            for fd in theirs:
                os.close(fd)
        child.kill_now = lambda: cell.jail.kill(child.serial)
        return child

    def wait(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Drain output, enforce limits, and return what happened within `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        while True:
            self._check_cancelled()
            events = self._step(socks, max(0.0, min(deadline - time.monotonic(), self._next_check_s())))
            if events or time.monotonic() >= deadline:
                return events

    def clear(self) -> None:
        """Kill whatever serves the attempt and forget it."""
        for cell in self._cells.values():
            if cell.rests and not self._cancelled and not cell.jail.is_stale:  # `cancel` kills those at rest too
                continue
            self._end(cell)
            self._recycle(cell)
        self._cancelled = False

    def cancel(self) -> None:
        """Kill what runs, from any thread."""
        self._cancelled = True
        for cell in list(self._cells.values()):
            child = cell.child
            if child is not None:
                child.kill()

    def close(self) -> None:
        """End the jails. Idempotent."""
        self.clear()
        for cell in self._cells.values():
            _hang_up(cell)
            cell.jail.close()

    def _cell(self, role: Role, flavour: str, name: str = "") -> _Cell:
        """Return the usual jail of one-off children, one with a name, or that of a resident program."""
        key = (role, flavour, name)
        if key not in self._cells:
            self._cells[key] = _Cell(self._make_jail(role, flavour))
        return self._cells[key]

    def _check_cancelled(self) -> None:
        if self._cancelled:
            raise SandboxFault("cancelled")

    def _next_check_s(self) -> float:
        left = [cell.child.seconds_left() for cell in self._cells.values() if cell.child is not None]
        return min((max(0.0, seconds) for seconds in left if seconds is not None), default=_LONGEST_POLL_S)

    def _step(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Poll once and handle everything that is ready."""
        poll = select.poll()
        actions: dict[int, Callable[[], Event | None]] = {}
        for sock in socks:
            actions[sock.fileno()] = partial(Readable, sock)
            poll.register(sock, select.POLLIN)
        for cell in self._cells.values():
            self._watch(cell, poll, actions)
        ready = poll.poll(min(timeout_s, _LONGEST_POLL_S) * 1000 + 0.999)
        events = [event for fd, _ in ready if (event := actions[fd]()) is not None]
        for cell in self._cells.values():
            if cell.child is not None:
                cell.child.enforce()
        return events

    def _watch(self, cell: _Cell, poll: "select.poll", actions: dict[int, Callable[[], Event | None]]) -> None:
        child = cell.child
        if child is None or child.exit is not None:
            return
        if cell.jail.control is not None:
            fd = cell.jail.control.fileno()
            actions[fd] = lambda: self._hear(cell)
            poll.register(fd, select.POLLIN)
        for stream in child.streams or ():
            if stream.fd is not None:
                actions[stream.fd] = stream.drain
                poll.register(stream.fd, select.POLLIN)
        if child.stdin_fd is not None:
            actions[child.stdin_fd] = child.feed_stdin
            poll.register(child.stdin_fd, select.POLLOUT)

    def _hear(self, cell: _Cell) -> Event | None:
        if not cell.rests:
            return _take_in(cell, cell.jail.hear())
        try:
            _take_in(cell, cell.jail.hear())
        except SandboxFault:
            _hang_up(cell)  # no attempt has lost anything by it
        return None

    def _recycle(self, cell: _Cell) -> None:
        """Give an empty jail that has served for long a fresh host next time."""
        if cell.jail.launches >= self._recycle_after or cell.jail.is_stale:
            cell.jail.close()

    def _end(self, cell: _Cell) -> None:
        """Kill what runs there and wait until it is gone; a jail that does not obey is replaced."""
        if cell.resident is not None:
            cell.resident.is_released = False  # what its host says is about us again
        child = cell.child
        if child is not None:
            deadline = time.monotonic() + _END_DEADLINE_S
            child.kill()
            try:
                while child.exit is None and cell.jail.control is not None and time.monotonic() < deadline:
                    self._step((), 0.2)  # without a host there is no child either
            except SandboxFault:
                cell.jail.close()
            if child.exit is None:
                cell.jail.give_up()
            child.close()
            cell.child = None
        _hang_up(cell)


def _hang_up(cell: _Cell) -> None:
    """Forget the resident: another one has to be started."""
    if cell.resident is not None:
        cell.resident.sock.close()
        cell.resident.child.close()
        cell.resident = cell.child = None


def _take_in(cell: _Cell, heard: Heard) -> Event | None:
    """Apply one message of the host to the child it is about."""
    child = cell.child
    if heard.kind == "gone":
        raise SandboxFault("a jail's host ended unexpectedly")
    if child is None or heard.serial != child.serial:
        return None  # about an earlier child
    if heard.kind == "fault":
        child.finish(255, over_memory=False)
        raise SandboxFault(f"a jail could not be closed around a child: {heard.fields[0]}")
    if heard.kind == "usage":
        child.observe(Sample(*heard.fields))
    if heard.kind == "exit":
        code, cpu_s, peak_mb, over_memory = heard.fields
        child.account(cpu_s, peak_mb)
        child.drain_all()
        shortage = cell.jail.shortage()
        child.finish(code, over_memory=over_memory or shortage is Shortage.OWN)
        if shortage is Shortage.AROUND and not over_memory:
            raise MemoryRanOut("the machine ran out of memory, and the kernel ended a process of the attempt for it")
        if code != 0 and child.cut_by is None and cell.jail.lost_memory(is_killed=child.was_killed):
            raise MemoryRanOut("the machine ran out of memory: the attempt may have lost a process by it")
        return Ended(child)
    return None


def _order(serial: int, launch: Launch) -> Order:
    limits = launch.limits
    return Order(
        serial=serial,
        program=launch.program,
        network=launch.network,
        memory_mb=limits.memory_mb + launch.runtime_mb,
        processes=limits.processes,
        disk_mb=limits.disk_mb,
        files=limits.files,
        descriptors=launch.role.descriptors,
        output=launch.has_output,
        stdin=launch.stdin is not None,
        becomes=launch.becomes,
    )


def _open_streams(serial: int, launch: Launch, theirs: list[int]) -> RunningChild:
    """Make the pipes of a child; the ends it gets are appended to `theirs` in the order the host expects."""
    stdin_fd: int | None = None
    streams: tuple[Capture, Capture] | None = None
    if launch.stdin is not None:
        read_fd, stdin_fd = open_pipe()
        theirs.append(read_fd)
        os.set_blocking(stdin_fd, False)
    if launch.has_output:
        cap = launch.limits.output_bytes
        out_read, out_write = open_pipe()
        err_read, err_write = open_pipe()
        theirs += [out_write, err_write]
        streams = (Capture(out_read, cap), Capture(err_read, cap))
    child = RunningChild(serial, launch.limits, streams, stdin_fd)
    child.unwritten = memoryview(launch.stdin or b"")
    if launch.stdin == b"":
        child.close_stdin()
    return child
