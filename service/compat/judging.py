"""Judging completions for a caller of a drop-in endpoint: through the queue, held while there is room or time."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any  # Any: tasks and result lines are JSON

from starlette.requests import Request

from assay.canonical import dump_line
from assay.errors import InvalidRequest, QueueFull, RequestError, ServiceUnavailable
from assay.outcomes import Outcome
from assay.schema import BatchOptions
from assay.service.aside import aside
from assay.service.draft import Draft, NewBatch
from assay.service.parts import Parts

_FAULTS = frozenset({Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE, Outcome.CANCELLED})
"""Outcomes that say nothing about a completion, and may be others at the next try."""
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
    refusals of a task that is wrong, and InvalidRequest for one that proves to be.
    """
    (result,) = await judge_all(parts, request, [task], [completion], hold_s=hold_s)
    outcome = Outcome(result["outcome"])
    if outcome is Outcome.TASK_ERROR:
        raise InvalidRequest(result["message"], path="tests", fix="correct the tests: no program is judged by these")
    if outcome in _FAULTS:
        raise TooSlow(f"no verdict: {result['message']}", fix="try again")
    return result


async def judge_all(
    parts: Parts,
    request: Request | None,
    tasks: Sequence[Mapping[str, Any] | str],
    completions: Sequence[str],
    *,
    hold_s: float,
    places: Sequence[str] | None = None,
) -> list[Result]:
    """Return the results of completions, whatever they are, in order; a task that is text is the id of a stored one.

    Limits that a task does not give are no more than the operator allows. Raises TooSlow, and refusals of what is
    wrong, of limits that are given and not allowed too; `places` are the paths at which the caller has named the tasks.
    """
    draft = Draft(parts.registry, parts.settings, parts.known, lowers_defaults=True)
    for number, (task, completion) in enumerate(zip(tasks, completions, strict=True)):
        place = places[number] if places else f"tasks[{number}]"
        task_id = task if isinstance(task, str) else draft.add_task(task, place, len(dump_line(task)))
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
    gone = gone_of(request)
    while True:
        try:
            lines = await parts.calls.score(batch, gone)
        except (QueueFull, ServiceUnavailable) as error:
            if parts.hub.is_stopping:
                raise TooSlow(str(error), fix="try again, once the service has started again") from error
            if time.monotonic() + _AGAIN_S >= ends:
                raise TooSlow(str(error), fix="try again, with fewer calls at once") from error
            await asyncio.sleep(_AGAIN_S)
            continue
        if not lines:
            raise TooSlow("the caller has gone")
        return await aside(_parsed, lines, sum(map(len, lines)))


def _parsed(lines: Sequence[bytes]) -> list[Result]:
    return [json.loads(line) for line in lines]


def gone_of(request: Request | None) -> Callable[[], Awaitable[None]]:
    """Return what waits until a caller is gone; None: nobody waits, so nobody goes."""

    async def gone() -> None:
        if request is None:
            await asyncio.Event().wait()
            return
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return gone
