"""Programs that talk with an interactor: two jails, two pipes, and who ended it.

The interactor is the task's: it runs in the oracle's jail, holds the answer, and decides by how it ends. What the
program says to it goes through a pipe and is kept by nobody.
"""

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from assay.errors import Inconclusive, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Launch, Role, Slot
from assay.sandboxes.pipes import open_pipe
from assay.sandboxes.running import STARVED_FACTOR
from assay.schema import Limits
from assay.verifiers.killed import Killed, settle
from assay.verifiers.languages.building import Start, launch_of
from assay.verifiers.languages.checkers import TRUSTED_LIMITS, Examiner, lay_beside
from assay.verifiers.languages.choosing import Ready
from assay.verifiers.languages.ends import read_end
from assay.verifiers.languages.table import LANGUAGES
from assay.verifiers.languages.task import ANSWER, INPUT, OUTPUT, as_bytes
from assay.verifiers.processes import POLL_S, check_timed, started
from assay.verifiers.scoring import Mark
from assay.verifiers.spending import Budget
from assay.verifiers.stdio import Case, Judged, Run, await_word, describe_end, play_cases, refused
from assay.verifiers.stdio_program import STARTED

_LATE_S = 0.01
_LAST_WORDS_S = 0.05
_LAST_WORDS_BYTES = 65_536
"""What an interactor may still write to a program that has ended, before that is the end of it (SIGPIPE)."""


def interact(slot: Slot, interactor: Examiner, ready: Ready, cases: Sequence[Case], limits: Limits) -> Judged:
    """Play all cases; `expected` is the answer that the interactor is given.

    A program passes that ends well and that the interactor accepts. Where both wait for each other it is a `timeout`.
    Raises TaskFault if the interactor does not compile or says that the task is broken, InfraFault if it cannot be laid
    out here, Inconclusive if the machine was too busy, Killed if the kernel may have killed the interactor for want of
    memory.
    """
    if ready.launch is None:
        return play_cases(lambda _, budget: (ready.run(b"", budget), Mark(Outcome.FAILED)), cases, limits)
    launch = replace(ready.launch, stdin=None)
    built = interactor.build(slot)

    def play(case: Case, budget: Budget) -> tuple[Run, Mark]:
        laid = lay_beside(built, as_bytes({INPUT: case.stdin, ANSWER: case.expected or ""}))
        judge = launch_of(laid, Start(b"", (INPUT, OUTPUT, ANSWER), Role.ORACLE), TRUSTED_LIMITS)
        talk = partial(_talk, _Sides(slot, launch, judge, interactor), budget)
        run, mark = settle(talk, partial(talk, outside=False))
        run = ready.read(run)
        return run, mark if run.outcome is Outcome.PASSED else Mark(run.outcome, run.message)

    return play_cases(play, cases, limits)


@dataclass(frozen=True)
class _Sides:
    """What starts the two, and how the interactor's end is read."""

    slot: Slot
    program: Launch
    interactor: Launch
    examiner: Examiner


def _talk(sides: _Sides, budget: Budget, *, outside: bool = True) -> tuple[Run, Mark]:
    """Play one case. Raises Killed if the interactor is killed, and that may have come from outside."""
    slot, before_s = sides.slot, budget.used_s
    with ExitStack() as stack:
        pipes = _Pipes(stack)
        child, sock = stack.enter_context(started(slot, replace(sides.program, fds=pipes.of_program)))
        pipes.leave_program()
        said = await_word(slot, child, sock)
        if not said.startswith(STARTED):
            _await_end(slot, child)
            check_timed(child.cut_by, "the program")
            return refused(describe_end(child, sides.program.limits), said), Mark(Outcome.FAILED)
        judge, sock = stack.enter_context(started(slot, replace(sides.interactor, fds=pipes.of_interactor)))
        talk = _Talk(sides, child, judge, budget)
        said = await_word(slot, judge, sock)
        if not said.startswith(STARTED):
            talk.end()
            language = LANGUAGES[sides.examiner.program.language]
            ran = read_end(refused(describe_end(judge, sides.interactor.limits), said), language)
            raise TaskFault(f"the interactor cannot be run: {ran.refused[1] if ran.refused else ran.message}")
        run = talk.follow(pipes)
    if run.outcome is not Outcome.PASSED:
        return run, Mark(run.outcome, run.message)
    ran = describe_end(judge, sides.interactor.limits)
    if outside and ran.is_killed:
        budget.take_back(before_s)
        raise Killed("the interactor's process was killed from outside")
    return run, sides.examiner.mark_of(sides.examiner.share_of_marks(ran), ran)


class _Pipes:
    """Two pipes. We hold the interactor's ends too, so that its end does not reach the program before it reaches us.

    And the one that the program reads from: it may end with its last answer, and the interactor still comment on that.
    """

    def __init__(self, stack: ExitStack) -> None:
        from_program, program_out = open_pipe()
        program_in, to_program = open_pipe()
        self.of_program = program_in, program_out
        """What it reads and writes."""
        self.of_interactor = from_program, to_program
        """What it reads and writes."""
        self._open = {*self.of_program, *self.of_interactor}
        self._swallowed = 0
        stack.callback(self._close, *self.of_program, *self.of_interactor)

    def leave_program(self) -> None:
        """Close our copy of the end that it writes to: the interactor is to learn of its end."""
        self._close(self.of_program[1])

    def swallow(self) -> None:
        """Take what the interactor writes to a program that has ended; what is too much finds nobody."""
        fd = self.of_program[0]
        if fd not in self._open:
            return
        os.set_blocking(fd, False)
        try:
            self._swallowed += len(os.read(fd, _LAST_WORDS_BYTES))
        except BlockingIOError:
            return
        if self._swallowed >= _LAST_WORDS_BYTES:
            self._close(fd)

    def hang_up(self) -> None:
        """Tell the program that nobody writes to it any longer."""
        self._close(self.of_interactor[1])

    def _close(self, *fds: int) -> None:
        for fd in self._open.intersection(fds):
            os.close(fd)
        self._open.difference_update(fds)


@dataclass
class _Talk:
    """Both while they talk."""

    sides: _Sides
    child: Child
    judge: Child
    budget: Budget
    over: Mark | None = None
    """Why the program was ended, where it was for the time that it, or the attempt, has."""

    def follow(self, pipes: _Pipes) -> Run:
        """Follow both to their ends; return the program's run, which has passed where the interactor has ended it."""
        self.child.start_clock(wall=False, keeps_output=True)
        self.judge.start_clock(wall=False)
        self.budget.start()
        began = time.monotonic()
        accepts: bool | None = None
        while self.child.exit is None:
            if accepts is None and self.judge.exit is not None:
                accepts = self._accepts()
                pipes.hang_up() if accepts else self.child.kill()
            self._wait(time.monotonic() - began)
        run = describe_end(self.child, self.sides.program.limits)
        if accepts is False:
            run = replace(run, outcome=Outcome.PASSED, message="", is_killed=False)
        elif self.over is not None:
            run = replace(run, outcome=self.over.outcome, message=self.over.message, is_killed=False)
        self._hear_out(pipes, after=run)
        self.budget.pause(self._waited_s(time.monotonic() - began))
        return run

    def end(self) -> None:
        """End both."""
        for one in (self.child, self.judge):
            one.kill()
            _await_end(self.sides.slot, one)

    def _accepts(self) -> bool:
        """Say whether the interactor, which has ended, gives anything for what it has heard so far."""
        ran = describe_end(self.judge, self.sides.interactor.limits)
        return bool(self.sides.examiner.share_of_marks(ran))

    def _wait(self, elapsed_s: float) -> None:
        """Wait for an end; end the program if its time, or the attempt's, is over."""
        wall_s, waited_s = self.sides.program.limits.wall_s, self._waited_s(elapsed_s)
        if elapsed_s > STARVED_FACTOR * wall_s:
            raise Inconclusive("the machine was too busy to time the program and its interactor")
        if self.over is None and elapsed_s - waited_s > wall_s:
            self.over = Mark(Outcome.TIMEOUT, f"ran longer than {wall_s:g} s (wall_s), talking with the interactor")
        elif self.over is None and self.budget.is_over(waited_s):
            self.over = self.budget.over()
        if self.over is not None:
            self.child.kill()
            self.sides.slot.wait((), POLL_S)
        else:
            left_s = min(wall_s + waited_s - elapsed_s, self.budget.left_s(waited_s))
            self.sides.slot.wait((), max(0.0, left_s) + _LATE_S)

    def _waited_s(self, elapsed_s: float) -> float:
        """Return the seconds that either was kept from running: those of the interactor, too, are not the program's.

        But for those in which the program was running itself: it cannot buy time by crowding the interactor out.
        """
        idle_s = max(0.0, elapsed_s - self.child.usage.cpu_s)
        return self.child.starved_s() + min(self.judge.starved_s(), idle_s)

    def _hear_out(self, pipes: _Pipes, after: Run) -> None:
        """Let the interactor come to its end, if anything hangs on it."""
        if after.outcome is Outcome.PASSED:
            self.judge.start_clock(keeps_cpu=True, keeps_output=True)
        else:
            self.judge.kill()
        while self.judge.exit is None:
            pipes.swallow()
            self.sides.slot.wait((), _LAST_WORDS_S)
        check_timed(self.judge.cut_by, "the interactor")


def _await_end(slot: Slot, child: Child) -> None:
    while child.exit is None:
        slot.wait((), POLL_S)
