"""The timed part of a session: the A/A gate, warm-up by time, and rounds until they are decided or the time is up.

Whether a session is `inconclusive` is up to the reference and its twin alone: a machine that is too busy for one
candidate is so for all, whatever their speed.
"""

from collections.abc import Mapping

import numpy as np

from assay.errors import Inconclusive
from assay.sandboxes.devices.interface import Clock, Reply
from assay.verifiers.kernels.abi import place
from assay.verifiers.kernels.expressions import value_of
from assay.verifiers.kernels.findings import Phase, Reason, Refused, ShapeTimes, Where
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.parties import Party
from assay.verifiers.kernels.problems import least_bytes
from assay.verifiers.kernels.quiet import Quiet, pass_gate, refuse_contention
from assay.verifiers.kernels.rounds import RoundLog, late_margin_s, late_work, two_clock_excess
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

FULL_EVERY = 8
"""One round in so many, chosen in secret, is checked in full where others are spot-checked."""
LEAST_WARM_UPS = 3
"""Calls of every runner before its rounds, whatever the time."""


def time_shapes(session: Session) -> tuple[ShapeTimes, ...]:
    """Time every shape that has a weight. Raises Refusal, Inconclusive, TaskFault and InfraFault."""
    timed = [(index, shape) for index, shape in enumerate(session.task.shapes) if shape.weight]
    with session.references() as pair:
        quiet = [pass_gate(session, pair, index, shape) for index, shape in timed]
    return tuple(_ShapeTimer(session, one).time() for one in quiet)


class _ShapeTimer:
    """Times one shape."""

    def __init__(self, session: Session, quiet: Quiet) -> None:
        self._session = session
        self._quiet = quiet
        self._timing = session.task.timing
        self._orders = orders(session.stream("orders", quiet.index))
        self._choices = session.stream("choices", quiet.index)
        self._trio: Mapping[Slot, Party] = {}
        self._generation = 0
        self._check_at = 0
        self._warmed = 0
        self._started = 0
        self._throttled = 0
        self._log = RoundLog()
        self._warm_up_s = 0.0
        self._clock = quiet.clock
        self._was_quiet = False

    def time(self) -> ShapeTimes:
        """Return its times. Raises Refusal and Inconclusive."""
        plan = self._run_generation(None)
        speed: Speed | None = None
        look, is_enough = 0, False
        while True:
            if self._generation in plan.looks or self._is_out_of_time():
                look += 1
                speed = self._look(look)
                is_enough = speed is None or self._is_enough(speed)
                if is_enough or self._generation >= plan.looks[-1] or self._is_out_of_time():
                    break
            self._run_generation(plan)
        return self._conclude(speed, look, is_enough=is_enough, is_whole=self._generation >= plan.looks[-1])

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
        while len(rounds) < LEAST_WARM_UPS or sum(walls) < least_s / 2 or sum(walls) + theirs_s < least_s:
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
        target = len(self._log.orders) + rounds
        while len(self._log.orders) < target and not self._is_out_of_time():
            self._check_time()
            self._run_round(next(self._orders))

    def _run_round(self, order: Order) -> None:
        """Run one round, unless the device is throttled; once in a block, ask the candidate something else as well."""
        number = self._started
        self._started += 1
        if number % BLOCK == 0:
            self._check_at = int(self._choices.integers(BLOCK))
        if self._session.device.settle().is_throttled:
            self._throttled += 1
            if self._throttled > self._timing.max_rounds:
                raise Inconclusive("the device stays throttled")
            return
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
        self._log.add(self._generation, order, replies, diff)
        if number % BLOCK == self._check_at:
            self._check_between(where)

    def _check_between(self, where: Where) -> None:
        """Ask the candidate for other values than those of timed rounds: it cannot know which call is which."""
        profiles = self._session.task.checks or (ValueProfile.NORMAL,)
        profile = profiles[int(self._choices.integers(len(profiles)))]
        problem = self._session.problem(where, self._quiet.index, profile, "between")
        self._session.ask_candidate(self._trio[Slot.CANDIDATE], problem, where, "between", is_full=True)

    def _is_chosen(self) -> bool:
        """Draw whether a call is checked in full where it need not be."""
        return bool(self._choices.random() < 1 / FULL_EVERY)

    def _look(self, look: int) -> Speed | None:
        """Return the speed so far, by the clock that is steady; None if a time of the candidate is not above zero."""
        self._clock = self._steadiest(look)
        times = self._log.times(self._clock)
        if not np.all(times.candidate > 0):
            return None
        rng = self._session.stream("bootstrap", self._quiet.index, look)
        speed = summarise(times, rng, alpha=spent(look), least=self._session.device.facts.noise_limit)
        self._was_quiet = self._was_quiet or speed.is_quiet
        return speed

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

    def _is_enough(self, speed: Speed) -> bool:
        """Say whether no more rounds are needed: never before the device was found quiet."""
        least = self._session.device.facts.noise_limit
        return self._was_quiet and is_decided(speed.safe_interval, speed.noise_floor, least, self._timing.precision)

    def _check_time(self) -> None:
        """Raise once the attempt's time is up, unless there are rounds enough to tell something."""
        if not self._is_out_of_time():
            self._session.check_time()

    def _is_out_of_time(self) -> bool:
        return len(self._log.orders) >= self._timing.min_rounds and self._session.is_over()

    @property
    def _floor_s(self) -> float:
        """What physics allows: bytes over peak bandwidth (from cold caches), operations over peak arithmetic."""
        facts, task, axes = self._session.device.facts, self._session.task, self._quiet.shape.axes
        floors = [0.0]
        if facts.bytes_per_s and self._timing.cache == "cold":
            floors.append(least_bytes(place(task.abi, axes)) / facts.bytes_per_s)
        if facts.flops_per_s:
            floors.append(value_of(task.work.flops, axes) / facts.flops_per_s)
        return task.work.slack * max(floors)

    def _conclude(self, speed: Speed | None, look: int, *, is_enough: bool, is_whole: bool) -> ShapeTimes:
        """Refuse a candidate that worked where its clock does not look. Raises Inconclusive if the device was busy."""
        if not is_whole and not (is_enough and self._timing.first_look_s is not None):
            self._session.flags.append("cut_short")
        if speed is not None:
            self._check_conduct()
            if not self._was_quiet:
                self._session.check_time()
                told = f"the reference differs from itself by {speed.noise_floor:.1%} for no reason"
                raise Inconclusive(f"the device became busy: {told}")
            refuse_contention(self._session, self._quiet, self._log.replies[Slot.REFERENCE])
        return self._found(speed, look, is_decided=is_enough)

    def _check_conduct(self) -> None:
        facts, quiet, replies = self._session.device.facts, self._quiet, self._log.replies
        mine, honest = replies[Slot.CANDIDATE], replies[Slot.REFERENCE]
        told = late_work(mine, late_margin_s(quiet.replies, facts.margin_s))
        if told:
            self._refuse(Reason.LATE_WORK, told)
        told = two_clock_excess(mine, honest, self._clock, facts.margin_s)
        if told:
            self._refuse(Reason.TWO_CLOCKS, told)

    def _refuse(self, reason: Reason, told: str) -> None:
        raise Refusal(Refused(reason, told, self._where(Phase.ROUND, self._started - 1)))

    def _found(self, speed: Speed | None, look: int, *, is_decided: bool) -> ShapeTimes:
        quiet = self._quiet
        return ShapeTimes(
            shape=quiet.shape.axes,
            weight=quiet.shape.weight,
            clock=self._clock,
            speed=speed,
            floor_s=self._floor_s,
            is_plausible=speed is not None and speed.candidate_s >= self._floor_s,
            baseline_s=self._session.trial.baselines.get(quiet.index),
            mean_diff=float(np.mean(self._log.diffs)),
            warm_up_s=self._warm_up_s,
            timed_s=self._log.timed_s,
            looks=look,
            is_decided=is_decided,
            throttled=self._throttled,
        )

    def _where(self, phase: Phase, number: int) -> Where:
        return Where(phase, self._quiet.shape.axes, number)
