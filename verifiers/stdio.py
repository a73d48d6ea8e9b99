"""Running a program on standard input and output: one fresh process a case, compared here, never in its process."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from assay.errors import InfraFault, SandboxFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Launch, Role, Slot
from assay.schema import Limits, Usage, Verdict
from assay.verifiers.comparison import Comparison
from assay.verifiers.killed import was_killed
from assay.verifiers.processes import POLL_S, check_timed, read_left, started
from assay.verifiers.scoring import Mark, Policy, Trace, add_usage, conclude, end_of, passed, refuse
from assay.verifiers.spending import Budget
from assay.verifiers.stdio_program import NOT_WRITTEN, STARTED
from assay.verifiers.surroundings import Surroundings

PROGRAM = "assay.verifiers.stdio_program"
MOST_REPORTED = 65_536
"""Bytes of a process's report that are read."""
WORD_BYTES = 8192
"""Bytes of a process's word that are taken at once."""


@dataclass(frozen=True)
class Case:
    """What a program is given and what it should write; `expected` None accepts any output."""

    stdin: str
    expected: str | None


@dataclass(frozen=True)
class Run:
    """One finished run: `refused` holds (outcome, message) when the program never started.

    `report` is what the process wrote to its status socket after it had started; the program may have written it.
    """

    outcome: Outcome
    message: str
    stdout: bytes
    stderr: bytes
    exit_code: int | None
    usage: Usage
    refused: tuple[Outcome, str] | None = None
    report: bytes = b""
    is_killed: bool = False
    """Whether a SIGKILL that is not ours ended it. A candidate can do that to itself; trusted code has no reason to."""


@dataclass(frozen=True)
class Judged:
    """The marks of all cases, or why no case could run, with what the runs left behind."""

    marks: tuple[Mark, ...]
    refused: tuple[Outcome, str] | None
    trace: Trace
    outputs: tuple[bytes, ...] = ()
    used_s: float = 0.0
    """Seconds of the attempt's wall time that they have used."""

    def verdict(self, policy: Policy) -> Verdict:
        """Return what they come to; nothing where no case could run."""
        if self.refused is not None:
            return refuse(*self.refused, self.marks, self.trace)
        return conclude(self.marks, policy, self.trace)


Receive = Callable[[socket.socket], bytes]
"""Takes what is there of a process's word from its status socket, without waiting."""
Runner = Callable[[bytes, Budget], Run]
"""Runs a program on what it reads, within what is left of the attempt's time."""
Player = Callable[[Case, Budget], tuple[Run, Mark]]
"""Plays a case within what is left of the attempt's time; the mark counts where the program was not refused."""


def python_launch(payload: bytes, limits: Limits, around: Surroundings) -> Launch:
    """Return what runs a Python program in a fork of a warm interpreter; `payload` is of `pack_sources`."""
    return Launch(Role.CANDIDATE, PROGRAM, payload, limits, around.of_programs, network=around.network)


def python_runner(slot: Slot, payload: bytes, limits: Limits, around: Surroundings) -> Runner:
    """Return what runs that Python program on an input."""
    launch = python_launch(payload, limits, around)
    return lambda stdin, budget: run_case(slot, replace(launch, stdin=stdin), budget)


def run_cases(run: Runner, cases: Sequence[Case], limits: Limits, comparison: Comparison) -> Judged:
    """Run every case and compare. Raises Inconclusive if the machine was too busy, SandboxFault if a jail broke."""

    def play(case: Case, budget: Budget) -> tuple[Run, Mark]:
        ran = run(case.stdin.encode("utf-8", "surrogatepass"), budget)
        return ran, mark_run(ran, case, comparison)

    return play_cases(play, cases, limits)


def play_cases(play: Player, cases: Sequence[Case], limits: Limits) -> Judged:
    """Play every case for which the attempt has time. Raises what `play` raises."""
    budget = Budget(limits)
    runs: list[Run] = []
    marks: list[Mark] = []
    for case in cases:
        refusal = budget.refusal()
        if refusal is not None:
            marks.append(refusal)
            continue
        ran, mark = play(case, budget)
        runs.append(ran)
        if ran.refused is not None:
            same = tuple(Mark(ran.refused[0], ran.refused[1]) for _ in cases)
            return Judged(same, ran.refused, _trace(runs))
        budget.spend(mark)
        marks.append(mark)
    return Judged(tuple(marks), None, _trace(runs), tuple(ran.stdout for ran in runs), budget.used_s)


def mark_run(run: Run, case: Case, comparison: Comparison) -> Mark:
    """Return the mark of one finished run."""
    if run.outcome is not Outcome.PASSED:
        return Mark(run.outcome, run.message)
    if case.expected is None or comparison.accepts(case.expected, run.stdout):
        return passed()
    difference = comparison.describe_difference(case.expected, run.stdout)
    return Mark(Outcome.FAILED, f"{difference} ({comparison.mode} comparison)")


def receive_word(status: socket.socket) -> bytes:
    """Take what is there of a process's word. Raises BlockingIOError where nothing is."""
    return status.recv(WORD_BYTES, socket.MSG_DONTWAIT)


def run_case(slot: Slot, launch: Launch, budget: Budget, receive: Receive = receive_word) -> Run:
    """Run a program to its end.

    `launch` is complete but for its descriptors: the only one is a status socket, on which the process says `STARTED`
    before it runs the program, or why it does not. Raises Inconclusive if the machine was too busy, SandboxFault if a
    jail broke, or the process was killed from outside before it ran the program, InfraFault if the machine had no room
    for the program's files.
    """
    with started(slot, launch) as (child, sock):
        said = await_word(slot, child, sock, receive)
        runs = said.startswith(STARTED)
        if runs and child.exit is None:
            child.start_clock(keeps_output=True)  # the other was for compiling, which prints nothing
        budget.start()
        over = _await_end(slot, child, budget)
        budget.pause(child.starved_s())
        check_timed(child.cut_by, "the program")
        run = describe_end(child, launch.limits)
        if not runs:
            return refused(replace(run, is_killed=run.is_killed and not over), said)
        report = said.removeprefix(STARTED) + read_left(sock, MOST_REPORTED)
        run = replace(run, report=report[:MOST_REPORTED])
    return replace(run, outcome=over.outcome, message=over.message, is_killed=False) if over else run


def await_word(slot: Slot, child: Child, status: socket.socket, receive: Receive = receive_word) -> bytes:
    """Return what the program said before it ran, or died: that it starts, or why it does not."""
    said = b""
    while not said.startswith(STARTED):
        ended = child.exit is not None
        if not ended:
            slot.wait((status,), POLL_S)
        try:
            part = receive(status)
        except BlockingIOError:
            if ended:
                break
            continue
        except ConnectionError:
            break
        if not part:
            break
        said += part
    return said


def _await_end(slot: Slot, child: Child, budget: Budget) -> Mark | None:
    """Wait for the child's end; kill it, and return why, when the attempt's time is used up."""
    cut: Mark | None = None
    while child.exit is None:
        slot.wait((), POLL_S if cut else budget.left_s(child.starved_s()))
        if cut is None and child.exit is None and budget.is_over(child.starved_s()):
            cut = budget.over()
            child.kill()
    return cut


def refused(run: Run, said: bytes) -> Run:
    """Return the run of what ended before it ran its program, with the reason; `said` is its word.

    Raises SandboxFault if it was killed from outside, InfraFault if the machine had no room for its files.
    """
    if run.is_killed:
        raise SandboxFault("what starts the program was killed from outside")
    outcome, message = _refusal(said) or (run.outcome, run.message)
    if outcome is Outcome.INFRA_ERROR and message.startswith(NOT_WRITTEN):
        raise InfraFault(message)
    return replace(run, refused=(outcome, message))


def _refusal(said: bytes) -> tuple[Outcome, str] | None:
    word, _, message = said.decode("utf-8", "replace").partition(" ")
    return (Outcome(word), message) if word in set(Outcome) else None


def describe_end(child: Child, limits: Limits) -> Run:
    """Say how a child that has ended did, and what it left."""
    exit_ = child.exit
    assert exit_ is not None
    outcome, message = Outcome.PASSED, ""
    if exit_.code != 0 or child.cut_by is not None:
        outcome, message = end_of(exit_, child.cut_by, limits)
    stderr = child.stderr
    last = stderr.rstrip().rsplit(b"\n", 1)[-1]
    if outcome is Outcome.RUNTIME_ERROR and exit_.code is not None and last:
        message = last[:500].decode("utf-8", "replace")
        if last.startswith(b"MemoryError"):
            outcome = Outcome.MEMORY_EXCEEDED
    return Run(outcome, message, child.stdout, stderr, exit_.code, child.usage, is_killed=was_killed(child))


def _trace(runs: Sequence[Run]) -> Trace:
    usage = Usage()
    for run in runs:
        usage = add_usage(usage, run.usage)
    shown = next((run for run in runs if run.outcome is not Outcome.PASSED), runs[-1] if runs else None)
    if shown is None:
        return Trace()
    return Trace(shown.stdout, shown.stderr, shown.exit_code, usage)
