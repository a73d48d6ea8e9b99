"""Attempts that a worker has claimed and not started: who is next, and who is no longer wanted."""

import heapq
import itertools
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from assay.schema import TaskBase
from assay.service.chunks import Member
from assay.service.pace import Pace
from assay.service.queue import Claim, Lane
from assay.verifiers.evaluate import Asked, CancelToken

_REMEMBERED = 100_000  # cancelled attempts that may still be on their way here


class Place(Enum):
    """Where a piece of work goes next."""

    SLOT = auto()
    """It runs something."""
    DEVICE = auto()
    """It runs something on a device that one attempt at a time has."""
    LIGHT = auto()
    """It runs nothing."""
    MODELS = auto()
    """It asks models, and has not yet; whether it then runs something is another question."""


_Kind = tuple[bool, Place]
"""Whether work is interactive, and where it goes next."""
_PASSED_ON: tuple[_Kind, ...] = ((False, Place.SLOT), (False, Place.DEVICE), (True, Place.DEVICE))
"""Work for which a slot may have to be left alone."""


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
    asked: Asked | None = None
    """What models have said, where it has asked them and waits for a slot to have that judged."""

    @property
    def key(self) -> tuple[str, int]:
        """Batch and index."""
        return self.member.terms.batch_id, self.member.entry.index

    @property
    def is_interactive(self) -> bool:
        """Whether somebody waits for it on the line."""
        return self.held.claim.lane.interactive

    @property
    def place(self) -> Place:
        """Where it goes next."""
        if self.asked is None and self.task.asks_models():
            return Place.MODELS
        if self.task.uses_device():
            return Place.DEVICE
        return Place.SLOT if self.asked is not None or self.task.runs_something() else Place.LIGHT


class WaitingRoom:
    """Hands out work: interactive first, then by priority, then first come first served. Thread-safe.

    Work that runs something is for slots. Batch work leaves `reserved` of them alone, so that an interactive attempt
    never waits for a batch of endless loops. Work for a device takes at most half of those that batches may have: what
    waits there for its turn keeps no other work from running.

    Light work is for one thread, which takes several at once: Python would not run two of them at the same time anyhow,
    and threads that take turns cost more than most rules.

    Work that asks models is for threads that wait: `model_calls` of a batch's at once, and interactive ones as many as
    there are threads. If it then has to run something, it comes back here for a slot.
    """

    def __init__(
        self, slots: int, reserved: int, clock: Callable[[], float] = time.monotonic, *, model_calls: int = 1
    ) -> None:
        self._slots = slots
        self._batch_slots = slots - reserved
        self._device_slots = max(1, self._batch_slots // 2)
        self._lock = threading.Lock()
        self._has_work = threading.Condition(self._lock)
        self._has_light = threading.Condition(self._lock)
        self._has_asking = threading.Condition(self._lock)
        self._idle = threading.Condition(self._lock)
        self._arrivals = {
            Place.SLOT: self._has_work,
            Place.DEVICE: self._has_work,
            Place.LIGHT: self._has_light,
            Place.MODELS: self._has_asking,
        }
        self._model_calls = model_calls
        self._numbers = itertools.count()
        self._heaps: dict[_Kind, list[tuple[int, int, Work]]] = {
            (interactive, place): [] for interactive in (True, False) for place in Place
        }
        self._running: dict[int, Work] = {}  # by identity: a chunk that was swept may come here twice
        self._running_batch = 0
        self._running_device = 0
        self._asking_batch = 0
        self._cancelled: OrderedDict[tuple[str, int], None] = OrderedDict()
        self._closed = False
        self._pace = Pace(clock)

    def add(self, works: Iterable[Work]) -> None:
        """Take in claimed work."""
        with self._lock:
            for work in works:
                if work.key in self._cancelled:
                    work.token.cancel()
                self._push(work)
                self._arrivals[work.place].notify()  # who waits there in vain costs its worker time

    def take(self) -> Work | None:
        """Wait for work that a slot may start now; None once the room is closed."""
        with self._lock:
            while not self._closed:
                work = self._pop(self._slot_places(), self._running_batch, self._batch_slots)
                if work is not None:
                    self._running[id(work)] = work
                    self._running_batch += not work.is_interactive
                    self._running_device += work.place is Place.DEVICE
                    return work
                self._has_work.wait()
            return None

    def take_light(self, most: int) -> list[Work]:
        """Wait for light work and take up to `most`; none once the room is closed."""
        with self._lock:
            while not self._closed:
                works = list(itertools.islice(self._light(), most))
                if works:
                    self._running.update((id(work), work) for work in works)
                    return works
                self._has_light.wait()
            return []

    def take_asking(self) -> Work | None:
        """Wait for work that may ask models now; None once the room is closed."""
        with self._lock:
            while not self._closed:
                work = self._pop((Place.MODELS,), self._asking_batch, self._model_calls)
                if work is not None:
                    self._running[id(work)] = work
                    self._asking_batch += not work.is_interactive
                    return work
                self._has_asking.wait()
            return None

    def hand_over(self, work: Work, asked: Asked) -> None:
        """Let work that was taken to ask models wait for a slot, with what they said."""
        with self._lock:
            self._end(work)
            self._push(replace(work, asked=asked))
            self._has_work.notify()

    def leave(self, *works: Work) -> None:
        """Say that work which was taken is done."""
        with self._lock:
            for work in works:
                self._end(work)
                self._pace.count()
            if any(self._heaps[kind, place] for kind, place in _PASSED_ON):
                self._has_work.notify()  # there may be another slot for it now, which whoever left may not take for it

    def wanted(self, lanes: Sequence[Lane]) -> list[Lane]:
        """Return those lanes from which another chunk should be claimed now, in the order given."""
        with self._lock:
            return [lane for lane in lanes if self._wants(lane)]

    def cancel(self, keys: Iterable[tuple[str, int]]) -> None:
        """Cancel attempts, whether they wait, run or are still on their way here."""
        with self._lock:
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
        with self._lock:
            for kind, heap in self._heaps.items():
                passed = [item for item in heap if _may_not_start(item[2], moment)]
                if passed:
                    late.extend(item[2] for item in passed)
                    self._heaps[kind] = [item for item in heap if not _may_not_start(item[2], moment)]
                    heapq.heapify(self._heaps[kind])
        return late

    def close(self) -> None:
        """Start nothing more; what waits stays where it is in Redis."""
        with self._lock:
            self._closed = True
            for arrivals in self._arrivals.values():
                arrivals.notify_all()

    def wait_until_idle(self, timeout_s: float) -> bool:
        """Wait until nothing runs; say whether that came true."""
        with self._lock:
            return self._idle.wait_for(lambda: not self._running, timeout_s)

    def running(self) -> list[Work]:
        """Return what runs."""
        with self._lock:
            return list(self._running.values())

    def _push(self, work: Work) -> None:
        entry = (-work.held.claim.lane.priority, next(self._numbers), work)
        heapq.heappush(self._heaps[work.is_interactive, work.place], entry)

    def _end(self, work: Work) -> None:
        del self._running[id(work)]
        if not self._running:
            self._idle.notify_all()
        place = work.place
        self._running_device -= place is Place.DEVICE
        if work.is_interactive:
            return
        if place in (Place.SLOT, Place.DEVICE):
            self._running_batch -= 1
        elif place is Place.MODELS:
            self._asking_batch -= 1
            self._has_asking.notify()

    def _slot_places(self) -> tuple[Place, ...]:
        """Return from where a slot may take work now."""
        return (Place.SLOT, Place.DEVICE) if self._running_device < self._device_slots else (Place.SLOT,)

    def _pop(self, places: tuple[Place, ...], batch_now: int, batch_most: int) -> Work | None:
        """Return what may start now at these places, where `batch_now` of at most `batch_most` are a batch's."""
        for is_interactive in (True, False) if batch_now < batch_most else (True,):
            heaps = [heap for place in places if (heap := self._heaps[is_interactive, place])]
            if heaps:
                return heapq.heappop(min(heaps, key=lambda heap: heap[0]))[2]
        return None

    def _light(self) -> Iterator[Work]:
        for heap in (self._heaps[True, Place.LIGHT], self._heaps[False, Place.LIGHT]):
            while heap:
                yield heapq.heappop(heap)[2]

    def _wants(self, lane: Lane) -> bool:
        places: tuple[Place, ...]
        if lane.asks_models:
            places, enough = (Place.MODELS,), self._model_calls
        elif lane.uses_device:
            places, enough = (Place.DEVICE,), self._device_slots
        else:
            places = (Place.SLOT, Place.LIGHT)
            enough = max(self._slots if lane.interactive else self._batch_slots, self._pace.recent())
        heaps = [heap for heap in (self._heaps[lane.interactive, place] for place in places) if heap]
        if sum(map(len, heaps)) < enough:
            return True
        return lane.priority > max(-heap[0][0] for heap in heaps)  # more urgent than all that waits here

    def _everything(self) -> list[Work]:
        waiting = [item[2] for heap in self._heaps.values() for item in heap]
        return [*waiting, *self._running.values()]


def _may_not_start(work: Work, now: float) -> bool:
    return work.asked is None and is_late(work.member, now)  # what has asked models has started


def is_late(member: Member, now: float) -> bool:
    """Say whether an attempt may no longer start."""
    deadline = member.terms.deadline
    return deadline is not None and now > deadline
