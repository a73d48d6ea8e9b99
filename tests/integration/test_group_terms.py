"""Group terms through HTTP: results wait for their group, come once, and whatever dies meanwhile costs none."""

import signal
import time
from pathlib import Path

import httpx
import pytest
from batches import Document, assert_exactly_once, follow, submit, wait_for
from group_batches import FLAG, GROUPS, SIZE, THREE, attempt, group_task, rewards, score, settings_for, status_of
from processes import Running, is_alive, kill, running

from assay.canonical import load
from assay.service import keys


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


def submit_and_wait_for_some(service: Running) -> str:
    """Submit many groups and wait until part of them is judged."""
    batch_id = submit(service.http, many_groups())
    wait_for(lambda: (status := status_of(service, batch_id))["done"] + status["withheld"] >= GROUPS)
    assert status_of(service, batch_id)["done"] < GROUPS * SIZE
    return batch_id


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


def test_sums_that_no_double_holds_cost_no_worker(http: httpx.Client) -> None:
    """They are withheld like others; what bounds make of them counts, and without bounds it is `infra_error`."""
    part = {**group_task()["terms"][0], "weight": 1e9}
    tasks = [group_task("t", terms=[part], clip=[0.0, 1.0]), group_task("u", terms=[part])]
    attempts = [attempt(0, reward=1e308), attempt(0), attempt(0, task_id="u", reward=1e308), attempt(0, task_id="u")]

    lines = score(http, {"tasks": tasks, "attempts": attempts})

    assert rewards(lines) == [1.0, 1.0, None, 1e9]
    assert lines[2]["outcome"] == "infra_error"
