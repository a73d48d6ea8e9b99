"""A worker process: slots that judge, a feeder that fills them, a recorder that brings results home.

It never forks for a job: the sandbox beneath it owns all processes. It can be killed at any moment: what it held
goes back to the queue, and what it had recorded is not judged again.
"""

import logging
import os
import signal
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import msgpack

from assay.errors import AssayError, Mishap, ServiceUnavailable
from assay.outcomes import Outcome
from assay.service import keys
from assay.service.assembly import Assembler, Assembly, reserve_for
from assay.service.connection import Connection, next_message
from assay.service.feeder import TOO_LATE, Feeder
from assay.service.fleet import Fleet, WorkerInfo
from assay.service.queue import ChunkQueue
from assay.service.recorder import Finished, Recorder
from assay.service.recording import judged, to_line, unjudged
from assay.service.task_cache import TaskCache
from assay.service.tasks import TaskStore
from assay.service.verdict_cache import VerdictCache
from assay.service.waiting_room import WaitingRoom, Work, is_late
from assay.settings import Settings, override
from assay.verifiers.groups import Judged

log = logging.getLogger(__name__)

EXIT_FAILED = 1
"""Exit status when starting again may help."""
EXIT_REFUSED = 78
"""Exit status when the host cannot offer what the settings ask for: starting again would not help."""

_HEARTBEAT_S = 3.0
_GRACE_S = 5.0
_KILL_S = 5.0
_LISTEN_S = 0.25
_PAUSE_S = 1.0
_RECORD_S = 5.0
_LIGHT_TOGETHER = 16  # attempts, of which one may take a tenth of a second if its completion is hostile


def run_worker(
    settings: Settings, redis_url: str, *, assembler: Assembler | None = None, name: str | None = None
) -> int:
    """Judge chunks until SIGTERM or SIGINT; return the exit status. Call it from the main thread.

    Raises InvalidRequest if `redis_url` is no address.
    """
    connection = Connection(redis_url)
    try:
        assembly = (assembler or Assembler()).make_assembly(override(settings, {"redis_url": redis_url}))
    except (Mishap, ServiceUnavailable) as error:
        log.error("worker_not_started reason=%s", error)
        return EXIT_FAILED
    except AssayError as error:
        log.error("worker_refused reason=%s", error)
        return EXIT_REFUSED
    with _Wishes() as wishes:
        worker = Worker(assembly, connection, name or make_worker_name(), on_failure=wishes.stop)
        try:
            worker.start()
            wishes.wait()
            worker.stop()
        finally:
            assembly.close()
            connection.close()
    return EXIT_FAILED if worker.has_failed else 0


class _Wishes:
    """SIGTERM, SIGINT and failed threads say that they want an end; the main thread waits for one to say so.

    A pipe, because a signal may interrupt anything: two in a row would deadlock a `threading.Event`. Python writes to
    it at once in whichever thread the kernel delivers a signal to: after SIGCONT that is often not the main thread,
    whose `read` would go on.
    """

    def __enter__(self) -> "_Wishes":
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._woken = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        numbers = (signal.SIGTERM, signal.SIGINT)
        self._before = {number: signal.signal(number, lambda *_: self.stop()) for number in numbers}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._woken)
        os.close(self._reading)
        os.close(self._writing)

    def stop(self) -> None:
        """Want an end."""
        os.write(self._writing, b".")

    def wait(self) -> None:
        """Wait until somebody wants an end."""
        os.read(self._reading, 1)


def make_worker_name() -> str:
    """Return a name that no other worker has."""
    return f"{socket.gethostname().replace(':', '-')}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


class Worker:
    """The threads of one worker."""

    def __init__(self, assembly: Assembly, connection: Connection, name: str, on_failure: Callable[[], None]) -> None:
        self._on_failure = on_failure
        self._assembly = assembly
        self._connection = connection
        self._queue = ChunkQueue(connection)
        self._fleet = Fleet(connection)
        self._info = WorkerInfo(name, socket.gethostname(), os.getpid(), assembly.slots, assembly.registry.names)
        self._room = WaitingRoom(assembly.slots, assembly.reserved, model_calls=assembly.model_calls)
        self._recorder = Recorder(connection, name, lambda claim: self._feeder.forget(claim))
        tasks = TaskCache(TaskStore(connection), assembly.registry)
        self._feeder = Feeder(connection, name, self._room, self._recorder, tasks, assembly.cuda_device)
        self._stop = threading.Event()
        self._verdicts = VerdictCache()
        self._abandoning = False
        self.has_failed = False

    def start(self) -> None:
        """Begin to work."""
        self._recording = self._spawn("recorder", self._recorder.run)
        self._others = [
            self._spawn("feeder", self._feeder.run),
            self._spawn("listener", self._listen),
            self._spawn("heartbeat", self._beat),
        ]
        self._slots = [self._spawn(f"slot-{number}", self._run_slot) for number in range(self._assembly.slots)]
        self._slots.append(self._spawn("light", self._run_light))
        askers = self._assembly.model_calls + reserve_for(self._assembly.model_calls)
        self._slots += [self._spawn(f"asking-{number}", self._run_asking) for number in range(askers)]
        log.info("worker_ready name=%s slots=%d", self._info.name, self._info.slots)

    def stop(self) -> None:
        """Finish what runs (for a few seconds), record it, and give the rest back."""
        self._feeder.stop()
        self._room.close()
        self._wind_up(self._slots)
        self._recorder.stop()
        self._recording.join(_RECORD_S)
        self._recorder.abandon()
        self._stop.set()
        for thread in (self._recording, *self._others):
            thread.join()
        self._leave()

    def _wind_up(self, slots: list[threading.Thread]) -> None:
        if not self._room.wait_until_idle(_GRACE_S):
            self._abandoning = True  # they are killed by us, not by the caller: others will judge them
            for work in self._room.running():
                work.token.cancel()
            self._room.wait_until_idle(_KILL_S)
        for thread in slots:
            thread.join(_KILL_S)

    def _leave(self) -> None:
        try:
            self._queue.give_back(self._info.name, self._feeder.held())
            self._fleet.retire(self._info.name)
        except ServiceUnavailable as error:
            log.warning("worker_left_silently error=%s", error)  # leases run out by themselves

    def _run_slot(self) -> None:
        while (work := self._room.take()) is not None:
            with self._running(work):
                self._judge_and_record(work)

    def _run_light(self) -> None:
        while works := self._room.take_light(_LIGHT_TOGETHER):
            with self._running(*works):
                for work in works:
                    self._judge_and_record(work)

    def _run_asking(self) -> None:
        while (work := self._room.take_asking()) is not None:
            with self._running(work) as leaving:
                asked = None
                if not work.token.cancelled and not is_late(work.member, time.time()):
                    asked = self._assembly.judge.ask(work.task, work.member.entry.completion, work.token)
                    if asked.needs_slot:
                        leaving.pop_all()
                        self._room.hand_over(work, asked)
                        continue
                self._judge_and_record(replace(work, asked=asked))

    @contextmanager
    def _running(self, *works: Work) -> Iterator[ExitStack]:
        """Have work that was taken leave the room, also if its thread ends by it: no end of a worker waits for that."""
        with ExitStack() as leaving:
            leaving.callback(self._room.leave, *works)
            self._feeder.refill()
            yield leaving

    def _judge_and_record(self, work: Work) -> None:
        finished = self._judge(work)
        if finished is not None:
            self._recorder.put(finished)

    def _judge(self, work: Work) -> Finished | None:
        """Return what to record, or None if this worker is about to end and others will judge it."""
        member = work.member
        started = time.time()
        if work.token.cancelled:
            if self._abandoning:
                return None
            return Finished(work.held, member, to_line(unjudged(member, Outcome.CANCELLED, "cancelled by the caller")))
        if work.asked is None and is_late(member, started):
            return Finished(work.held, member, to_line(unjudged(member, Outcome.CANCELLED, TOO_LATE)))
        asking_s = 0.0 if work.asked is None else work.asked.spent_s
        try:
            found = self._judge_or_recall(work, max(0.0, started - member.terms.accepted - asking_s))
            if found is None:
                return None
            return Finished(work.held, member, to_line(found.result), found.standing if found.takes_part else None)
        except ValueError as error:
            # No exception of judging: `evaluate` has turned those into outcomes. Its verdict holds what JSON cannot
            # carry, such as a NaN among the terms, which shows only here.
            log.exception("result_unwritable batch_id=%s attempt=%d", *work.key)
            refused = unjudged(member, Outcome.INFRA_ERROR, f"the verdict cannot be written: {error}")
            return Finished(work.held, member, to_line(refused))

    def _judge_or_recall(self, work: Work, queued_s: float) -> Judged | None:
        task, completion = work.task, work.member.entry.completion
        may_recall = (
            work.member.terms.cache and not task.asks_models()
        )  # models are sampled: equal work may end otherwise
        known = self._verdicts.recall(task, completion) if may_recall else None
        if known is not None:
            result = judged(work.member, task, known, queued_s).model_copy(update={"cached": True})
            return Judged(result, known.verdict.standing)
        evaluation = self._assembly.judge.evaluate(task, completion, work.token, work.asked)
        if self._abandoning and evaluation.verdict.outcome is Outcome.CANCELLED:
            return None
        if may_recall:
            self._verdicts.learn(task, completion, evaluation)
        return Judged(judged(work.member, task, evaluation, queued_s), evaluation.verdict.standing)

    def _listen(self) -> None:
        while not self._stop.is_set():
            try:
                with self._connection.listening(keys.WORK_CHANNEL, keys.CANCEL_CHANNEL) as pubsub:
                    self._feeder.wake()
                    while not self._stop.is_set():
                        self._hear(next_message(pubsub, _LISTEN_S))
            except ServiceUnavailable as error:
                log.warning("listener_lost_redis error=%s", error)
                self._stop.wait(_PAUSE_S)

    def _hear(self, message: tuple[str, bytes] | None) -> None:
        if message is None:
            return
        channel, payload = message
        if channel == keys.WORK_CHANNEL:
            self._feeder.wake(payload.decode())
        else:
            batch_id, indexes = msgpack.unpackb(payload)
            self._room.cancel((batch_id, index) for index in indexes)

    def _beat(self) -> None:
        while not self._stop.is_set():
            try:
                languages = self._assembly.languages()
                self._fleet.report(replace(self._info, lacks=self._feeder.lacking(), languages=languages))
                self._queue.extend(self._info.name, self._feeder.held())
            except ServiceUnavailable as error:
                log.warning("heartbeat_missed error=%s", error)
            self._stop.wait(_HEARTBEAT_S)

    def _spawn(self, name: str, target: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                target()
            except BaseException:  # the thread's outermost frame: a worker that lacks a thread must end and be replaced
                log.exception("worker_thread_failed name=%s", name)
                self.has_failed = True
                self._on_failure()

        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread
