"""Group terms through HTTP: results wait for their group, come once, and whatever dies meanwhile costs none."""

import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from batches import Document, assert_exactly_once, follow, order, submit, wait_for
from processes import Running, is_alive, kill, running

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
from assay.settings import Settings
from assay.verifiers.evaluate import Evaluation

FLAG = "group_terms"
SIZE = 8
GROUPS = 30


def group_task(task_id: str = "t", **fields: Any) -> Document:
    """A task whose attempts are compared by their lengths."""
    return {
        "id": task_id,
        "verifier": "composite",
        "terms": [{"name": "accuracy", "verifier": "echo", "task": {"tests": ["a"]}}],
        "group_terms": [{"kind": "relative_length", "name": "short"}],
        **fields,
    }


def attempt(length: int, outcome: str = "passed", **fields: Any) -> Document:
    """An attempt whose completion is so many characters longer than the shortest can be."""
    known = {key: fields.pop(key) for key in ("task_id", "group", "truncated") if key in fields}
    return {"task_id": "t", **known, "completion": order(outcome, pad="x" * length, **fields)}


def rewards(lines: list[Document]) -> list[float | None]:
    """The rewards in input order."""
    return [line["reward"] for line in sorted(lines, key=lambda line: line["index"])]


def score(http: httpx.Client, body: Document, **headers: str) -> list[Document]:
    """Score interactively."""
    answer = http.post("/v1/score", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["results"])


THREE = {"tasks": [group_task()], "attempts": [attempt(0), attempt(10), attempt(20)]}


def test_a_group_is_compared_once_it_is_complete(http: httpx.Client) -> None:
    """Rewards hold the term, results the raw value and the flag, and the group's sum is that of what was handed out."""
    batch_id = submit(http, THREE)

    lines = follow(http, batch_id, events="groups")

    *results, event = lines
    assert rewards(results) == [1.5, 1.0, 0.5]
    assert all(line["flags"] == [FLAG] and line["terms"]["accuracy"] == 1.0 for line in results)
    assert_exactly_once(results, 3)
    assert (event["attempts"], event["mean_reward"]) == (3, 1.0)
    assert http.get("/v1/tasks/t/stats").json()["mean_reward"] is not None


def test_scores_are_the_same(http: httpx.Client) -> None:
    """`POST /v1/score` waits for the group too, kept under a key or not."""
    plain = score(http, THREE)
    kept = score(http, THREE, **{"Idempotency-Key": f"groups-{time.time()}"})

    assert rewards(plain) == rewards(kept) == [1.5, 1.0, 0.5]
    assert [line["flags"] for line in plain] == [[FLAG]] * 3


def test_results_wait_for_their_own_group_only(http: httpx.Client) -> None:
    """What is judged is withheld and counted as such; other groups and tasks go on."""
    slow = attempt(20, sleep_s=30.0)
    other = {"id": "e", "verifier": "echo", "tests": ["a"]}
    body = {
        "tasks": [group_task(), other],
        "attempts": [
            attempt(0),
            attempt(10),
            slow,
            attempt(0, task_id="e"),
            attempt(0, group="h"),
            attempt(9, group="h"),
        ],
    }
    batch_id = submit(http, body)
    wait_for(lambda: http.get(f"/v1/batches/{batch_id}").json()["done"] == 3)
    wait_for(lambda: http.get(f"/v1/batches/{batch_id}").json()["withheld"] == 2)

    with http.stream("GET", f"/v1/batches/{batch_id}/results.jsonl") as answer:
        early = [load(line) for line in answer.iter_lines()]
    http.post(f"/v1/batches/{batch_id}/cancel", json={"attempts": [2]})
    late = follow(http, batch_id, after=3)

    assert sorted(line["index"] for line in early) == [3, 4, 5]
    assert [line["index"] for line in late] == [2, 0, 1]
    assert_exactly_once([*early, *late], 6)
    assert http.get(f"/v1/batches/{batch_id}").json()["withheld"] == 0


@pytest.mark.parametrize("outcome", ["infra_error", "task_error"])
def test_attempts_without_a_reward_take_no_part(http: httpx.Client, outcome: str) -> None:
    """They come as they are, and the others are compared without them."""
    lines = score(http, {"tasks": [group_task()], "attempts": [attempt(0), attempt(10), attempt(10**4, outcome)]})

    assert rewards(lines) == [1.5, 0.5, None]
    assert [FLAG in line["flags"] for line in lines] == [True, True, False]


def test_masked_attempts_take_no_part(http: httpx.Client) -> None:
    """A truncated attempt without a reward is nobody's standard."""
    body = {
        "tasks": [group_task()],
        "attempts": [attempt(0), attempt(10), attempt(10**4, truncated=True)],
        "options": {"mask_truncated": True},
    }

    assert rewards(score(http, body)) == [1.5, 0.5, None]


def test_groups_may_span_tasks(http: httpx.Client) -> None:
    """Attempts at several tasks are compared in one group; those without group terms do not wait for it."""
    tasks = [group_task("a"), group_task("b"), {"id": "e", "verifier": "echo", "tests": ["a"]}]
    attempts = [attempt(length, task_id=name, group="g") for length, name in ((0, "a"), (10, "b"), (5, "e"))]

    assert rewards(score(http, {"tasks": tasks, "attempts": attempts})) == [1.5, 0.5, 1.0]


def test_a_cancelled_batch_still_hands_out_what_was_judged(http: httpx.Client) -> None:
    """What was judged is compared among itself; the rest is cancelled."""
    batch_id = submit(http, {**THREE, "attempts": [attempt(0), attempt(10), attempt(20, sleep_s=30.0)]})
    wait_for(lambda: http.get(f"/v1/batches/{batch_id}").json()["withheld"] == 2)

    http.delete(f"/v1/batches/{batch_id}")

    lines = follow(http, batch_id)
    assert rewards(lines) == [1.5, 0.5, None]
    assert http.get(f"/v1/batches/{batch_id}").json()["outcomes"] == {"passed": 2, "cancelled": 1}


def test_a_deadline_does_not_keep_a_group_waiting(http: httpx.Client) -> None:
    """Attempts that came too late are cancelled; the others are compared without them."""
    slow = [attempt(index, sleep_s=1.5, group="slow", mark=index) for index in range(8)]
    body = {"tasks": [group_task()], "attempts": [*slow, attempt(0), attempt(10)], "options": {"deadline_s": 1.0}}

    lines = follow(http, submit(http, body))

    assert_exactly_once(lines, 10)
    assert {line["outcome"] for line in lines} <= {"passed", "cancelled"}
    assert all((FLAG in line["flags"]) is (line["reward"] is not None) for line in lines)


def many_groups() -> Document:
    """A batch of many groups that takes a second or two."""
    tasks = [group_task(f"t{number}") for number in range(GROUPS)]
    attempts = [
        attempt(index, task_id=f"t{number}", sleep_s=0.02, mark=index)
        for index in range(SIZE)
        for number in range(GROUPS)
    ]
    return {"tasks": tasks, "attempts": attempts, "options": {"cache": False}}


def settings_for(data_dir: Path, workers: int = 2) -> Settings:
    """Settings of a small service."""
    return Settings(port=0, data_dir=data_dir, slots=4, workers=workers, log_level="error")


def submit_and_wait_for_some(service: Running) -> str:
    """Submit many groups and wait until part of them is judged."""
    batch_id = submit(service.http, many_groups())
    wait_for(lambda: (status := status_of(service, batch_id))["done"] + status["withheld"] >= GROUPS)
    assert status_of(service, batch_id)["done"] < GROUPS * SIZE
    return batch_id


def status_of(service: Running, batch_id: str) -> Document:
    """The status of a batch."""
    return dict(service.http.get(f"/v1/batches/{batch_id}").json())


def check_all_compared(lines: list[Document]) -> None:
    """Fail unless every attempt has one result, compared with the whole of its group."""
    assert_exactly_once(lines, GROUPS * SIZE)
    assert {line["outcome"] for line in lines} == {"passed"}
    for line in lines:
        assert line["flags"] == [FLAG]
        assert line["terms"]["short"] == pytest.approx(0.5 - int(line["attempt"]) / (SIZE - 1))


def test_killed_workers_cost_nothing(data_dir: Path) -> None:
    """kill -9 of both workers, again and again, while groups are withheld and completed."""
    with running(settings_for(data_dir)) as service:
        batch_id = submit_and_wait_for_some(service)

        for _ in range(3):
            before = set(service.worker_pids())
            for pid in before:
                kill(pid)
            wait_for(lambda before=before: bool(set(service.worker_pids()) - before))

        check_all_compared(follow(service.http, batch_id))
        assert not service.connection.ask("ZCARD", keys.RIPE)


def test_a_killed_service_goes_on_where_it_was(data_dir: Path) -> None:
    """What is withheld outlives everything."""
    with running(settings_for(data_dir)) as service:
        batch_id = submit_and_wait_for_some(service)
        others = [*service.worker_pids(), service.redis_pid()]
        service.process.send_signal(signal.SIGKILL)
        service.process.wait()
        wait_for(lambda: not any(map(is_alive, others)))

    with running(settings_for(data_dir)) as service:
        check_all_compared(follow(service.http, batch_id))


def test_a_killed_redis_is_started_again(data_dir: Path) -> None:
    """kill -9 of the private Redis in mid-batch."""
    with running(settings_for(data_dir)) as service:
        batch_id = submit_and_wait_for_some(service)

        kill(service.redis_pid())

        wait_for(lambda: service.http.get(f"/v1/batches/{batch_id}").status_code == 200)
        check_all_compared(follow(service.http, batch_id))


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


def test_sums_that_no_double_holds_cost_no_worker(http: httpx.Client) -> None:
    """They are withheld like others; what bounds make of them counts, and without bounds it is `infra_error`."""
    part = {**group_task()["terms"][0], "weight": 1e9}
    tasks = [group_task("t", terms=[part], clip=[0.0, 1.0]), group_task("u", terms=[part])]
    attempts = [attempt(0, reward=1e308), attempt(0), attempt(0, task_id="u", reward=1e308), attempt(0, task_id="u")]

    lines = score(http, {"tasks": tasks, "attempts": attempts})

    assert rewards(lines) == [1.0, 1.0, None, 1e9]
    assert lines[2]["outcome"] == "infra_error"


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
