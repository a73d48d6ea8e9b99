"""The sandbox contract that verifiers see: a slot starts jailed children and reports what happens to them.

A *slot* runs one attempt at a time. It owns two kinds of jail: the candidate's (model-written code, nothing else)
and the oracle's (tests and answers, never the completion's code). A *child* is one process tree in one jail.
A child runs a *program*: a module already imported by the warm interpreter, whose function
`main(payload: bytes, fds: tuple[int, ...]) -> int` is called after the jail is closed; its return value is the exit
code. If the module has a function `warm()`, the warm interpreter calls it once, after importing everything: work that
every child would otherwise repeat belongs there. Payload and descriptors go straight to the child; nothing that
outlives it ever reads them.

A *resident* is a child that serves one attempt after the other, so that they need no fork. Only a program of ours that
holds nothing of an attempt once it has served it may be one; a candidate never is.

Not guaranteed: that a child sees any device, network beyond its own loopback, or files of earlier children.
"""

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from assay.outcomes import Outcome
from assay.sandboxes.wire import MOST_DESCRIPTORS
from assay.schema import Limits, Usage

INTERPRETER_MB = 16
"""Memory that a Python program's interpreter takes by itself."""


class Role(StrEnum):
    """Which jail of the slot a child lives in."""

    CANDIDATE = "candidate"
    ORACLE = "oracle"

    @property
    def descriptors(self) -> int:
        """Return how many descriptors a process of a child may have.

        Of an ordinary user's processes none may pass on a descriptor while more are under way than it may have itself.
        So what a candidate keeps under way, or one in another slot does, must be less than what an oracle may have.
        """
        return 256 if self is Role.CANDIDATE else MOST_DESCRIPTORS


@dataclass(frozen=True)
class Launch:
    """What to run: `program` is a module path with a `main`; `fds` become descriptors 3, 4, … of the child.

    `stdin` is written to the child's standard input and closed; None gives an empty one.
    Standard output and error of a candidate are captured, of others only if `is_captured`: nobody else reads them.
    `flavour` names the warm interpreter (`bare`, `numeric`, `pytest`). `network` gives it a network namespace with a
    loopback of its own; without it no inet socket can be made, which is about 1 ms cheaper.
    `jail` names a jail beside the usual one of that role and flavour, so that two children of a kind can run at once.
    With `becomes`, the program is a module with a `become` in place of a `main`: it is given the payload as a
    descriptor, to be read in pieces, and is to become another program (execve), with which the memory account begins.
    `runtime_mb` is what runs the program takes by itself: so much memory is allowed beside the limit. The default is
    for what a fork of a warm interpreter does not share with it.
    """

    role: Role
    program: str
    payload: bytes
    limits: Limits
    flavour: str = "bare"
    fds: tuple[int, ...] = ()
    stdin: bytes | None = None
    network: bool = True
    jail: str = ""
    is_captured: bool = False
    becomes: bool = False
    runtime_mb: int = INTERPRETER_MB

    @property
    def has_output(self) -> bool:
        """Whether standard output and error are captured."""
        return self.is_captured or self.role is Role.CANDIDATE


@dataclass(frozen=True)
class Exit:
    """How a child ended: exactly one of `code` (0-255) and `signal` is set."""

    code: int | None
    signal: int | None


class Child(Protocol):
    """One running process tree. Everything it started ends with it."""

    @property
    def exit(self) -> Exit | None:
        """How it ended, or None while it runs."""
        ...

    @property
    def cut_by(self) -> Outcome | None:
        """TIMEOUT, MEMORY_EXCEEDED or OUTPUT_EXCEEDED if a limit ended it; VIOLATION if the filter did."""
        ...

    @property
    def stdout(self) -> bytes:
        """Captured standard output, whole up to `limits.output_bytes`."""
        ...

    @property
    def stderr(self) -> bytes:
        """Captured standard error, whole up to `limits.output_bytes`."""
        ...

    @property
    def usage(self) -> Usage:
        """CPU seconds and peak memory so far (final once ended)."""
        ...

    def start_clock(self, *, wall: bool = True, keeps_cpu: bool = False, keeps_output: bool = False) -> None:
        """Begin a test: wall, cpu and output accounts start at zero. With `wall=False` only cpu and output count.

        `keeps_cpu` and `keeps_output` let those accounts go on: what they hold belongs to this test too.
        """
        ...

    def settle(self) -> None:
        """Count all that it has written up to now, and cut it if the running test has overdrawn an account.

        A limit kills a child, which may end its test before it is dead: whoever hears that a test has ended settles,
        and then looks at `cut_by`.
        """
        ...

    def stop_clock(self) -> None:
        """End a test: no wall, cpu or output limit cuts the child until the next `start_clock`."""
        ...

    def starved_s(self) -> float:
        """Seconds since `start_clock` that it was ready to run but waited for a core."""
        ...

    def kill(self) -> None:
        """End the whole tree now. Idempotent."""
        ...


class Resident(Protocol):
    """A child that outlives the attempt it serves, if that attempt releases it."""

    @property
    def child(self) -> Child:
        """The process itself."""
        ...

    @property
    def sock(self) -> socket.socket:
        """A packet socket to it; its own end is descriptor 3. The slot owns it."""
        ...

    def release(self) -> None:
        """The attempt is done with it and left nothing in it: `Slot.clear` lets it live."""
        ...


@dataclass(frozen=True)
class Readable:
    """`sock` has bytes or was closed by its peer."""

    sock: socket.socket


@dataclass(frozen=True)
class Ended:
    """`child` has ended; its output is complete. `child.cut_by` says whether a limit did it."""

    child: Child


Event = Readable | Ended


class Slot(Protocol):
    """A place for one attempt at a time."""

    def start(self, launch: Launch) -> Child:
        """Start a child. Raises SandboxFault if the jail cannot be made. The caller keeps (and closes) its `fds`."""
        ...

    def resident(self, launch: Launch) -> Resident:
        """Return the slot's resident of that role, flavour and program, started if there is none; `fds` are not used.

        Lent for one attempt. Raises SandboxFault if the jail cannot be made.
        """
        ...

    def wait(self, socks: Sequence[socket.socket], timeout_s: float) -> list[Event]:
        """Drain output, enforce limits, and return what happened within `timeout_s` (maybe nothing).

        Returns as soon as one of `socks` is readable or a child has ended. Raises SandboxFault if a jail broke.
        """
        ...

    def clear(self) -> None:
        """Kill whatever still runs, but for residents that were released, and forget the attempt: the next one finds
        nothing of it. Idempotent."""
        ...

    def cancel(self) -> None:
        """Kill what runs, from any thread; the attempt's own calls then raise SandboxFault. Idempotent."""
        ...

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags that every result from this slot carries (`insecure`)."""
        ...

    @property
    def origin(self) -> Mapping[str, str]:
        """What its jails are made from, for the `versions` of results, where that is not this machine's own Python:
        `image` (a digest) and `python`."""
        ...

    @property
    def description(self) -> str:
        """The confinement level, for results: `namespaces`, `docker`, `insecure`, …"""
        ...
