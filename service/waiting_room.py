"""Attempts that a worker has claimed and not started: who is next, and who is no longer wanted."""

import heapq
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from assay.schema import TaskBase
from assay.service.chunks import Member
from assay.service.queue import Claim, Lane
from assay.verifiers.evaluate import CancelToken

_AHEAD_S = 0.05  # of work that waits here: a chunk takes a few round trips to come, and rules are quick
_REMEMBERED = 100_000  # cancelled attempts that may still be on their way here


@dataclass
class Held:
    """A claimed chunk and how many of its attempts still lack a recorded result (counted by the recorder)."""

    claim: Claim
    batch_ids: frozenset[str]
    left: int


@dataclass(frozen=True)
class Work:
    """One attempt to judge."""

    held: Held
    member: Member
    task: TaskBase
    token: CancelToken = field(default_factory=CancelToken)

    @property
    def key(self) -> tuple[str, int]:
        """Batch and index."""
        return self.member.terms.batch_id, self.member.entry.index

    @property
    def is_interactive(self) -> bool:
        """Whether somebody waits for it on the line."""
        return self.held.claim.lane.interactive


class WaitingRoom:
    """Hands work to slots: interactive first, then by priority, then first come first served. Thread-safe.

    Batch work leaves `reserved` slots alone, so that an interactive attempt never waits for a batch of endless loops.
    """

    def __init__(self, slots: int, reserved: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._slots = slots
        self._batch_slots = slots - reserved
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._heaps: dict[bool, list[tuple[int, int, Work]]] = {True: [], False: []}
        self._running: dict[int, Work] = {}  # by identity: a chunk that was swept may come here twice
        self._running_batch = 0
        self._cancelled: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._closed = False
        self._pace = _Pace(clock)

    def add(self, works: Iterable[Work]) -> None:
        """Take in claimed work."""
        with self._changed:
            for work in works:
                if work.key in self._cancelled:
                    work.token.cancel()
                entry = (-work.held.claim.lane.priority, next(self._numbers), work)
                heapq.heappush(self._heaps[work.is_interactive], entry)
            self._changed.notify_all()

    def take(self) -> Work | None:
        """Wait for work that a slot may start now; None once the room is closed."""
        with self._changed:
            while True:
                if self._closed:
                    return None
                work = self._pop()
                if work is not None:
                    self._running[id(work)] = work
                    self._running_batch += not work.is_interactive
                    return work
                self._changed.wait()

    def leave(self, work: Work) -> None:
        """Say that a slot is done with its work."""
        with self._changed:
            del self._running[id(work)]
            self._running_batch -= not work.is_interactive
            self._pace.count()
            self._changed.notify()

    def wanted(self, lanes: Sequence[Lane]) -> list[Lane]:
        """Return those lanes from which another chunk should be claimed now, in the order given."""
        with self._changed:
            return [lane for lane in lanes if self._wants(lane)]

    def cancel(self, keys: Iterable[tuple[str, int]]) -> None:
        """Cancel attempts, whether they wait, run or are still on their way here."""
        with self._changed:
            chosen = set(keys)
            for key in chosen:
                self._cancelled[key] = None
            while len(self._cancelled) > _REMEMBERED:
                self._cancelled.popitem(last=False)
            affected = [work for work in self._everything() if work.key in chosen]
        for work in affected:
            work.token.cancel()

    def take_late(self, now: float | None = None) -> list[Work]:
        """Remove and return waiting work whose deadline has passed."""
        moment = time.time() if now is None else now
        late: list[Work] = []
        with self._changed:
            for kind, heap in self._heaps.items():
                passed = [item for item in heap if is_late(item[2].member, moment)]
                if passed:
                    late.extend(item[2] for item in passed)
                    self._heaps[kind] = [item for item in heap if not is_late(item[2].member, moment)]
                    heapq.heapify(self._heaps[kind])
        return late

    def close(self) -> None:
        """Start nothing more; what waits stays where it is in Redis."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until nothing runs; say whether that came true."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._running, timeout_s)

    def running(self) -> list[Work]:
        """Return what runs."""
        with self._changed:
            return list(self._running.values())

    def _pop(self) -> Work | None:
        if self._heaps[True]:
            return heapq.heappop(self._heaps[True])[2]
        if self._heaps[False] and self._running_batch < self._batch_slots:
            return heapq.heappop(self._heaps[False])[2]
        return None

    def _wants(self, lane: Lane) -> bool:
        heap = self._heaps[lane.interactive]
        slots = self._slots if lane.interactive else self._batch_slots
        if len(heap) < max(slots, self._pace.recent()):
            return True
        return lane.priority > -heap[0][0]  # more urgent than all that waits here

    def _everything(self) -> list[Work]:
        waiting = [item[2] for heap in self._heaps.values() for item in heap]
        return [*waiting, *self._running.values()]


class _Pace:
    """How many attempts were finished in the last full span of `_AHEAD_S`, or since: quick ones may go on as quickly.

    Nothing is expected after a span in which none was.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._began = clock()
        self._before = 0
        self._since = 0

    def count(self) -> None:
        """Count one."""
        self._turn()
        self._since += 1

    def recent(self) -> int:
        """Return the number."""
        self._turn()
        return max(self._before, self._since)

    def _turn(self) -> None:
        now = self._clock()
        spans = (now - self._began) / _AHEAD_S
        if spans >= 1:
            self._before = self._since if spans < 2 else 0
            self._since = 0
            self._began = now


def is_late(member: Member, now: float) -> bool:
    """Say whether an attempt may no longer start."""
    deadline = member.terms.deadline
    return deadline is not None and now > deadline
