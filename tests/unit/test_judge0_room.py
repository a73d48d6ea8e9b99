"""How many of Judge0's submissions are taken at once, when calls come together."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from assay.errors import ServiceUnavailable
from assay.service.compat import judge0
from assay.service.compat.judge0 import QueueIsFull, Submission, SubmissionBatch
from assay.service.parts import Parts
from assay.settings import Settings

_ONE = Submission(source_code="1", language_id=71)


class _Texts:
    """Keeps nothing; fails from its `fails_from`-th call on."""

    def __init__(self, fails_from: int = 1000) -> None:
        self.calls = 0
        self.fails_from = fails_from

    def keep(self, _token: str, _text: str) -> None:
        self.calls += 1
        if self.calls >= self.fails_from:
            raise ServiceUnavailable("no Redis")


@pytest.fixture
def running() -> asyncio.Event:
    """What all programs wait for."""
    return asyncio.Event()


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch, running: asyncio.Event) -> Any:
    """Routes with room for two, whose programs end as faults of ours once they may."""

    async def execute(*_given: object, **_limits: object) -> None:
        await running.wait()
        raise ServiceUnavailable("no verdict")

    monkeypatch.setattr(judge0, "execute", execute)
    monkeypatch.setattr(judge0, "_MOST_RUNNING", 2)
    fleet = SimpleNamespace(languages=lambda: None)
    made = judge0._Judge0(cast("Parts", SimpleNamespace(connection=None, fleet=fleet, settings=Settings())))
    made._kept = _Texts()  # type: ignore[assignment]  # has what is called
    return made


def _submit(routes: Any, count: int) -> Any:
    return routes.submit_batch(SubmissionBatch(submissions=[_ONE] * count))


def test_calls_that_come_together_share_the_room(routes: Any, running: asyncio.Event) -> None:
    """None has begun when the others look; and what has ended leaves its room."""

    async def call() -> tuple[list[bool], int]:
        told = await asyncio.gather(*(_submit(routes, 1) for _ in range(6)), return_exceptions=True)
        running.set()
        await asyncio.gather(*routes._running)
        return [isinstance(one, QueueIsFull) for one in told], len(await asyncio.gather(*(_submit(routes, 2),)))

    refused, again = asyncio.run(call())
    assert (refused.count(False), refused.count(True), again) == (2, 4, 1)


@pytest.mark.parametrize("fails_from", [1, 2])
def test_what_could_not_be_kept_leaves_its_room(routes: Any, fails_from: int) -> None:
    """Of a batch of two none has begun, or one: the rest of the room is free again."""
    routes._kept = _Texts(fails_from)

    async def call() -> tuple[int, int]:
        with pytest.raises(ServiceUnavailable):
            await _submit(routes, 2)
        return routes._taken, routes._taken_bytes

    assert asyncio.run(call()) == (fails_from - 1, fails_from - 1)


def test_what_is_refused_takes_no_room(routes: Any) -> None:
    """A batch is as many as are begun."""
    wrong = Submission(source_code="1", language_id=0)

    async def call() -> int:
        await routes.submit_batch(SubmissionBatch(submissions=[wrong, wrong, _ONE, wrong]))
        return int(routes._taken)

    assert asyncio.run(call()) == 1
