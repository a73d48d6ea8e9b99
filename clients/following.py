"""Where a client stands in a stream of results: cut connections lose and double nothing, quiet ones are explained."""

import json
import logging
from collections.abc import Callable

import httpx

from assay.clients.calls import Batch, BatchStatus
from assay.schema import Result

log = logging.getLogger(__name__)

Tell = Callable[[str], None]
"""Takes, in a sentence, what a batch waits for."""

QUIET_S = 10.0
"""A stream that says nothing for so long is asked for again, and its batch for what it waits for."""


def listening(timeout: httpx.Timeout) -> httpx.Timeout:
    """Return the time-outs of a stream of results."""
    read_s = QUIET_S if timeout.read is None else min(timeout.read, QUIET_S)
    return httpx.Timeout(connect=timeout.connect, read=read_s, write=timeout.write, pool=timeout.pool)


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
    """Takes result lines, remembers the last `seq`, and says when the batch is complete.

    A batch's results are numbered 1, 2, … without gaps: it is complete once `seq` reaches its total.
    """

    def __init__(self, after: int) -> None:
        self.after = after

    def take(self, line: str) -> Result | None:
        """Return the line's result, or None for a line that is blank, cut short or was taken before."""
        if not line.strip():
            return None
        try:
            result = Result.model_validate(json.loads(line))  # pydantic's own reader refuses escaped lone surrogates
        except ValueError:
            return None  # the connection was cut within the line: it is asked for again
        if result.seq <= self.after:
            return None
        self.after = result.seq
        return result

    def is_complete(self, total: int) -> bool:
        """Say whether every one of `total` results was taken."""
        return self.after >= total
