"""Where a client stands in a stream of results: cut connections lose and double nothing, quiet ones are explained."""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx

from assay.answers import BatchStatus, GroupDone
from assay.clients import calls
from assay.clients.calls import Batch, Call, results, typed
from assay.errors import ServiceUnavailable
from assay.schema import Result

log = logging.getLogger(__name__)

Tell = Callable[[str], None]
"""Takes, in a sentence, what a batch waits for."""


@dataclass(frozen=True)
class Progress:
    """How far a batch is that is waited for."""

    done: int
    """Results that came."""
    total: int
    elapsed_s: float
    """Seconds since the waiting began."""

    @property
    def rate_per_s(self) -> float:
        """Results a second since the waiting began; 0 before the first."""
        return self.done / self.elapsed_s if self.elapsed_s > 0 else 0.0

    @property
    def remaining_s(self) -> float | None:
        """Seconds that the rest takes at this rate; None before the first result."""
        return (self.total - self.done) / self.rate_per_s if self.rate_per_s > 0 else None


Watch = Callable[[Progress], None]
"""Takes how far a batch is, after each result; what it raises ends the waiting, not the batch."""

QUIET_S = 10.0
"""A stream that says nothing for so long is asked for again, and its batch for what it waits for."""


def listening(timeout: httpx.Timeout) -> httpx.Timeout:
    """Return the time-outs of a stream of results."""
    read_s = QUIET_S if timeout.read is None else min(timeout.read, QUIET_S)
    return httpx.Timeout(connect=timeout.connect, read=read_s, write=timeout.write, pool=timeout.pool)


class Gathered:
    """The results of one batch as they come, and who is told of it."""

    def __init__(self, total: int, watch: Watch | None) -> None:
        self._total = total
        self._watch = watch
        self._began = time.monotonic()
        self._results: list[Result] = []

    def add(self, result: Result) -> None:
        """Take the next result."""
        self._results.append(result)
        if self._watch is not None:
            self._watch(Progress(len(self._results), self._total, time.monotonic() - self._began))

    def in_input_order(self, count: int | None = None) -> list[Result]:
        """Return what came, ordered by index. Raises ServiceUnavailable unless each of `count` came once.

        None: each of as many as came.
        """
        return calls.in_input_order(self._results, len(self._results) if count is None else count)


class Quiet:
    """Tells what a batch waits for that its service does not offer: each thing once."""

    def __init__(self, batch: Batch, tell: Tell | None) -> None:
        self._batch_id = batch if isinstance(batch, str) else batch.batch_id
        self._tell = tell or self._log
        self._told: set[str] = set()

    def look(self, status: BatchStatus) -> None:
        """Take the status of the batch while nothing came."""
        for text in map(str, status.waiting_for):
            if text not in self._told:
                self._told.add(text)
                self._tell(text)

    def _log(self, text: str) -> None:
        log.warning("batch %s waits: %s", self._batch_id, text)


class Following:
    """Takes lines of results, remembers the last `seq`, and says when the batch is complete.

    A batch's results are numbered 1, 2, … without gaps: it is complete once `seq` reaches its total. Lines about groups
    stand behind the result that completed them, and come again where a stream is resumed there.
    """

    def __init__(self, batch: Batch, after: int, *, with_groups: bool = False) -> None:
        self._batch = batch
        self._with_groups = with_groups
        self._told: set[str] = set()
        self._is_whole = False
        self.after = after

    def call(self) -> Call[None]:
        """Return the request for what comes next; the stream that answers it has not ended well until `end`."""
        self._is_whole = False
        return results(self._batch, self.after, with_groups=self._with_groups)

    def take(self, line: str) -> Result | GroupDone | None:
        """Return what the line tells, or None for one that is blank, cut short, was taken before or comes too early.

        What comes after a line that was lost is asked for again: nobody may take it for the one that is missing. Raises
        ServiceUnavailable for a whole line that is neither.
        """
        try:
            document = json.loads(line, parse_constant=calls.no_constant) if line.strip() else None
        except ValueError:
            return None  # the connection was cut within the line: it is asked for again
        except RecursionError as error:
            raise ServiceUnavailable(f"a line of results cannot be read: {error}") from error
        if document is None:
            return None
        is_group = isinstance(document, dict) and "event" in document
        return self._take_group(typed(GroupDone, document)) if is_group else self._take_result(typed(Result, document))

    def end(self) -> None:
        """The stream has ended as one does that is complete."""
        self._is_whole = True

    def is_complete(self, total: int) -> bool:
        """Whether every one of `total` results was taken, and nothing about groups can be missing behind the last."""
        return self.after >= total and (self._is_whole or not self._with_groups)

    def _take_result(self, result: Result) -> Result | None:
        if result.seq != self.after + 1:
            return None
        calls.check_finite(result)
        self.after = result.seq
        return result

    def _take_group(self, group: GroupDone) -> GroupDone | None:
        if group.group in self._told:
            return None
        self._told.add(group.group)
        return group
