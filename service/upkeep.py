"""What somebody must do now and then: archive, expire, sweep leases, complete groups, bring late batches forward,
forget lanes, tell what waits in vain."""

import logging
import threading
import time

from assay.errors import AssayError
from assay.service import keys
from assay.service.connection import Connection
from assay.service.parts import Parts
from assay.service.shortages import ShortageLog

log = logging.getLogger(__name__)

_PERIOD_S = 1.0
_TERM_S = 10
_EXPIRE_EVERY = 600  # rounds


class Upkeep:
    """A thread that does the chores of one service; of several services on one Redis, one does them at a time."""

    def __init__(self, parts: Parts, name: str) -> None:
        self._parts = parts
        self._name = name
        self._shortages = ShortageLog()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="upkeep", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the chore in hand."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        rounds = 0
        while not self._stopping.wait(_PERIOD_S):
            try:
                if is_elected(self._parts.connection, keys.UPKEEP, self._name):
                    do_chores(self._parts)
                    self._shortages.note(self._parts.shortages.waiting(), time.monotonic())
                    if rounds % _EXPIRE_EVERY == 0:
                        self._parts.batches.queue.retire_lanes()
                if rounds % _EXPIRE_EVERY == 0:
                    self._parts.archive.expire(self._parts.settings.result_ttl_s)
            except (AssayError, OSError) as error:
                log.warning("upkeep_failed error=%s", error)
            except Exception:  # the thread's outermost frame: without it nobody would sweep any more
                log.exception("upkeep_failed")
            rounds += 1


def do_chores(parts: Parts) -> None:
    """Do every chore once. Raises ServiceUnavailable, OSError."""
    swept = parts.batches.queue.sweep()
    if swept:
        log.warning("chunks_requeued count=%d reason=lease", swept)
    for batch_id in parts.batches.late():
        log.info("batch_late batch_id=%s", batch_id)
    parts.results.archive_due()
    completed = parts.second_pass.sweep()
    if completed:
        log.warning("groups_completed count=%d reason=overdue", completed)


def is_elected(connection: Connection, office: str, name: str) -> bool:
    """Take or renew an office for a few seconds; say whether it is `name`'s."""
    if connection.ask("SET", office, name, "NX", "EX", _TERM_S):
        return True
    if connection.ask("GET", office) != name.encode():
        return False
    connection.ask("EXPIRE", office, _TERM_S)
    return True
