"""Batches over HTTP: accepted, followed, resumed, grouped, cancelled."""

import gzip
import json
from pathlib import Path

import httpx
import zstandard
from batches import assert_exactly_once, batch, echo_task, follow, order, submit, wait_for

from assay.schema import Result


def test_every_attempt_gets_one_result_line(http: httpx.Client) -> None:
    """A batch's lines hold every index once, seq counting from 1 without gaps, in the canonical key order."""
    document = batch(300, lambda i: order("passed" if i % 3 else "failed"), tasks=7)

    lines = follow(http, submit(http, document))

    assert_exactly_once(lines, 300)
    assert list(lines[0]) == list(Result.model_fields)
    assert [line["outcome"] == "passed" for line in lines] == [line["index"] % 3 != 0 for line in lines]


def test_a_result_says_where_it_belongs(http: httpx.Client) -> None:
    """Group defaults to the task id, the label to the index among the task's attempts; given ones are kept."""
    attempts = [
        {"task_id": "x", "completion": order()},
        {"task_id": "y", "completion": order()},
        {"id": "x", "completion": order(), "group": "g", "attempt": 7, "metadata": {"n": 10**30}},
        {"task_id": "x", "completion": order(), "truncated": True},
    ]

    lines = follow(http, submit(http, {"tasks": [echo_task("x"), echo_task("y")], "attempts": attempts}), order="input")

    assert [(line["group"], line["attempt"]) for line in lines] == [("x", "0"), ("y", "0"), ("g", "7"), ("x", "2")]
    assert lines[2]["metadata"] == {"n": 10**30}
    assert lines[3]["flags"] == ["truncated"]


def test_ndjson_pairs_and_lines_make_a_batch(http: httpx.Client) -> None:
    """Pair lines, task lines and attempt lines may be mixed; equal tasks are one; options come as query."""
    rows = [
        {"task": echo_task("x"), "completion": order()},
        {"task": echo_task("x"), "completion": order(), "group": "g"},
        {"task": echo_task("y")},
        {"attempt": {"task_id": "y", "completion": order(), "truncated": True}},
    ]
    body = "\n".join(json.dumps(row) for row in rows) + "\n\n"

    answer = http.post(
        "/v1/batches", params={"mask_truncated": "true"}, content=body, headers={"content-type": "application/x-ndjson"}
    )
    lines = follow(http, answer.json()["batch_id"], order="input")

    assert [line["task_id"] for line in lines] == ["x", "x", "y"]
    assert lines[2]["reward"] is None


def test_compressed_bodies_are_read(http: httpx.Client) -> None:
    """gzip and zstd bodies give the same batch as a plain one."""
    text = json.dumps(batch(3)).encode()
    bodies = {"gzip": gzip.compress(text), "zstd": zstandard.compress(text)}

    totals = [
        http.post(
            "/v1/batches", content=body, headers={"content-type": "application/json", "content-encoding": name}
        ).json()["total"]
        for name, body in bodies.items()
    ]

    assert totals == [3, 3]


def test_the_same_key_and_body_is_the_same_batch(http: httpx.Client) -> None:
    """A repeated request under one Idempotency-Key answers with the batch that exists."""
    first = submit(http, batch(2), **{"Idempotency-Key": "once"})
    again = submit(http, batch(2), **{"Idempotency-Key": "once"})

    assert again == first
    assert len(follow(http, first)) == 2


def test_the_same_key_with_another_body_is_refused(http: httpx.Client) -> None:
    """An Idempotency-Key belongs to one body."""
    submit(http, batch(2), **{"Idempotency-Key": "taken"})

    answer = http.post("/v1/batches", json=batch(3), headers={"Idempotency-Key": "taken"})

    assert answer.status_code == 422
    assert answer.json()["path"] == "Idempotency-Key"


def test_results_resume_after_a_seq(http: httpx.Client) -> None:
    """`after` leaves out what was seen, also once the batch is archived."""
    batch_id = submit(http, batch(20))
    everything = follow(http, batch_id)

    rest = follow(http, batch_id, after=15)

    assert rest == everything[15:]


def test_finished_batches_move_to_files(http: httpx.Client, service_folder: Path) -> None:
    """Status and results of a batch are the same before and after it is archived."""
    batch_id = submit(http, batch(30, tasks=3))
    before = follow(http, batch_id)
    status_before = http.get(f"/v1/batches/{batch_id}").json()

    wait_for((service_folder / "results" / f"{batch_id}.json").exists)

    assert follow(http, batch_id) == before
    assert http.get(f"/v1/batches/{batch_id}").json() == status_before


def test_a_line_tells_that_a_group_is_complete(http: httpx.Client) -> None:
    """`events=groups` adds one line a group, behind its last result, with its mean reward."""
    document = batch(8, lambda i: order("passed" if i < 4 else "failed"), tasks=2)

    lines = follow(http, submit(http, document), events="groups")

    events = [line for line in lines if line.get("event") == "group"]
    assert {event["group"]: event["mean_reward"] for event in events} == {"t0": 0.5, "t1": 0.5}
    assert all(event["attempts"] == 4 == event["scored"] for event in events)
    assert lines[-1]["event"] == "group"


def test_a_missed_group_event_comes_again_on_resuming(http: httpx.Client) -> None:
    """Whoever saw the last result but not the event behind it gets the event when it resumes."""
    batch_id = submit(http, batch(2))
    follow(http, batch_id)

    lines = follow(http, batch_id, after=2, events="groups")

    assert [line["event"] for line in lines] == ["group"]


def test_status_counts_outcomes_and_groups(http: httpx.Client) -> None:
    """The status of a finished batch has counts by outcome, the mean reward and sums per group."""
    batch_id = submit(http, batch(10, lambda i: order("passed" if i < 5 else "timeout"), tasks=2))
    follow(http, batch_id)

    status = http.get(f"/v1/batches/{batch_id}").json()

    assert (status["state"], status["done"], status["total"]) == ("done", 10, 10)
    assert status["outcomes"] == {"passed": 5, "timeout": 5}
    assert status["mean_reward"] == 0.5
    assert status["groups"]["t0"] == {"attempts": 5, "done": 5, "scored": 5, "mean_reward": 0.6}


def test_a_slow_attempt_holds_nothing_up(http: httpx.Client) -> None:
    """The other attempts of its chunk are done while a slow one still runs; following streams them at once."""
    document = batch(40, lambda i: order(sleep_s=30.0 if i == 0 else 0))
    batch_id = submit(http, document)

    wait_for(lambda: http.get(f"/v1/batches/{batch_id}").json()["done"] == 39)

    assert http.get(f"/v1/batches/{batch_id}").json()["state"] == "running"
    http.delete(f"/v1/batches/{batch_id}")


def test_cancelling_a_batch_ends_all_of_it(http: httpx.Client) -> None:
    """Queued attempts never start and running ones are killed: all results are there at once, rewards null."""
    batch_id = submit(http, batch(100, lambda _: order(sleep_s=30.0)))
    wait_for(lambda: http.get(f"/v1/batches/{batch_id}").json()["state"] == "running")

    status = http.delete(f"/v1/batches/{batch_id}").json()

    assert status["state"] == "cancelled"
    assert status["outcomes"] == {"cancelled": 100}
    lines = follow(http, batch_id)
    assert_exactly_once(lines, 100)
    assert {line["reward"] for line in lines} == {None}
    assert http.post("/v1/score", json={"task": echo_task(), "completion": order()}).status_code == 200


def test_cancelling_groups_and_places_spares_the_rest(http: httpx.Client) -> None:
    """Only attempts of the named groups and at the named places are cancelled."""
    document = batch(12, lambda i: order(sleep_s=30.0 if i % 3 == 0 or i == 1 else 0), tasks=3)
    batch_id = submit(http, document)

    answer = http.post(f"/v1/batches/{batch_id}/cancel", json={"groups": ["t0"], "attempts": [1]})

    assert answer.json() == {"batch_id": batch_id, "cancelled": 5}
    lines = follow(http, batch_id, order="input")
    assert [line["outcome"] for line in lines] == ["cancelled" if i % 3 == 0 or i == 1 else "passed" for i in range(12)]


def test_a_cancellation_may_be_compressed(http: httpx.Client) -> None:
    """A long list of places comes compressed from the clients."""
    batch_id = submit(http, batch(5, lambda _: order(sleep_s=30.0)))
    body = gzip.compress(json.dumps({"attempts": list(range(5))}).encode())

    answer = http.post(f"/v1/batches/{batch_id}/cancel", content=body, headers={"content-encoding": "gzip"})

    assert answer.json() == {"batch_id": batch_id, "cancelled": 5}


def test_what_has_not_started_by_its_deadline_is_cancelled(http: httpx.Client) -> None:
    """Attempts that find no slot before the deadline are cancelled; those that run are left alone."""
    document = batch(30, lambda _: order(sleep_s=5.0))  # whatever begins in time ends after the deadline
    document["options"] = {"deadline_s": 4, "cache": False}

    lines = follow(http, submit(http, document))

    outcomes = [line["outcome"] for line in lines]
    assert outcomes.count("cancelled") >= 24
    assert "passed" in outcomes
    late = next(line for line in lines if line["outcome"] == "cancelled")
    assert "deadline" in late["message"]


def test_urgent_batches_overtake(http: httpx.Client) -> None:
    """A batch of higher priority is finished while an earlier one of lower priority still waits."""
    slow = submit(http, {**batch(600, lambda _: order(sleep_s=0.2)), "options": {"cache": False}})
    urgent = submit(http, {**batch(4), "options": {"priority": 5}})

    follow(http, urgent)

    assert http.get(f"/v1/batches/{slow}").json()["done"] < 600
    http.delete(f"/v1/batches/{slow}")


def test_equal_work_is_marked_as_cached_unless_forbidden(http: httpx.Client) -> None:
    """Equal work may be answered from memory and then says so; with `cache: false` it never is."""
    completion = order("failed", mark="only here")
    follow(http, submit(http, batch(1, lambda _: completion)))

    allowed = follow(http, submit(http, batch(1, lambda _: completion)))
    forbidden = follow(http, submit(http, {**batch(1, lambda _: completion), "options": {"cache": False}}))

    assert (allowed[0]["cached"], forbidden[0]["cached"]) == (True, False)
    assert allowed[0]["reward"] == forbidden[0]["reward"]


def test_output_of_passed_attempts_is_kept_on_request(http: httpx.Client) -> None:
    """Captured output is dropped for `passed` unless `keep_output` says otherwise."""
    document = batch(1, lambda _: order(stdout="hello"))

    dropped = follow(http, submit(http, document))
    kept = follow(http, submit(http, {**document, "options": {"keep_output": True}}))

    assert (dropped[0]["stdout"], kept[0]["stdout"]) == ("", "hello")


def test_a_verdict_that_is_no_json_is_our_fault(http: httpx.Client) -> None:
    """A verifier that returns NaN as reward costs its attempt the reward, not the worker its life."""
    document = batch(3, lambda i: order("failed", reward=float("nan") if i == 1 else 0.5, mark="nan"))

    lines = follow(http, submit(http, document), order="input")

    assert [line["reward"] for line in lines] == [0.5, None, 0.5]
    assert lines[1]["outcome"] == "infra_error"


def test_lone_surrogates_survive(http: httpx.Client) -> None:
    """A cut escape in a completion, a group and metadata comes through the whole path unharmed."""
    completion = order(stdout="x") + "\ud83d"
    body = json.dumps(
        {
            "tasks": [echo_task()],
            "attempts": [{"task_id": "t", "completion": completion, "group": "g\ud83d", "metadata": {"k": "\ud83d"}}],
        }
    )

    answer = http.post("/v1/batches", content=body, headers={"content-type": "application/json"})
    lines = follow(http, answer.json()["batch_id"])

    assert lines[0]["group"] == "g\ud83d"
    assert lines[0]["metadata"] == {"k": "\ud83d"}
