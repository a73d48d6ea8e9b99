"""Keeps a worker's waiting room filled: claims chunks, drops what has a result or is too late, types the tasks."""

import logging
import threading
import time
from collections.abc import Iterable, Mapping, Sequence

from assay.errors import InfraFault, ServiceUnavailable
from assay.extras import CUDA_DEVICE
from assay.outcomes import Outcome
from assay.schema import TaskBase
from assay.service import keys, scripts
from assay.service.chunks import Member, unpack
from assay.service.connection import Connection
from assay.service.damage import holders_of, lost_members
from assay.service.queue import ChunkQueue, Claim, Lane
from assay.service.recorder import Finished, Recorder
from assay.service.recording import has_result, to_line, unjudged
from assay.service.task_cache import TaskCache, Unreadable
from assay.service.waiting_room import Held, WaitingRoom, Work, is_late
from assay.verifiers.offers import lacking

log = logging.getLogger(__name__)

_LOOK_AGAIN_S = 1.0  # a wake-up can be lost with a connection
_SUSPICIOUS_DELIVERIES = 3
_MAX_DELIVERIES = 10
TOO_LATE = "the deadline passed before it could start"


class Feeder:
    """A thread that brings work from Redis to the waiting room."""

    def __init__(
        self,
        connection: Connection,
        worker: str,
        room: WaitingRoom,
        recorder: Recorder,
        tasks: TaskCache,
        cuda_device: str = "0",
    ) -> None:
        self._connection = connection
        self._queue = ChunkQueue(connection)
        self._worker = worker
        self._room = room
        self._recorder = recorder
        self._tasks = tasks
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._held: dict[str, Claim] = {}
        self._unread: list[Claim] = []
        self._lanes: list[Lane] = []
        self._lanes_read = float("-inf")
        self._unwanted: list[Lane] = []  # lanes from which nothing was claimed because enough of them waits here
        self._cuda_device = cuda_device
        self._known_modules: dict[str, bool] = {}

    def wake(self, lane: str | None = None) -> None:
        """Look for work now: chunks were pushed to a lane, or anything may have happened."""
        if lane is None or all(lane != known.name for known in self._lanes):
            self._lanes_read = float("-inf")
        self._wake.set()

    def refill(self) -> None:
        """Look for work if the room has just become too empty; called whenever something has left it."""
        if self._unwanted and self._room.wanted(self._unwanted):
            self._wake.set()

    def stop(self) -> None:
        """Claim nothing more."""
        self._stopping.set()
        self._wake.set()

    def held(self) -> list[Claim]:
        """Return the chunks leased to this worker."""
        return list(self._held.values())

    def lacking(self) -> tuple[str, ...]:
        """Return the modules that known lanes require and that are not here."""
        return tuple(sorted(name for name, is_here in self._known_modules.copy().items() if not is_here))

    def forget(self, claim: Claim) -> None:
        """Stop holding a chunk that is finished."""
        self._held.pop(claim.chunk_id, None)
        if _is_suspicious(claim):
            self._wake.set()

    def run(self) -> None:
        """Feed until stopped."""
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                self._drop_late()
                if self._feed():
                    continue
            except ServiceUnavailable as error:
                log.warning("feeder_lost_redis error=%s", error)
            if not self._stopping.is_set():  # else the wish to stop may have come just before the clearing
                self._wake.wait(_LOOK_AGAIN_S)

    def _feed(self) -> bool:
        """Claim one chunk, if one is wanted and there; say whether it was. Raises ServiceUnavailable."""
        while self._unread:  # claimed, but Redis went away before they could be looked into
            self._adopt(self._unread[-1])
            self._unread.pop()
        if any(map(_is_suspicious, self.held())):
            return False  # it may kill this worker as it has killed others: no more chunks shall die with it
        lanes = self._usable_lanes()
        wanted = self._room.wanted(lanes)
        self._unwanted = [lane for lane in lanes if lane not in wanted]
        claim = self._queue.claim(self._worker, wanted)
        if claim is None:
            return False
        self._held[claim.chunk_id] = claim
        self._unread.append(claim)
        return True

    def _adopt(self, claim: Claim) -> None:
        try:
            members = unpack(claim.blob)
        except InfraFault as error:
            self._set_aside(claim, error)
            return
        batch_ids = list(dict.fromkeys(member.terms.batch_id for member in members))
        members = self._without_result(members, batch_ids)
        held = Held(claim, frozenset(batch_ids), len(members))
        if not members:
            self._recorder.finish(held)
        elif claim.deliveries > _MAX_DELIVERIES:
            reason = f"{claim.deliveries - 1} workers died while they judged it or its neighbours"
            self._give_up(held, members, reason)
        else:
            self._admit(held, members, self._tasks.find(member.entry.task.key for member in members))

    def _set_aside(self, claim: Claim, error: InfraFault) -> None:
        """Let the lease of an unreadable chunk run out: a worker of another version may read it. In the end give up."""
        log.error("chunk_unreadable chunk=%s deliveries=%d error=%s", claim.chunk_id, claim.deliveries, error)
        if claim.deliveries <= _MAX_DELIVERIES:
            self.forget(claim)
            return
        batch_ids = holders_of(self._connection, claim.chunk_id)
        members = [member for batch_id in batch_ids for member in lost_members(self._connection, batch_id)]
        held = Held(claim, frozenset(batch_ids), len(members))
        if members:
            self._give_up(held, members, str(error))
        else:
            self._recorder.finish(held)

    def _give_up(self, held: Held, members: Sequence[Member], reason: str) -> None:
        log.error("chunk_given_up chunk=%s deliveries=%d", held.claim.chunk_id, held.claim.deliveries)
        self._refuse(held, members, Outcome.INFRA_ERROR, reason)

    def _admit(self, held: Held, members: Sequence[Member], tasks: Mapping[str, TaskBase | Unreadable]) -> None:
        now = time.time()
        works: list[Work] = []
        for member in members:
            task = tasks[member.entry.task.key]
            if is_late(member, now):
                self._refuse(held, [member], Outcome.CANCELLED, TOO_LATE)
            elif isinstance(task, Unreadable):
                self._refuse(held, [member], Outcome.INFRA_ERROR, f"this worker cannot read the task: {task.reason}")
            else:
                works.append(Work(held, member, task))
        self._room.add(works)

    def _without_result(self, members: Sequence[Member], batch_ids: Sequence[str]) -> list[Member]:
        names = [name for one in batch_ids for name in (keys.batch(one), keys.recorded(one))]
        answers = self._connection.ask("EVAL", scripts.ADOPT, len(names), *names, f"{time.time():.6f}")
        bitmaps = dict(zip(batch_ids, answers, strict=True))
        return [
            member
            for member in members
            if bitmaps[member.terms.batch_id] is not None
            and not has_result(bitmaps[member.terms.batch_id], member.entry.index)
        ]

    def _refuse(self, held: Held, members: Iterable[Member], outcome: Outcome, reason: str) -> None:
        for member in members:
            self._recorder.put(Finished(held, member, to_line(unjudged(member, outcome, reason))))

    def _drop_late(self) -> None:
        for work in self._room.take_late():
            self._refuse(work.held, [work.member], Outcome.CANCELLED, TOO_LATE)

    def _usable_lanes(self) -> list[Lane]:
        if time.monotonic() - self._lanes_read > _LOOK_AGAIN_S:
            self._lanes_read = time.monotonic()
            self._lanes = [lane for lane in self._queue.lanes() if self._serves(lane)]
        return self._lanes

    def _serves(self, lane: Lane) -> bool:
        return all([self._has_module(name) for name in lane.requires])  # each is looked for: what is lacking is told

    def _has_module(self, name: str) -> bool:
        known = self._known_modules.get(name)
        if known is None or (not known and name == CUDA_DEVICE):  # a device may come back
            self._known_modules[name] = not lacking([name], self._cuda_device)
        return self._known_modules[name]


def _is_suspicious(claim: Claim) -> bool:
    return claim.deliveries > _SUSPICIOUS_DELIVERIES
