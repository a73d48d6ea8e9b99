"""One jail of a slot: its host process, the control socket to it, and its control group."""

import socket
import time
from dataclasses import dataclass
from typing import Any  # message fields

from assay.errors import InfraFault, Mishap, SandboxFault
from assay.levels import Level
from assay.sandboxes import wire
from assay.sandboxes.cgroup import Controllers, JailGroup, Shortage, kills_around, open_group
from assay.sandboxes.unseen import UnseenTime
from assay.sandboxes.warm import Started, Warm
from assay.sandboxes.wire import Order

_KILLS_KNOWN_S = 0.25  # to ask the kernel takes up to 0.2 ms


@dataclass(frozen=True)
class Heard:
    """A message from the host: `kind` is fault, usage, exit or gone."""

    kind: str
    serial: int
    fields: tuple[Any, ...] = ()


class Jail:
    """Starts children through a host that is forked from `warm` when first needed and replaced when told."""

    def __init__(self, warm: Warm, number: int, controllers: Controllers) -> None:
        self._warm = warm
        self._number = number
        self._controllers = controllers
        self._control: socket.socket | None = None
        self._group: JailGroup | None = None
        self._unseen: UnseenTime | None = None
        self._zygote: Started | None = None
        self._kills_before: int | None = None
        self._kills_known_until = 0.0
        self.launches = 0
        """Children started by the present host."""

    @property
    def control(self) -> socket.socket | None:
        """The socket to poll; None while there is no host."""
        return self._control

    def start(self, order: Order, fds: list[int]) -> None:
        """Start a child. Raises SandboxFault if there is no host to be had."""
        if self.is_stale:
            self.close()
        control = self._control or self._open()
        if self._group is not None:
            self._group.limit(order.memory_mb + order.disk_mb)
        elif time.monotonic() >= self._kills_known_until:
            self._kills_before = kills_around()
            self._kills_known_until = time.monotonic() + _KILLS_KNOWN_S
        if self._unseen is not None:
            self._unseen.begin()
        self.launches += 1
        try:
            wire.send(control, ["start", *order], fds)
        except OSError as error:
            self.give_up()
            raise SandboxFault(f"the jail's host is gone: {error}") from error

    def kill(self, serial: int) -> None:
        """Kill the child with that serial number; its `exit` message follows."""
        if self._control is not None:
            try:
                wire.send(self._control, ["kill", serial])
            except OSError:
                return  # the host is gone, and its children with it; `hear` reports that

    def hear(self) -> Heard:
        """Receive one message; call only when the control socket is readable."""
        if self._control is None:
            return Heard("gone", 0)
        received = wire.receive(self._control)
        if received is None:
            self.give_up()
            return Heard("gone", 0)
        kind, *fields = received[0]
        self._complete(kind, fields)
        serial = int(fields[0]) if fields and isinstance(fields[0], int) else 0
        return Heard(str(kind), serial, tuple(fields[1:]))

    def _complete(self, kind: str, fields: list[Any]) -> None:
        """Add to what the host says of processor time what it could not see."""
        if self._unseen is not None and kind == "usage":
            fields[1] = self._unseen.look(fields[1])
        elif self._unseen is not None and kind == "exit":
            fields[2] = self._unseen.end(fields[2])

    def shortage(self) -> Shortage:
        """Say whether the kernel killed something in this jail for memory since the last call, as far as it tells."""
        return Shortage.NONE if self._group is None else self._group.shortage()

    @property
    def is_stale(self) -> bool:
        """Whether its host runs in a place that is to be left."""
        return self._zygote is not None and self._zygote.is_retired()

    def lost_memory(self, *, is_killed: bool) -> bool:
        """Whether the place it runs in ran out of memory, so that a child which ended badly may have lost it there.

        `is_killed`: it died by a SIGKILL that was not ours. Where jails have no group, the kernel tells no more than
        that it has killed something beside the worker meanwhile, or on the machine.
        """
        if self._zygote is not None and self._zygote.lost_memory():
            return True
        if not is_killed or self._group is not None or self._kills_before is None:
            return False
        before, self._kills_before = self._kills_before, kills_around() or 0  # the next one is not excused by these
        return self._kills_before > before

    def give_up(self) -> None:
        """End the host, which died or did not obey; the place it ran in is not trusted further either."""
        if self._zygote is not None:
            self._zygote.retire()
        self.close()

    def close(self) -> None:
        """End the host and everything below it. Idempotent."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._group is not None:
            self._group.remove()
            self._group = self._unseen = None
        self._zygote = None
        self.launches = 0

    def _open(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs:  # closed before we listen, or a host that dies before it says anything is waited for forever
                pid, self._zygote = self._warm.fork_host(theirs, self._number)
            if self._group is None and self._warm.level is not Level.INSECURE:
                self._group = open_group(self._controllers)
            received = wire.receive(ours)
        except OSError as error:
            ours.close()
            raise _kind(wire.is_shortage(error))(f"cannot start a jail: {error}") from error
        except InfraFault:
            ours.close()
            raise
        if received is None or received[0][0] != "ready":
            ours.close()
            kind = _kind(received is not None and received[0][0] == wire.SHORT)
            raise kind(f"a jail's host did not start: {received[0][1] if received else 'it ended'}")
        if self._group is not None:
            self._group.adopt(pid)
            self._unseen = UnseenTime(self._group, pid)
        self._control = ours
        return ours


def _kind(is_shortage: bool) -> type[SandboxFault]:
    return Mishap if is_shortage else SandboxFault
