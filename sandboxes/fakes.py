"""A slot without a sandbox, for tests of everything above it: children end at once with the exit they are told."""

import socket
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from assay.errors import SandboxFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Ended, Event, Exit, Launch, Resident
from assay.schema import Usage


class FakeChild:
    """A child that has already ended."""

    def __init__(self, exit_: Exit, stdout: bytes = b"", stderr: bytes = b"", cut_by: Outcome | None = None) -> None:
        self.exit = exit_
        self.stdout = stdout
        self.stderr = stderr
        self.cut_by = cut_by
        self.usage = Usage()

    def start_clock(self, *, wall: bool = True, keeps_cpu: bool = False, keeps_output: bool = False) -> None:
        """Nothing runs."""

    def settle(self) -> None:
        """All is known."""

    def stop_clock(self) -> None:
        """Nothing runs."""

    def starved_s(self) -> float:
        """Never starved."""
        return 0.0

    def kill(self) -> None:
        """Already gone."""


class FakeSlot:
    """Implements `interface.Slot`; `children` are handed out in order."""

    description = "fake"
    flags: tuple[str, ...] = ()
    origin: Mapping[str, str] = MappingProxyType({})

    def __init__(self, children: Sequence[FakeChild] = ()) -> None:
        self.children = list(children)
        self.launches: list[Launch] = []
        self._ended: list[Event] = []

    def start(self, launch: Launch) -> FakeChild:
        """Hand out the next child."""
        self.launches.append(launch)
        child = self.children.pop(0)
        self._ended.append(Ended(child))
        return child

    def resident(self, launch: Launch) -> Resident:
        """There is none to be had."""
        raise SandboxFault(f"no resident for {launch.program}")

    def wait(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Report the ends of children handed out since the last call."""
        del socks, timeout_s
        events, self._ended = self._ended, []
        return events

    def clear(self) -> None:
        """Forget the attempt."""
        self._ended = []

    def cancel(self) -> None:
        """Nothing runs."""
