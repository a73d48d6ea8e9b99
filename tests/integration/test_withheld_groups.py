"""Results that are withheld until their group is complete, without a worker: damage, deaths and cancelling."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from batches import assert_exactly_once, follow, submit, wait_for
from group_batches import THREE, attempt, group_task, rewards, settings_for, status_of
from processes import Running, running

from assay.canonical import load
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.service import keys
from assay.service.cancelling import Cancelling
from assay.service.chunks import Member, unpack
from assay.service.connection import Pipeline
from assay.service.damage import lost_members
from assay.service.fakes import fake_registry
from assay.service.queue import ChunkQueue
from assay.service.recording import Offer, judged, offer, to_line, unjudged
from assay.service.second_pass import SecondPass, withhold
from assay.service.tasks import TaskStore
from assay.verifiers.evaluate import Evaluation


def members_of(service: Running, batch_id: str) -> list[Member]:
    """The attempts of a batch that are in its chunks, in input order."""
    names = [name.decode() for name in service.connection.ask("SMEMBERS", keys.chunks(batch_id))]
    members = [one for name in names for one in unpack(service.connection.ask("GET", keys.chunk(name)))]
    return sorted(members, key=lambda one: one.entry.index)


def judge_all(service: Running, batch_id: str) -> None:
    """Do what a worker does, up to the moment when it would complete the groups; then do no more, as if killed."""
    withhold_all(service, members_of(service, batch_id))


def withhold_all(service: Running, members: Sequence[Member]) -> None:
    """Judge attempts and have their results withheld."""
    registry = fake_registry()
    texts = TaskStore(service.connection).documents(member.entry.task.key for member in members)
    offers: list[Offer] = []
    for member in members:
        task = registry.parse_task(load(texts[member.entry.task.key]))
        verdict = registry.get(task.verifier).judge(task, member.entry.completion, FakeSlot())
        assert verdict.standing is not None
        result = judged(member, task, Evaluation(verdict, 0.0, "", "1"), 0.0)
        offers.append(withhold(member, to_line(result), verdict.standing))
    pipeline = service.connection.pipeline()
    offer(pipeline, offers)
    service.connection.run(pipeline)


def record(service: Running, member: Member) -> None:
    """Record that an attempt could not be judged."""
    pipeline = service.connection.pipeline()
    offer(pipeline, [Offer(member, to_line(unjudged(member, Outcome.INFRA_ERROR, "lost")))])
    service.connection.run(pipeline)


@pytest.fixture(scope="module")
def unworked(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:  # noqa: ARG001 - skips
    """A service without workers, for tests that do what a worker would."""
    with running(settings_for(tmp_path_factory.mktemp("unworked"), workers=0)) as service:
        yield service


def test_a_worker_that_dies_before_it_completes_a_group_costs_nothing(unworked: Running) -> None:
    """All results of the group are withheld and nobody is left who knows: the service finds it."""
    batch_id = submit(unworked.http, THREE)
    judge_all(unworked, batch_id)
    assert status_of(unworked, batch_id)["withheld"] == 3

    lines = follow(unworked.http, batch_id)

    assert rewards(lines) == [1.5, 1.0, 0.5]
    assert_exactly_once(lines, 3)


def test_a_mark_that_cannot_be_read_stops_no_other(unworked: Running) -> None:
    """Groups that are ripe after it are completed all the same, and it is looked at again later."""
    unworked.connection.ask("ZADD", keys.RIPE, 0, "no mark", 0, b"\xff {", 0, 'batch "group" "more"')
    batch_id = submit(unworked.http, THREE)
    judge_all(unworked, batch_id)

    lines = follow(unworked.http, batch_id)

    assert rewards(lines) == [1.5, 1.0, 0.5]
    assert unworked.connection.ask("ZCARD", keys.RIPE) == 3


TOO_LARGE = bytes.fromhex("28b52ffde0") + (2**60).to_bytes(8, "little") + b"\1\0\0"  # a frame that says it is


@pytest.mark.parametrize("damaged", [b"damaged", TOO_LARGE])
def test_a_damaged_withheld_result_costs_only_itself(unworked: Running, damaged: bytes) -> None:
    """It becomes `infra_error`, and the others are compared without it."""
    batch_id = submit(unworked.http, THREE)
    judge_all(unworked, batch_id)
    unworked.connection.ask("HSET", keys.withheld(batch_id, "t"), 2, damaged)

    lines = follow(unworked.http, batch_id)

    assert rewards(lines) == [1.5, 0.5, None]
    assert_exactly_once(lines, 3)


def test_a_group_that_the_batch_does_not_know_breaks_nothing(unworked: Running) -> None:
    """A stand-in for a lost attempt may name the wrong group: it is recorded, and so is what comes after it."""
    batch_id = submit(unworked.http, {"tasks": [group_task()], "attempts": [attempt(0), attempt(1), attempt(2)]})
    first, *others = members_of(unworked, batch_id)
    stray = replace(first, entry=replace(first.entry, group=""))

    for member in (stray, *others):
        record(unworked, member)

    assert_exactly_once(follow(unworked.http, batch_id), 3)


class Busy:
    """A connection before whose every question a worker has one more result withheld."""

    def __init__(self, service: Running, members: list[Member]) -> None:
        self._service = service
        self._members = members

    def run(self, pipeline: Pipeline) -> list[Any]:
        """Have one withheld, then ask."""
        if self._members:
            withhold_all(self._service, [self._members.pop()])
        return self._service.connection.run(pipeline)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._service.connection, name)


def test_who_is_lost_is_known_while_others_are_judged(unworked: Running) -> None:
    """As many stand-ins for each group as it lacks results, though results are withheld meanwhile."""
    attempts = [attempt(index, group=group) for index in range(4) for group in "gh"]
    batch_id = submit(unworked.http, {"tasks": [group_task()], "attempts": attempts})
    members = members_of(unworked, batch_id)
    chunks = [keys.chunk(name.decode()) for name in unworked.connection.ask("SMEMBERS", keys.chunks(batch_id))]
    unworked.connection.ask("DEL", *chunks)
    busy: Any = Busy(unworked, [one for one in members if one.entry.group == "g"])

    lost = lost_members(busy, batch_id)

    withheld = int(unworked.connection.ask("HLEN", keys.withheld(batch_id, "g")))
    assert withheld
    assert Counter(one.entry.group for one in lost) == {"g": 4 - withheld, "h": 4}


def test_a_batch_that_is_archived_while_it_is_cancelled_is_cancelled(
    unworked: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its status says so, and nothing of it is left in Redis."""
    batch_id = submit(unworked.http, THREE)
    cancelling = Cancelling(unworked.connection, ChunkQueue(unworked.connection), SecondPass(unworked.connection))
    cancel_members = cancelling.cancel_members

    def cancel_and_wait(members: Sequence[Member]) -> int:
        count = cancel_members(members)
        wait_for(lambda: not unworked.connection.ask("EXISTS", keys.batch(batch_id)))
        return count

    monkeypatch.setattr(cancelling, "cancel_members", cancel_and_wait)
    cancelling.cancel(batch_id)

    assert status_of(unworked, batch_id)["state"] == "cancelled"
    assert not unworked.connection.ask("EXISTS", keys.batch(batch_id))
