"""Judging completions for a caller of a drop-in endpoint: through the queue, held while there is room or time."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any  # Any: tasks and result lines are JSON

from starlette.requests import Request

from assay.errors import QueueFull, RequestError, ServiceUnavailable
from assay.outcomes import Outcome
from assay.schema import BatchOptions
from assay.service.draft import Draft, NewBatch
from assay.service.parts import Parts

FAULTS = frozenset({Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE, Outcome.CANCELLED, Outcome.TASK_ERROR})
"""Outcomes that say nothing about a completion."""
Result = dict[str, Any]
_OPTIONS = BatchOptions(cache=False, keep_output=True)
_AGAIN_S = 0.25
"""After which a full queue is tried again."""


class TooSlow(RequestError):
    """The completion did not get its turn, or its verdict, in the time that the caller waits (504)."""

    slug = "too-slow"
    status = 504


async def judge(
    parts: Parts, request: Request | None, task: Mapping[str, Any], completion: str, *, hold_s: float
) -> Result:
    """Return the result of a completion; its caller is held for at most `hold_s` seconds.

    Raises TooSlow, also where the verdict is a fault of ours: these callers would take it for a verdict. Raises
    refusals of a task that is wrong.
    """
    (result,) = await judge_all(parts, request, [task], [completion], hold_s=hold_s)
    if Outcome(result["outcome"]) in FAULTS:
        raise TooSlow(f"no verdict: {result['message']}", fix="try again")
    return result


async def judge_all(
    parts: Parts,
    request: Request | None,
    tasks: Sequence[Mapping[str, Any] | str],
    completions: Sequence[str],
    *,
    hold_s: float,
) -> list[Result]:
    """Return the results of completions, whatever they are, in order; a task that is text is the id of a stored one.

    Raises TooSlow, and refusals of what is wrong.
    """
    draft = Draft(parts.registry, parts.settings)
    for number, (task, completion) in enumerate(zip(tasks, completions, strict=True)):
        task_id = task if isinstance(task, str) else draft.add_task(task, f"tasks[{number}]", len(str(task)))
        draft.add_attempt({"task_id": task_id, "completion": completion}, f"attempts[{number}]")
    batch = draft.finish(_OPTIONS, parts.batches.tasks)
    ends = time.monotonic() + hold_s
    try:
        async with asyncio.timeout(hold_s):
            return await _patiently(parts, request, batch, ends)
    except TimeoutError as error:
        raise TooSlow(f"no answer within {hold_s:g} s", fix="try again, with fewer calls at once") from error


async def _patiently(parts: Parts, request: Request | None, batch: NewBatch, ends: float) -> list[Result]:
    """Try until there is room: these callers take a refusal for an answer."""
    gone = _gone(request)
    while True:
        try:
            lines = await parts.calls.score(batch, gone)
        except (QueueFull, ServiceUnavailable) as error:
            if time.monotonic() + _AGAIN_S >= ends:
                raise TooSlow(str(error), fix="try again, with fewer calls at once") from error
            await asyncio.sleep(_AGAIN_S)
            continue
        if not lines:
            raise TooSlow("the caller has gone")
        return [json.loads(line) for line in lines]


def _gone(request: Request | None) -> Callable[[], Awaitable[None]]:
    """Return what waits until a caller is gone; None: nobody waits, so nobody goes."""

    async def gone() -> None:
        if request is None:
            await asyncio.Event().wait()
            return
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return gone
