"""The timed part of a session: the A/A gate, warm-up by time, and rounds until they are decided or the time is up.

Whether a session is `inconclusive` is up to the reference and its twin alone: a machine that is too busy for one
candidate is so for all, whatever their speed. A candidate that leaves too little time is late, and one beside which the
reference is slower wins nothing by that.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from assay.errors import Inconclusive
from assay.sandboxes.devices.interface import Clock, Reply
from assay.verifiers.kernels.findings import Phase, Reason, Refused, ShapeTimes, Where
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.measured_speeds import flag_of
from assay.verifiers.kernels.parties import Party
from assay.verifiers.kernels.problems import least_s, size_name
from assay.verifiers.kernels.quiet import Quiet, RecoveryTime, pass_gate, time_alone
from assay.verifiers.kernels.rounds import RoundLog
from assay.verifiers.kernels.schedule import (
    BLOCK,
    Order,
    Slot,
    Stages,
    gap_s,
    is_decided,
    orders,
    spent,
    stages,
)
from assay.verifiers.kernels.session import Refusal, Session
from assay.verifiers.kernels.speed import Speed, log_ratios, noise_floor, summarise
from assay.verifiers.kernels.unseen import charges, late_work, two_clock_excess

FULL_EVERY = 8
"""One round in so many, chosen in secret, is checked in full where others are spot-checked."""
LEAST_WARM_UPS = 3
"""Calls of every runner before its rounds, whatever the time."""


def time_shapes(session: Session) -> tuple[ShapeTimes, ...]:
    """Time every shape that has a weight. Raises Refusal, Inconclusive, TaskFault and InfraFault."""
    timed = [(index, shape) for index, shape in enumerate(session.task.shapes) if shape.weight]
    with session.references() as pair:
        quiet = [pass_gate(session, pair, index, shape) for index, shape in timed]
    left, recovery = len(quiet), RecoveryTime()
    return tuple(_ShapeTimer(session, one, left - number, recovery).time() for number, one in enumerate(quiet))


@dataclass(frozen=True)
class _Look:
    """What the rounds so far say, by the clock that is steadiest; no speed where a time is not above zero."""

    clock: Clock
    speed: Speed | None
    unseen_s: float = 0.0
    """What the candidate's usual call is charged for what this clock did not see (`unseen.charges`)."""


class _ShapeTimer:
    """Times one shape; `left` are those that have not been timed, with this one, and `recovery` is for all of them."""

    def __init__(self, session: Session, quiet: Quiet, left: int, recovery: RecoveryTime) -> None:
        self._session = session
        self._quiet = quiet
        self._timing = session.task.timing
        self._part = session.part(left)
        self._orders = orders(session.stream("orders", quiet.index))
        self._choices = session.stream("choices", quiet.index)
        self._recovery = recovery
        self._trio: Mapping[Slot, Party] = {}
        self._generation = 0
        self._check_at = 0
        self._warmed = 0
        self._started = 0
        self._throttled = 0
        self._log = RoundLog()
        self._warm_up_s = 0.0
        self._looks = 0
        self._is_enough = False
        self._last: _Look | None = None
        self._told: _Look | None = None
        """The last look at which the twins agreed well enough to tell anything."""

    def time(self) -> ShapeTimes:
        """Return its times. Raises Refusal, and Inconclusive with what was measured so far."""
        try:
            plan = self._run_generation(None)
            while not self._ends(plan):
                self._run_generation(plan)
            return self._conclude(is_whole=self._generation >= plan.looks[-1])
        except Inconclusive as error:
            speedup = self._log.speedup_so_far(self._quiet.clock)
            raise Inconclusive(str(error), flags=() if speedup is None else (flag_of(speedup),)) from error

    def _ends(self, plan: Stages) -> bool:
        """Look, if it is time to; say whether the rounds end here: never early where the device is not quiet."""
        is_up = self._is_out_of_time()
        if self._generation not in plan.looks and not is_up:
            return False
        self._last = self._look()
        speed = self._last.speed
        if speed is None:
            return True
        least = self._session.device.facts.noise_limit
        is_clear = is_decided(speed.safe_interval, speed.noise_floor, least, self._timing.precision)
        self._is_enough = speed.is_quiet and is_clear
        self._told = self._last if speed.is_quiet else self._told
        return is_up or self._is_enough or self._generation >= plan.looks[-1]

    def _run_generation(self, plan: Stages | None) -> Stages:
        """Run as many rounds as planned in fresh runners; the first ones warm up by time, and the plan is by that."""
        with self._session.trio() as trio:
            self._trio = dict(zip((Slot.REFERENCE, Slot.CANDIDATE, Slot.TWIN), trio, strict=True))
            round_s = self._warm_up(0.0 if plan else self._timing.warm_up_s)
            plan = plan or stages(self._timing, round_s)
            self._run_rounds(plan.rounds)
            where = self._where(Phase.FINAL, self._generation)
            problem = self._session.problem(where, self._quiet.index, ValueProfile.NORMAL)
            self._session.ask_candidate(self._trio[Slot.CANDIDATE], problem, where, "candidate", is_full=True)
        self._generation += 1
        return plan

    def _warm_up(self, least_s: float) -> float:
        """Alternate the kernels, by the reference's time; return what a round of the reference alone would take."""
        walls: list[float] = []
        rounds: list[float] = []
        theirs_s = 0.0
        now_s = self._session.device.now_s
        while len(rounds) < LEAST_WARM_UPS or sum(walls) < least_s:
            where = self._where(Phase.WARM_UP, self._warmed)
            self._warmed += 1
            began_s = now_s()
            problem = self._session.problem(where, self._quiet.index, ValueProfile.TIMING)
            drawn_s = now_s() - began_s
            solved = self._session.ask_candidate(
                self._trio[Slot.CANDIDATE], problem, where, "candidate", is_full=self._is_chosen()
            )
            theirs_s += solved.reply.wall_s
            began_s = now_s()
            for slot in (Slot.REFERENCE, Slot.TWIN):
                walls.append(self._session.ask_reference(self._trio[slot], problem, where, slot.name).reply.wall_s)
            rounds.append(drawn_s + (now_s() - began_s) * len(Slot) / 2)
            self._check_time()
        self._warm_up_s += sum(walls) + theirs_s
        return float(np.median(rounds))

    def _run_rounds(self, rounds: int) -> None:
        """Run whole blocks, in each of which every order occurs once; one that the time cuts short does not count."""
        for _ in range(rounds // BLOCK):
            block = RoundLog()
            self._check_at = int(self._choices.integers(BLOCK))
            for number in range(BLOCK):
                if self._is_out_of_time():
                    return
                self._check_time()
                self._run_round(block, next(self._orders))
                if number == self._check_at:
                    self._check_between()
            self._log.extend(block)

    def _run_round(self, block: RoundLog, order: Order) -> None:
        """Run one round, once the device is not slowed down, or has been waited for long enough."""
        number = self._started
        self._started += 1
        if not self._recovery.wait(self._session):
            self._throttled += 1
        where = self._where(Phase.ROUND, number)
        problem = self._session.problem(where, self._quiet.index, ValueProfile.TIMING)
        gap = gap_s(self._choices, self._timing.qps) if self._timing.qps else 0.0
        replies: dict[Slot, Reply] = {}
        diff = 0.0
        for slot in order:
            if gap:
                self._session.device.pause(gap)
            party = self._trio[slot]
            if slot is Slot.CANDIDATE:
                solved = self._session.ask_candidate(party, problem, where, slot.name, is_full=self._is_chosen())
                replies[slot], diff = solved.reply, solved.max_abs_diff
            else:
                replies[slot] = self._session.ask_reference(party, problem, where, slot.name).reply
        block.add(self._generation, order, replies, diff)

    def _check_between(self) -> None:
        """Ask the candidate for other values than those of timed rounds: it cannot know which call is which."""
        where = self._where(Phase.ROUND, self._started - 1)
        profiles = self._session.task.checks or (ValueProfile.NORMAL,)
        profile = profiles[int(self._choices.integers(len(profiles)))]
        problem = self._session.problem(where, self._quiet.index, profile, "between")
        self._session.ask_candidate(self._trio[Slot.CANDIDATE], problem, where, "between", is_full=True)

    def _is_chosen(self) -> bool:
        """Draw whether a call is checked in full where it need not be."""
        return bool(self._choices.random() < 1 / FULL_EVERY)

    def _look(self) -> _Look:
        """Return the speed so far, by the clock that is steady."""
        self._looks += 1
        clock = self._steadiest(self._looks)
        times = self._log.times(clock)
        if not np.all(times.candidate > 0):
            return _Look(clock, None)
        rng = self._session.stream("bootstrap", self._quiet.index, self._looks)
        least = self._session.device.facts.noise_limit
        unseen = charges(self._log, clock, least)
        times = replace(times, candidate=times.candidate + unseen)
        speed = summarise(times, rng, alpha=spent(self._looks), least=least)
        return _Look(clock, speed, float(np.median(unseen)))

    def _steadiest(self, look: int) -> Clock:
        """Return the first clock by which the reference agrees with itself, or the one by which it does best."""
        facts = self._session.device.facts
        floors: dict[Clock, float] = {}
        for clock in facts.clocks:
            times = self._log.times(clock)
            if np.all(times.reference > 0) and np.all(times.twin > 0):
                twins = log_ratios(times.reference, times.twin)
                floors[clock] = noise_floor(twins, times.generations, spent(look))
                if floors[clock] <= facts.noise_limit:
                    return clock
        if not floors:
            raise Inconclusive(f"the clocks {', '.join(facts.clocks)} told no time for the reference")
        return min(floors, key=lambda clock: floors[clock])

    def _check_time(self) -> None:
        """Raise once the attempt's time is up, unless there are rounds enough to tell something."""
        if len(self._log.orders) < self._timing.min_rounds:
            self._session.check_time()

    def _is_out_of_time(self) -> bool:
        """Say whether the shape's part of the time is up, and there are rounds enough to tell something."""
        if len(self._log.orders) < self._timing.min_rounds:
            return False
        return self._session.is_fair_time_up(self._part) or self._session.is_excess_used(self._part)

    def _conclude(self, *, is_whole: bool) -> ShapeTimes:
        """Refuse a candidate that worked where its clock does not look, or left too little time to tell anything.

        Raises Inconclusive if the device was busy, whatever the candidate did.
        """
        last, session = self._last, self._session
        assert last is not None  # rounds end with a look
        is_cut = not is_whole and not (self._is_enough and self._timing.first_look_s is not None)
        session.flags += ["cut_short"] * is_cut
        if last.speed is None:
            return self._found(last, None)
        self._check_conduct(last.clock)
        told = self._told or last
        is_late = not is_whole and not session.is_fair_time_up(self._part)
        if self._told is None and is_late:
            raise session.late(self._where(Phase.ROUND, self._started - 1))
        if self._told is None and not self._throttled:
            told_of = f"the reference differs from itself by {last.speed.noise_floor:.1%} for no reason"
            raise Inconclusive(f"the device became busy: {told_of}")
        beside = self._log.replies[Slot.REFERENCE]
        alone_s = time_alone(session, self._quiet, beside, told.clock, is_slowed=self._throttled > 0)
        seen = {"contention": alone_s is not None, "throttled": self._throttled > 0, "two_clocks": told.unseen_s > 0}
        session.flags += [flag for flag, is_seen in seen.items() if is_seen]
        return replace(self._found(told, alone_s), is_late=is_late and is_cut)

    def _check_conduct(self, clock: Clock) -> None:
        margin_s = self._session.device.facts.margin_s
        told = late_work(self._log, margin_s)
        if told:
            self._refuse(Reason.LATE_WORK, told)
        told = two_clock_excess(self._log, clock, margin_s)
        if told:
            self._refuse(Reason.TWO_CLOCKS, told)

    def _refuse(self, reason: Reason, told: str) -> None:
        raise Refusal(Refused(reason, told, self._where(Phase.ROUND, self._started - 1)))

    def _found(self, look: _Look, alone_s: float | None) -> ShapeTimes:
        quiet, speed = self._quiet, look.speed
        floor_s = least_s(self._session.task, quiet.shape.axes, self._session.device.facts)
        return ShapeTimes(
            shape=quiet.shape.axes,
            size=size_name(self._session.task, quiet.index),
            weight=quiet.shape.weight,
            clock=look.clock,
            speed=speed,
            floor_s=floor_s,
            is_plausible=speed is not None and speed.candidate_s >= floor_s,
            alone_s=alone_s,
            unseen_s=look.unseen_s,
            mean_diff=float(np.mean(self._log.diffs)),
            warm_up_s=self._warm_up_s,
            timed_s=self._log.timed_s,
            looks=self._looks,
            is_decided=self._is_enough,
            throttled=self._throttled,
        )

    def _where(self, phase: Phase, number: int) -> Where:
        return self._session.where(phase, self._quiet.index, number)
