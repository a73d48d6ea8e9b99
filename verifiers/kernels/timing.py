"""The timed part of a session: the A/A gate, warm-up by time, and rounds until they are decided or the time is up."""

from collections.abc import Mapping

import numpy as np

from assay.errors import Inconclusive
from assay.sandboxes.devices.interface import Reply
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
    gap_s,
    is_decided,
    looks,
    orders,
    rounds_for,
    spent,
)
from assay.verifiers.kernels.session import Refusal, Session
from assay.verifiers.kernels.speed import Speed, summarise

FULL_EVERY = 8
"""One round in so many, chosen in secret, is checked in full where others are spot-checked."""
LEAST_WARM_UPS = 3
"""Calls of either kernel before rounds, whatever the time."""


def time_shapes(session: Session) -> tuple[ShapeTimes, ...]:
    """Time every shape that has a weight. Raises Refusal, Inconclusive, TaskFault and InfraFault."""
    reference = session.open(session.trial.reference, is_candidate=False)
    twin = session.open(session.trial.reference, is_candidate=False)
    timed = [(index, shape) for index, shape in enumerate(session.task.shapes) if shape.weight]
    quiet = [pass_gate(session, (reference, twin), index, shape) for index, shape in timed]
    candidate = session.open(session.trial.candidate, is_candidate=True)
    trio = {Slot.REFERENCE: reference, Slot.CANDIDATE: candidate, Slot.TWIN: twin}
    found = tuple(_ShapeTimer(session, trio, one).time() for one in quiet)
    for one in quiet:
        where = Where(Phase.FINAL, one.shape.axes, 0)
        problem = session.problem(where, one.index, ValueProfile.NORMAL)
        session.ask_candidate(candidate, problem, where, "candidate", is_full=True)
    candidate.close()
    for one, times in zip(quiet, found, strict=True):
        if times.speed is not None:
            refuse_contention(session, (reference, twin), one, times.speed.reference_s)
    return found


class _ShapeTimer:
    """Times one shape."""

    def __init__(self, session: Session, trio: Mapping[Slot, Party], quiet: Quiet) -> None:
        self._session = session
        self._trio = trio
        self._quiet = quiet
        self._timing = session.task.timing
        self._orders = orders(session.stream("orders", quiet.index))
        self._choices = session.stream("choices", quiet.index)
        self._check_at = 0
        self._started = 0
        self._throttled = 0
        self._log = RoundLog()
        self._warm_up_s = 0.0

    def time(self) -> ShapeTimes:
        """Return its times. Raises Refusal and Inconclusive."""
        first, last = self._plan(self._warm_up())
        speed: Speed | None = None
        look, is_plausible, is_enough = 0, True, False
        may_end_early = self._timing.first_look_s is not None
        for look, target in enumerate(looks(first, last), 1):
            self._run_until(target)
            speed, is_plausible = self._summarise(look)
            is_enough = speed is not None and self._is_decided(speed)
            if speed is None or self._is_out_of_time() or (is_enough and may_end_early):
                break
        if self._is_out_of_time() and not (is_enough and may_end_early):
            self._session.flags.append("cut_short")
        if speed is not None:
            self._check_conduct(speed)
        return self._found(speed, look, is_plausible=is_plausible, is_decided=is_enough)

    def _warm_up(self) -> float:
        """Alternate the kernels, by the reference's time; return the reference's wall seconds, on the low side."""
        walls: list[float] = []
        theirs_s = 0.0
        least_s = self._timing.warm_up_s
        while len(walls) < 2 * LEAST_WARM_UPS or sum(walls) < least_s / 2 or sum(walls) + theirs_s < least_s:
            where = self._where(Phase.WARM_UP, len(walls) // 2)
            problem = self._session.problem(where, self._quiet.index, ValueProfile.TIMING)
            solved = self._session.ask_candidate(
                self._trio[Slot.CANDIDATE], problem, where, "candidate", is_full=self._is_chosen()
            )
            theirs_s += solved.reply.wall_s
            for slot in (Slot.REFERENCE, Slot.TWIN):
                walls.append(self._session.ask_reference(self._trio[slot], problem, where, slot.name).reply.wall_s)
            self._session.check_time()
        self._warm_up_s = sum(walls) + theirs_s
        return float(np.quantile(walls, 0.1))

    def _plan(self, reference_s: float) -> tuple[int, int]:
        """Return the rounds until the first look and in all: by the reference's time, so not the candidate's choice."""
        timing = self._timing
        last = rounds_for(timing.time_s, reference_s, timing.min_rounds, timing.max_rounds)
        if timing.first_look_s is None:
            return last, last
        return min(last, rounds_for(timing.first_look_s, reference_s, timing.min_rounds, timing.max_rounds)), last

    def _run_until(self, target: int) -> None:
        for order in self._orders:
            if len(self._log.orders) >= self._timing.min_rounds and self._session.is_over():
                return
            self._session.check_time()
            self._run_round(order)
            if len(self._log.orders) >= target:
                return

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
        self._log.add(order, replies, diff)
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

    def _summarise(self, look: int) -> tuple[Speed | None, bool]:
        """Return the speed so far and whether the times are plausible; no speed if a time is not above zero."""
        times = self._log.times(self._quiet.clock)
        if not (np.all(times.reference > 0) and np.all(times.twin > 0)):
            raise Inconclusive(f"the {self._quiet.clock} clock told no time for the reference")
        if not np.all(times.candidate > 0):
            return None, False
        rng = self._session.stream("bootstrap", self._quiet.index, look)
        speed = summarise(times, rng, alpha=spent(look), least=self._session.device.facts.noise_limit)
        return speed, speed.candidate_s >= self._floor_s

    def _is_decided(self, speed: Speed) -> bool:
        floor = max(self._session.device.facts.noise_limit, speed.noise_floor + abs(speed.twin_bias))
        return is_decided(speed.safe_interval, floor, self._timing.precision)

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

    def _check_conduct(self, speed: Speed) -> None:
        """Refuse a candidate that worked where its clock does not look; raise Inconclusive if the device was busy."""
        facts, quiet, replies = self._session.device.facts, self._quiet, self._log.replies
        mine, honest = replies[Slot.CANDIDATE], replies[Slot.REFERENCE]
        told = late_work(mine, late_margin_s(quiet.replies, facts.margin_s))
        if told:
            self._refuse(Reason.LATE_WORK, told)
        told = two_clock_excess(mine, honest, quiet.clock, facts.margin_s)
        if told:
            self._refuse(Reason.TWO_CLOCKS, told)
        noise = max(speed.noise_floor, abs(speed.twin_bias))
        if not speed.is_significant and noise > facts.noise_limit:
            raise Inconclusive(f"the device became busy: noise of {noise:.1%}, limit {facts.noise_limit:.1%}")

    def _refuse(self, reason: Reason, told: str) -> None:
        raise Refusal(Refused(reason, told, self._where(Phase.ROUND, self._started - 1)))

    def _found(self, speed: Speed | None, look: int, *, is_plausible: bool, is_decided: bool) -> ShapeTimes:
        quiet = self._quiet
        return ShapeTimes(
            shape=quiet.shape.axes,
            weight=quiet.shape.weight,
            clock=quiet.clock,
            speed=speed,
            floor_s=self._floor_s,
            is_plausible=is_plausible,
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
