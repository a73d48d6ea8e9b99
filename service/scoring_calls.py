"""`POST /v1/score`: calls that come while others are being handed to Redis go together, first come first served."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any  # Any: futures of two types wait side by side

from assay.errors import AssayError
from assay.service.batches import Batches, members_of, new_batch_id
from assay.service.cancelling import Cancelling
from assay.service.draft import NewBatch
from assay.service.hub import Hub
from assay.service.shortages import Shortages

_TOGETHER = 256  # calls in one transaction

Call = tuple[str, NewBatch]


class ScoreCalls:
    """Answers interactive calls. Belongs to one event loop."""

    def __init__(self, batches: Batches, cancelling: Cancelling, shortages: Shortages, hub: Hub) -> None:
        self._batches = batches
        self._cancelling = cancelling
        self._shortages = shortages
        self._hub = hub
        self._waiting: list[tuple[Call, asyncio.Future[None]]] = []
        self._sender: asyncio.Task[None] | None = None

    async def score(self, batch: NewBatch, gone: Callable[[], Awaitable[None]]) -> list[bytes]:
        """Return the result lines in input order; if the caller is `gone` first, its attempts are cancelled.

        So they are whenever nobody will read what becomes of them. Raises QueueFull, TooLarge, and ServiceUnavailable:
        also where no worker has what its tasks require, where Redis has lost the call, and where the service stops.
        """
        batch_id = new_batch_id()
        with self._hub.expecting(batch_id, len(batch.entries)) as answer:
            if answer.done():
                return answer.result()  # the service stops: nothing more is handed to workers
            await self._hand_over((batch_id, batch))
            self._hub.note_filed(batch_id)
            leaving = asyncio.ensure_future(gone())
            first: set[asyncio.Future[Any]] = {answer, leaving}
            try:
                waiting = asyncio.wait(first, return_when=asyncio.FIRST_COMPLETED)
                await self._shortages.unless_unserved(batch.entries, waiting)
                return answer.result() if answer.done() else []
            finally:
                leaving.cancel()
                if not answer.done() or answer.exception() is not None:
                    members = members_of(batch_id, batch, time.time())
                    await asyncio.shield(asyncio.to_thread(self._cancelling.abandon, batch_id, members))

    async def _hand_over(self, call: Call) -> None:
        taken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((call, taken))
        if self._sender is None or self._sender.done():
            self._sender = asyncio.create_task(self._send())
        await taken

    async def _send(self) -> None:
        while self._waiting:
            part, self._waiting = self._waiting[:_TOGETHER], self._waiting[_TOGETHER:]
            wanted = [one for one in part if not one[1].done()]  # nobody reads what becomes of the others
            if wanted:
                await self._send_together(wanted)

    async def _send_together(self, part: list[tuple[Call, asyncio.Future[None]]]) -> None:
        try:
            await asyncio.to_thread(self._batches.accept_scores, [call for call, _ in part])
        except AssayError as error:
            if len(part) == 1:
                _settle(part[0][1], error)
                return
            for single in part:  # some of them may still fit
                await self._send_together([single])
            return
        for _, taken in part:
            _settle(taken, None)


def _settle(taken: asyncio.Future[None], error: AssayError | None) -> None:
    if taken.done():
        return  # the caller was cancelled meanwhile
    if error is None:
        taken.set_result(None)
    else:
        taken.set_exception(error)
