"""The processes of one attempt: an oracle with a candidate, or both in one, with the channels between them."""

import os
import select
import socket
import time
from contextlib import suppress
from dataclasses import replace

import msgpack

from assay.errors import SandboxFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Exit, Resident, Role, Slot
from assay.sandboxes.payload import write_payload
from assay.verifiers.killed import Killed, was_killed
from assay.verifiers.scoring import Trace, add_usage, end_of
from assay.verifiers.split.casting import CANDIDATE, SHARED, Casting
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.plan import pack_plan
from assay.verifiers.split.report import Answer, Garbled, Inbox, Report, decode, encode, frame
from assay.verifiers.split.resident import FREE, TAKE

_NONCE_BYTES = 16
_END_S = 1.0  # how long a candidate that closed its link may take to end before it is killed
_KILL_S = 10.0  # how long a killed one may take
_FREE_MS = 50  # how long a resident oracle may take to say that it is free, once the last test has ended
_KEPT_OUTPUT = 1 << 16  # bytes of output kept of each candidate


class Cast:
    """One set of processes. In shared mode reporter and candidate are one child."""

    def __init__(self, slot: Slot, casting: Casting, start: int) -> None:
        self._slot = slot
        self._casting = casting
        self._nonce = os.urandom(_NONCE_BYTES) if casting.shared else b""
        self._past: list[Child] = []
        self._candidate: Child
        self._reporter: Child
        self._resident: Resident | None = None
        self._place = casting.place
        self._spare: list[socket.socket] = []  # what an oracle of its own is given if the resident cannot serve
        self._report, report = socket.socketpair()
        self._passing, passing = socket.socketpair()
        self._inbox = Inbox(self._report)
        self._garbled: Garbled | None = None  # what came after it is nobody's word
        self._plan = pack_plan(replace(casting.plan, start=start))
        try:
            if casting.shared:
                self._start_shared(report, passing)
            else:
                self._start_split(report, passing)
        except BaseException:
            self._hang_up()
            raise

    def listen(self, timeout_s: float) -> tuple[list[Report | Answer], bool]:
        """Return the reports that have come, and whether the reporter has ended.

        Raises Garbled, once what came before has been returned: only what a reporter said itself tells the stage.
        """
        if not self._inbox.closed and self._reporter.exit is None:
            self._slot.wait((self._report,), timeout_s)
        elif self._reporter.exit is None:
            self._slot.wait((), timeout_s)
        ended = self._reporter.exit is not None
        reports: list[Report | Answer] = []
        try:
            if self._garbled is None:
                reports.extend(decode(body, self._nonce) for body in self._inbox.take())
        except Garbled as error:
            self._garbled = error
        if self._garbled is not None and not reports:
            raise self._garbled
        return reports, ended and not reports

    def answer(self, answer: Answer) -> None:
        """Send an answer to the oracle; one that has ended no longer needs it."""
        try:
            self._report.sendall(frame(encode(answer, self._nonce)))
        except OSError:
            return

    def start_load_clock(self) -> None:
        """The candidate's loading is timed from here on; what it has used before belongs to that too."""
        self._reporter.stop_clock()
        self._candidate.start_clock(keeps_cpu=True, keeps_output=True)

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

    def settle(self) -> Outcome | None:
        """Return the limit that the candidate has passed, if it has, by what it has used and written up to now."""
        self._candidate.settle()
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
            self._candidate = self._launch(CANDIDATE, Role.CANDIDATE, self._casting.sources, (theirs.fileno(),))
            self._candidate.start_clock()
            self.answer(answer)
            try:
                socket.send_fds(self._passing, [b"x"], [ours.fileno()])
            except OSError:
                return  # the oracle has ended, which its report channel tells

    def end_of_reporter(self) -> tuple[Outcome, str]:
        """Say how the reporter ended. Raises SandboxFault for an oracle that no limit of ours has ended."""
        exit_ = self._reporter.exit
        if exit_ is None:
            raise SandboxFault("the tests' process closed its channel and goes on")
        if was_killed(self._reporter) and not self._casting.shared:
            raise Killed(f"the process of {self._casting.judged_by} was killed from outside")
        role = Role.CANDIDATE if self._casting.shared else Role.ORACLE
        return end_of(exit_, self._reporter.cut_by, self._casting.limits_of(role))

    @property
    def place(self) -> Placement:
        """Where the tests run."""
        return self._place

    def set_apart(self) -> None:
        """Give the tests a process of their own: the resident oracle may not run them, or has ended before it did."""
        self._dismiss()
        self._start_own()

    def confirm(self) -> None:
        """The tests are being run: the resident oracle needs no replacement any more."""
        for sock in self._spare:
            sock.close()
        self._spare.clear()

    def finish(self) -> None:
        """The oracle has nothing more to do: keep a resident that says that it is free."""
        if self._resident is not None:
            self._dismiss()
            self._reporter = self._candidate

    def _dismiss(self) -> None:
        assert self._resident is not None
        if _is_free(self._resident.sock):
            self._resident.release()
        else:
            self._resident.child.kill()
        self._resident = None

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

    def _start_split(self, report: socket.socket, passing: socket.socket) -> None:
        link, candidate_link = socket.socketpair()
        self._spare = [report, link, passing]
        with candidate_link:
            if self._casting.place is Placement.RESIDENT and self._casting.suits_resident:
                self._ask_resident()
            else:
                self._start_own()
            self._candidate = self._launch(CANDIDATE, Role.CANDIDATE, self._casting.sources, (candidate_link.fileno(),))
        self._candidate.start_clock(wall=False)

    def _ask_resident(self) -> None:
        """Hand the tests to the slot's resident oracle; one that has just ended is replaced once."""
        launch = self._casting.resident()
        plan_fd = write_payload(self._plan)
        try:
            for _ in range(2):
                resident = self._slot.resident(launch)
                try:
                    socket.send_fds(resident.sock, [TAKE], [plan_fd, *(sock.fileno() for sock in self._spare)])
                except OSError:
                    resident.child.kill()
                    continue
                self._resident, self._reporter = resident, resident.child
                self._reporter.start_clock()
                return
        finally:
            os.close(plan_fd)
        self._start_own()

    def _start_own(self) -> None:
        self._place = Placement.APART
        fds = (*(sock.fileno() for sock in self._spare), *self._casting.oracle_fds)
        self._reporter = self._launch(self._casting.oracle, Role.ORACLE, self._plan, fds)
        self._reporter.start_clock()
        self.confirm()

    def _start_shared(self, report: socket.socket, passing: socket.socket) -> None:
        payload = bytes(msgpack.packb([self._plan, self._casting.sources]))
        with report, passing:
            self._reporter = self._candidate = self._launch(SHARED, Role.CANDIDATE, payload, (report.fileno(),))
        with suppress(OSError):  # it has ended already, which the slot tells
            self._report.sendall(self._nonce)
        self._reporter.start_clock()

    def _launch(self, program: str, role: Role, payload: bytes, fds: tuple[int, ...]) -> Child:
        return self._slot.start(self._casting.launch(program, role, payload, fds))

    def _hang_up(self) -> None:
        self.confirm()
        self._report.close()
        self._passing.close()

    def _await(self, child: Child, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        while child.exit is None and (left_s := deadline - time.monotonic()) > 0:
            self._slot.wait((), left_s)


def _is_free(sock: socket.socket) -> bool:
    waiting = select.poll()
    waiting.register(sock, select.POLLIN)
    try:
        return bool(waiting.poll(_FREE_MS)) and sock.recv(len(FREE)) == FREE
    except OSError:
        return False
