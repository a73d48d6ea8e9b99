"""One session's parties and secrets: how the judge asks a kernel, and what becomes of a candidate that is not right."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np

from assay.errors import Inconclusive, TaskFault
from assay.sandboxes.devices.interface import Device, Failure, Reply
from assay.verifiers.kernels.buffers import FRAME_ALIGN
from assay.verifiers.kernels.findings import Phase, Reason, Refused, Where
from assay.verifiers.kernels.generators import ValueProfile, random_stream
from assay.verifiers.kernels.inspection import Inspected, inspect, may_be_spot_checked, spot_check
from assay.verifiers.kernels.parties import REASONS, Answered, Kernel, Party, say, start
from assay.verifiers.kernels.problems import Problem, make_problem, size_name
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.time_shares import Part, Start, TimeShares


class Refusal(Exception):
    """The candidate is refused: ends the session from wherever it is; `measure` catches it."""

    def __init__(self, refused: Refused) -> None:
        super().__init__(str(refused))
        self.refused = refused


ReferenceDiffs = Mapping[tuple[int, ValueProfile], float]
"""The largest difference of the reference from the oracle at each shape, by its index, with each kind of values."""


@dataclass(frozen=True)
class Trial:
    """What a session is about. `secret` never leaves the judge; `name` makes its inputs this attempt's own."""

    task: KernelTask
    name: str
    secret: bytes
    reference: Kernel
    candidate: Kernel
    known_diffs: ReferenceDiffs | None = None
    """The reference's largest differences, if an earlier session with this task found it right."""


@dataclass(frozen=True)
class Solved:
    """A call of the candidate whose output is right."""

    answered: Answered
    max_abs_diff: float

    @property
    def reply(self) -> Reply:
        """Its times."""
        return self.answered.reply


@dataclass
class Session:
    """What a session knows while it runs."""

    trial: Trial
    device: Device
    shares: TimeShares
    stack: ExitStack
    checked: int = 0
    max_abs_diff: float = 0.0
    reference_diffs: dict[tuple[int, ValueProfile], float] = field(default_factory=dict)
    """The reference's largest difference at each shape, by its index, with each kind of values."""
    flags: list[str] = field(default_factory=list)

    @property
    def task(self) -> KernelTask:
        """The task."""
        return self.trial.task

    def stream(self, *labels: str | int) -> np.random.Generator:
        """Return the secret stream of these labels."""
        return random_stream(self.trial.secret, self.trial.name, *labels)

    def problem(self, where: Where, index: int, profile: ValueProfile, *more: str | int) -> Problem:
        """Draw the inputs of one place of the session; `index` is the shape's."""
        labels = (self.trial.name, where.phase, index, where.index, *more)
        return make_problem(self.task, self.trial.secret, labels, where.shape, profile)

    def where(self, phase: Phase, index: int, number: int) -> Where:
        """Return a place of the session; `index` is the shape's, and `number` counts within the phase."""
        is_hidden = index >= len(self.task.public_shapes)
        return Where(phase, self.task.shapes[index].axes, number, size_name(self.task, index), is_hidden)

    def open(self, kernel: Kernel, *, is_candidate: bool) -> Party:
        """Start a runner, which ends with the session at the latest. A reference that does not start is a fault."""
        began_s = self.device.now_s()
        ground = self.stream("ground").bytes(FRAME_ALIGN)
        party = start(self.device, kernel, self.task, ground, is_ours=not is_candidate)
        took_s = self.device.now_s() - began_s
        if is_candidate:
            self.shares.charge_candidate(Start.START, took_s)
        else:
            self.shares.charge_reference(Start.START, took_s)
        if isinstance(party, Failure):
            if is_candidate:
                raise Refusal(Refused(REASONS[party.kind], say(party), Where(Phase.START, {}, 0)))
            raise TaskFault(f"the reference cannot be started: {say(party)}")
        self.stack.callback(party.close)
        return party

    def end(self, party: Party, *, is_candidate: bool) -> None:
        """Close a party before the session ends; what that takes is part of what its start does."""
        began_s = self.device.now_s()
        party.close()
        took_s = self.device.now_s() - began_s
        if is_candidate:
            self.shares.charge_candidate(Start.START, took_s, 0)
        else:
            self.shares.charge_reference(Start.START, took_s, 0)

    @contextmanager
    def references(self) -> Iterator[tuple[Party, Party]]:
        """Hold two fresh runners of the reference. Raises TaskFault."""
        pair = tuple(self.open(self.trial.reference, is_candidate=False) for _ in range(2))
        try:
            yield pair[0], pair[1]
        finally:
            for party in pair:
                self.end(party, is_candidate=False)

    @contextmanager
    def trio(self) -> Iterator[tuple[Party, Party, Party]]:
        """Hold fresh runners: the reference, the candidate, and the reference's twin. Raises Refusal and TaskFault."""
        with self.references() as (reference, twin):
            candidate = self.open(self.trial.candidate, is_candidate=True)
            try:
                yield reference, candidate, twin
            finally:
                self.end(candidate, is_candidate=True)

    def ask_reference(
        self, party: Party, problem: Problem, where: Where, label: str, *, is_whole: bool = False
    ) -> Answered:
        """Have the reference solve a problem. Raises TaskFault if it fails."""
        began_s = self.device.now_s()
        answered = party.exchange(problem, self._frame_stream(where, label), is_whole=is_whole)
        self.shares.charge_reference(self._index(problem), self.device.now_s() - began_s)
        if isinstance(answered, Failure):
            raise TaskFault(f"the reference failed: {say(answered)} ({where})")
        return answered

    def ask_candidate(self, party: Party, problem: Problem, where: Where, label: str, *, is_full: bool) -> Solved:
        """Have the candidate solve a problem and check what it left. Raises Refusal."""
        began_s = self.device.now_s()
        answered = party.exchange(problem, self._frame_stream(where, label), is_whole=is_full)
        self.shares.charge_candidate(self._index(problem), self.device.now_s() - began_s)
        if isinstance(answered, Failure):
            raise Refusal(Refused(REASONS[answered.kind], say(answered), where))
        self.checked += 1
        found = self._inspect(problem, answered, where, label, is_full=is_full)
        if is_full and found.reason is not Reason.CANARY and (written := party.strays()):
            found = Inspected(Reason.CANARY, f"canary beyond all buffers overwritten: {written} bytes changed")
        if found.reason is not None:
            raise Refusal(Refused(found.reason, found.message, where))
        self.max_abs_diff = max(self.max_abs_diff, found.max_abs_diff)
        return Solved(answered, found.max_abs_diff)

    def _inspect(self, problem: Problem, answered: Answered, where: Where, label: str, *, is_full: bool) -> Inspected:
        known = self._baseline(problem)
        if is_full or known is None or not may_be_spot_checked(problem):
            return inspect(problem, answered.frame, answered.after, baseline=known)
        rng = self._frame_stream(where, f"{label} spots")
        began_s = self.device.now_s()
        found = spot_check(problem, answered.frame, answered.after, rng, usual=known)
        self.shares.charge_candidate(self._index(problem), self.device.now_s() - began_s, 0)  # odd outputs take longer
        return found

    def _baseline(self, problem: Problem) -> float | None:
        """Return the reference's difference at that shape: with such values, or the largest with any."""
        index = self._index(problem)
        known = {profile: diff for (at, profile), diff in self.reference_diffs.items() if at == index}
        return known.get(problem.profile, max(known.values(), default=None))

    def _index(self, problem: Problem) -> int:
        return next(at for at, shape in enumerate(self.task.shapes) if shape.axes == problem.axes)

    def _frame_stream(self, where: Where, label: str) -> np.random.Generator:
        shape = [f"{name}={extent}" for name, extent in sorted(where.shape.items())]
        return self.stream("frame", where.phase, where.index, label, *shape)

    def part(self, left: int) -> Part:
        """Return until when the next of so many shapes may be timed."""
        return self.shares.part(left, self.device.now_s())

    def is_fair_time_up(self, part: Part) -> bool:
        """Say whether the time is up however quick the candidate is: nothing that it does has a part in this."""
        return self.shares.fair_s(self.device.now_s()) > part.fair_s

    def is_excess_used(self, part: Part) -> bool:
        """Say whether the candidate took more than its part beyond the reference. Raises TaskFault.

        Before it is said to have, the reference is timed wherever nobody knows yet what it takes.
        """
        if self.shares.excess_s > part.excess_s:
            self._learn_times()
        return self.shares.excess_s > part.excess_s

    def check_time(self) -> None:
        """Raise once the attempt's time is up: Inconclusive if it is for every candidate, Refusal if for this one."""
        limit_s = self.task.limits.attempt_wall_s
        is_excess_used = self.is_excess_used(self.shares.whole)
        if self.is_fair_time_up(self.shares.whole):
            raise Inconclusive(f"no times within {limit_s:g} s: raise limits.attempt_wall_s")
        if is_excess_used:
            raise self.late(Where(Phase.ROUND, {}, 0))

    def late(self, where: Where) -> Refusal:
        """Return the refusal of a candidate that left too little time."""
        took_s, limit_s = self.shares.candidate_s, self.task.limits.attempt_wall_s
        told = f"starts and calls took {took_s:.1f} of the attempt's {limit_s:g} s"
        return Refusal(Refused(Reason.DEADLINE, told, where))

    def _learn_times(self) -> None:
        """Ask the reference once wherever nothing is known of its time yet. Raises TaskFault."""
        unknown = self.shares.unknown
        if not unknown:
            return
        party = self.open(self.trial.reference, is_candidate=False)
        for index in unknown:
            if not isinstance(index, Start):
                where = self.where(Phase.CORRECTNESS, index, index)
                problem = self.problem(where, index, ValueProfile.TIMING, "alone")
                self.ask_reference(party, problem, where, "alone")
        self.end(party, is_candidate=False)
