"""Stored tasks, statistics, verifiers, health, metrics, keys."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
from batches import batch, echo_task, follow, order, submit

from assay.service import keys
from assay.service.connection import Connection
from assay.service.draft import draft_task
from assay.service.fakes import FAKE, fake_registry
from assay.service.serve import embedded
from assay.settings import Settings


def test_a_stored_task_is_referred_to_by_id(http: httpx.Client) -> None:
    """Once stored, a task (also one with a slash in its id) need not be sent again."""
    stored = http.put("/v1/tasks/Set%2F0", json=echo_task("Set/0")).json()

    lines = follow(http, submit(http, {"attempts": [{"task_id": "Set/0", "completion": order()}]}))

    assert lines[0]["versions"]["task"] == stored["content"]


def test_a_batch_pins_the_content_it_came_with(http: httpx.Client) -> None:
    """Storing other content under an id concerns later batches only."""
    http.put("/v1/tasks/pin", json=echo_task("pin", tests=["one"]))
    waiting = submit(http, {"attempts": [{"task_id": "pin", "completion": order(sleep_s=0.5)}]})
    http.put("/v1/tasks/pin", json=echo_task("pin", tests=["one", "two"]))
    later = submit(http, {"attempts": [{"task_id": "pin", "completion": order()}]})

    assert len(follow(http, waiting)[0]["tests"]) == 1
    assert len(follow(http, later)[0]["tests"]) == 2


def test_storing_one_task_many_times_at_once_holds_one_document(http: httpx.Client, service_folder: Path) -> None:
    """However calls overlap, the content that an id ends up with is held once and the others not at all."""
    documents = [echo_task("race", tests=[str(number)]) for number in range(8)]

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda document: http.put("/v1/tasks/race", json=document), documents * 5))

    names = [draft_task(fake_registry(), document, "").ref.key for document in documents]
    connection = Connection(f"unix://{service_folder / 'redis' / 'redis.sock'}")
    held = connection.ask("HMGET", keys.TASK_REFS, *names)
    connection.close()
    assert [count for count in held if count is not None] == [b"1"]


def test_tasks_are_stored_in_bulk(http: httpx.Client) -> None:
    """JSON lines of tasks are stored together."""
    body = "\n".join(json.dumps(echo_task(f"bulk-{number}")) for number in range(300))

    answer = http.post("/v1/tasks", content=body, headers={"content-type": "application/x-ndjson"})
    results = http.post("/v1/score", json={"task_id": "bulk-299", "completion": order()}).json()["results"]

    assert answer.json() == {"stored": 300}
    assert results[0]["outcome"] == "passed"


def test_bulk_storing_is_all_or_nothing(http: httpx.Client) -> None:
    """One bad task in a bulk, and none is stored."""
    body = json.dumps(echo_task("half")) + "\n" + json.dumps({"id": "x", "verifier": "echo"})

    answer = http.post("/v1/tasks", content=body, headers={"content-type": "application/x-ndjson"})

    assert answer.status_code == 422
    assert answer.json()["path"] == "lines[1].tests"
    assert http.post("/v1/score", json={"task_id": "half", "completion": ""}).status_code == 422


def test_a_task_is_stored_under_its_own_id(http: httpx.Client) -> None:
    """The id in the body and in the address must agree."""
    answer = http.put("/v1/tasks/one", json=echo_task("another"))

    assert answer.status_code == 422
    assert answer.json()["path"] == "id"


def test_statistics_of_a_task(http: httpx.Client) -> None:
    """Attempts, pass rate and mean, in all and by policy version; null rewards count in neither."""
    outcomes = ["passed", "passed", "failed", "infra_error"]
    attempts = [
        {"task_id": "stat/1", "completion": order(outcome), "policy_version": number // 2}
        for number, outcome in enumerate(outcomes)
    ]
    follow(http, submit(http, {"tasks": [echo_task("stat/1")], "attempts": attempts}))

    stats = http.get("/v1/tasks/stat%2F1/stats").json()

    assert (stats["attempts"], stats["scored"], stats["passed"]) == (4, 3, 2)
    assert stats["pass_rate"] == stats["mean_reward"] == 2 / 3
    assert stats["policy_versions"]["0"]["pass_rate"] == 1.0
    assert stats["policy_versions"]["1"] == {
        "attempts": 2, "passed": 0, "scored": 1, "pass_rate": 0.0, "mean_reward": 0.0,
    }  # fmt: skip
    assert http.get("/v1/tasks/unheard-of/stats").status_code == 404


def test_other_content_has_statistics_of_its_own(http: httpx.Client) -> None:
    """New tests under an old id start from zero; the old sums can still be asked for by their content hash."""
    seen = []
    for tests, outcome in ((["old"], "failed"), (["new"], "passed")):
        task = echo_task("stat/2", tests=tests)
        lines = follow(
            http, submit(http, {"tasks": [task], "attempts": [{"id": "stat/2", "completion": order(outcome)}]})
        )
        seen.append(lines[0]["versions"]["task"])
    old, new = seen

    latest = http.get("/v1/tasks/stat%2F2/stats").json()
    earlier = http.get("/v1/tasks/stat%2F2/stats", params={"content": old}).json()

    assert (latest["content"], latest["attempts"], latest["pass_rate"]) == (new, 1, 1.0)
    assert (earlier["content"], earlier["attempts"], earlier["pass_rate"]) == (old, 1, 0.0)
    assert latest["contents"] == [new, old]
    assert http.get("/v1/tasks/stat%2F2/stats", params={"content": "unknown"}).status_code == 404


def test_verifiers_describe_themselves(http: httpx.Client) -> None:
    """Every verifier has a name, a version, a schema of its tasks and an example that is a good task."""
    listed = http.get("/v1/verifiers").json()["verifiers"]

    described = [http.get(f"/v1/verifiers/{one['name']}").json() for one in listed]

    assert [one["name"] for one in described] == ["classification", "composite", "echo"]
    assert [one["version"] for one in described] == [one["version"] for one in listed]
    assert all("id" in one["schema"]["properties"] for one in described)
    for one in described:
        assert http.post("/v1/score", json={"task": one["example"], "completion": ""}).status_code == 200


def test_health_and_metrics(http: httpx.Client) -> None:
    """Liveness, readiness, Prometheus text and the dashboard answer."""
    follow(http, submit(http, batch(3, lambda i: order("failed", mark=i))))

    metrics = http.get("/metrics")

    assert http.get("/healthz").json() == {"status": "ok"}
    assert http.get("/readyz").json() == {"status": "ready"}
    assert "<title>Assay</title>" in http.get("/").text
    assert metrics.headers["content-type"].startswith("text/plain")
    for name in ("assay_pending_attempts", "assay_queue_chunks", "assay_queue_seconds_bucket", "assay_run_seconds_sum"):
        assert name in metrics.text


def test_health_answers_head_too(http: httpx.Client) -> None:
    """Probes that ask for no body get the status alone."""
    answers = [http.head(path) for path in ("/healthz", "/readyz")]

    assert [(answer.status_code, answer.content) for answer in answers] == [(200, b"")] * 2


def test_keys_guard_everything_but_health(data_dir: Path) -> None:
    """With keys set, requests need one of them; liveness, readiness and the empty dashboard do not."""
    settings = Settings(port=0, data_dir=data_dir, api_keys=("first", "second"), log_level="error")
    with embedded(settings, assembler=FAKE) as url, httpx.Client(base_url=url, timeout=30) as http:
        refused = [
            http.post("/v1/score", json=batch(1)),
            http.post("/v1/score", json=batch(1), headers={"Authorization": "Bearer wrong"}),
            http.post("/v1/score", json=batch(1), headers={"Authorization": "Basic first"}),
            http.get("/metrics"),
        ]
        accepted = http.post("/v1/score", json=batch(1), headers={"Authorization": "Bearer second"})
        open_ = [http.get(path).status_code for path in ("/healthz", "/readyz", "/")]

    assert [answer.status_code for answer in refused] == [401] * 4
    assert refused[0].headers["www-authenticate"] == "Bearer"
    assert "second" not in "".join(answer.text for answer in refused)
    assert accepted.status_code == 200
    assert open_ == [200] * 3


def test_the_address_of_the_openapi_document(http: httpx.Client) -> None:
    """The service hands out its own description."""
    document = http.get("/openapi.json").json()

    assert "/v1/batches" in document["paths"]
