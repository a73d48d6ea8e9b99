"""The processes of one attempt: an oracle with a candidate, or both in one, with the channels between them."""

import os
import socket
import time
from dataclasses import dataclass, replace

import msgpack

from assay.errors import SandboxFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Exit, Launch, Role, Slot
from assay.schema import Limits
from assay.verifiers.scoring import Trace, add_usage, end_of
from assay.verifiers.split.plan import Plan, pack_plan
from assay.verifiers.split.report import Answer, Inbox, Report, decode, encode, frame
from assay.verifiers.surroundings import Surroundings

_ORACLE = "assay.verifiers.split.oracle"
_CANDIDATE = "assay.verifiers.split.candidate"
_SHARED = "assay.verifiers.split.shared"
_NONCE_BYTES = 16
_END_S = 1.0  # how long a candidate that closed its link may take to end before it is killed
_KILL_S = 10.0  # how long a killed one may take
_ORACLE_LEAST = {"memory_mb": 512, "cpu_s": 10.0, "processes": 64, "disk_mb": 64, "files": 256}
_SET_UP_S = 20.0  # wall seconds that tests may take before the first of them begins
_KEPT_OUTPUT = 1 << 16  # bytes of output kept of each candidate


@dataclass(frozen=True)
class Casting:
    """What is to be run: `plan` for the oracle, `sources` (a payload) for the candidate."""

    plan: Plan
    sources: bytes
    limits: Limits
    surroundings: Surroundings
    shared: bool

    @property
    def restarts_whole(self) -> bool:
        """Whether a new candidate needs a new oracle too: what a pytest file imported is bound to the old one."""
        return self.plan.style == "pytest"


class Cast:
    """One set of processes. In shared mode reporter and candidate are one child."""

    def __init__(self, slot: Slot, casting: Casting, start: int) -> None:
        self._slot = slot
        self._casting = casting
        self._nonce = os.urandom(_NONCE_BYTES) if casting.shared else b""
        self._past: list[Child] = []
        self._report, report = socket.socketpair()
        self._passing, passing = socket.socketpair()
        self._inbox = Inbox(self._report)
        plan = pack_plan(replace(casting.plan, start=start))
        try:
            with report, passing:
                start_both = self._start_shared if casting.shared else self._start_split
                self._reporter, self._candidate = start_both(plan, report, passing)
        except BaseException:
            self._hang_up()
            raise

    def listen(self, timeout_s: float) -> tuple[list[Report | Answer], bool]:
        """Return the reports that have come, and whether the reporter has ended. Raises Garbled."""
        if not self._inbox.closed and self._reporter.exit is None:
            self._slot.wait((self._report,), timeout_s)
        elif self._reporter.exit is None:
            self._slot.wait((), timeout_s)
        ended = self._reporter.exit is not None
        reports = [decode(body, self._nonce) for body in self._inbox.take()]
        return reports, ended and not reports

    def answer(self, answer: Answer) -> None:
        """Send an answer to the oracle; one that has ended no longer needs it."""
        try:
            self._report.sendall(frame(encode(answer, self._nonce)))
        except OSError:
            return

    def start_load_clock(self) -> None:
        """The candidate's loading is timed from here on."""
        self._reporter.stop_clock()
        self._candidate.start_clock()

    def start_clocks(self) -> None:
        """A test begins. Split, the oracle keeps the wall clock, because it alone knows whom it waits for."""
        self._candidate.start_clock(wall=self._casting.shared)
        if self._reporter is not self._candidate:
            self._reporter.start_clock(wall=False)

    def starved_s(self) -> float:
        """Seconds that the processes were kept from running in the current test."""
        own = 0.0 if self._reporter is self._candidate else self._reporter.starved_s()
        return self._candidate.starved_s() + own

    def candidate_starved_s(self) -> float:
        """Seconds that the candidate was kept from running in the current test."""
        return self._candidate.starved_s()

    def cut_by(self) -> Outcome | None:
        """The limit that ended the candidate, if one did."""
        return self._candidate.cut_by

    def kill_candidate(self) -> None:
        """End the candidate."""
        self._candidate.kill()

    def await_candidate(self) -> tuple[Exit | None, Outcome | None]:
        """Return how the candidate ended; None if it had to be killed although it could have gone on."""
        self._await(self._candidate, _END_S if self._candidate.cut_by is None else _KILL_S)
        exit_ = self._candidate.exit
        if exit_ is None:
            self._candidate.kill()
            self._await(self._candidate, _KILL_S)
        return exit_, self._candidate.cut_by

    def recast(self, answer: Answer) -> None:
        """Start a new candidate and pass its link to the oracle, after `answer`."""
        self._past.append(self._candidate)
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._candidate = self._launch(_CANDIDATE, Role.CANDIDATE, self._casting.sources, (theirs,))
            self._candidate.start_clock()
            self.answer(answer)
            try:
                socket.send_fds(self._passing, [b"x"], [ours.fileno()])
            except OSError:
                return  # the oracle has ended, which its report channel tells

    def end_of_reporter(self) -> tuple[Outcome, str]:
        """Say how the reporter ended."""
        exit_ = self._reporter.exit
        if exit_ is None:
            raise SandboxFault("the tests' process closed its channel and goes on")
        role = Role.CANDIDATE if self._casting.shared else Role.ORACLE
        return end_of(exit_, self._reporter.cut_by, self._limits_of(role))

    def close(self, trace: Trace) -> Trace:
        """End everything and return `trace` with what the candidates left behind. Idempotent."""
        children = (self._candidate, self._reporter)
        for child in children:
            child.kill()
        for child in children:
            self._await(child, _KILL_S)
        self._hang_up()
        for child in (*self._past, self._candidate):
            trace = Trace(
                (trace.stdout + child.stdout)[-_KEPT_OUTPUT:],
                (trace.stderr + child.stderr)[-_KEPT_OUTPUT:],
                None,
                add_usage(trace.usage, child.usage),
                trace.flags,
            )
        self._past.clear()
        return trace

    def _start_split(self, plan: bytes, report: socket.socket, passing: socket.socket) -> tuple[Child, Child]:
        link, candidate_link = socket.socketpair()
        with link, candidate_link:
            reporter = self._launch(_ORACLE, Role.ORACLE, plan, (report, link, passing))
            candidate = self._launch(_CANDIDATE, Role.CANDIDATE, self._casting.sources, (candidate_link,))
        reporter.start_clock()
        candidate.start_clock(wall=False)
        return reporter, candidate

    def _start_shared(self, plan: bytes, report: socket.socket, passing: socket.socket) -> tuple[Child, Child]:
        del passing
        payload = bytes(msgpack.packb([plan, self._casting.sources]))
        child = self._launch(_SHARED, Role.CANDIDATE, payload, (report,))
        self._report.sendall(self._nonce)
        child.start_clock()
        return child, child

    def _launch(self, program: str, role: Role, payload: bytes, socks: tuple[socket.socket, ...]) -> Child:
        limits = self._limits_of(role)
        fds = tuple(sock.fileno() for sock in socks)
        flavour = self._casting.surroundings.flavour
        if flavour == "bare" and self._casting.plan.style == "pytest" and program != _CANDIDATE:
            flavour = "pytest"
        network = self._casting.surroundings.network
        return self._slot.start(Launch(role, program, payload, limits, flavour, fds, network=network))

    def _limits_of(self, role: Role) -> Limits:
        limits = self._casting.limits
        if role is not Role.ORACLE:
            return limits
        least = {name: max(value, getattr(limits, name)) for name, value in _ORACLE_LEAST.items()}
        return limits.model_copy(update={**least, "wall_s": _SET_UP_S})

    def _hang_up(self) -> None:
        self._report.close()
        self._passing.close()

    def _await(self, child: Child, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while child.exit is None and (left_s := deadline - time.monotonic()) > 0:
            self._slot.wait((), left_s)
