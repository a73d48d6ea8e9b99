"""Bad input over HTTP: a problem document with the path and the fix, nothing queued, the server unharmed."""

import gzip
import json
import socket
from typing import Any

import httpx
import pytest
import zstandard
from batches import batch, echo_task, follow, order, submit

JSON = {"content-type": "application/json"}
NDJSON = {"content-type": "application/x-ndjson"}


def pending(http: httpx.Client) -> float:
    """How many attempts wait or run."""
    line = next(line for line in http.get("/metrics").text.splitlines() if line.startswith("assay_pending_attempts "))
    return float(line.split()[1])


def refused(http: httpx.Client, body: bytes, headers: dict[str, str] = JSON, status: int = 422) -> dict[str, Any]:
    """Send a bad batch; check that nothing was queued and that the next good one is judged; return the problem."""
    before = pending(http)

    answer = http.post("/v1/batches", content=body, headers=headers)

    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == status
    assert problem["type"].startswith("urn:assay:problem:")
    assert problem["fix"]
    assert "Traceback" not in answer.text
    assert pending(http) == before
    assert len(follow(http, submit(http, batch(1)))) == 1
    return problem


def changed(**fields: Any) -> bytes:
    """A good batch with some of its fields replaced."""
    return json.dumps({**batch(2), **fields}).encode()


BAD_BATCHES: dict[str, tuple[bytes, str]] = {
    "malformed": (b'{"tasks": [', "tasks[0]"),
    "cut": (changed()[:-1], ""),
    "no object": (b"[1, 2]", ""),
    "nothing": (b"", ""),
    "trailing": (changed() + b"x", ""),
    "nan": (b'{"tasks": [], "attempts": [{"task_id": "t", "completion": NaN}]}', "attempts[0]"),
    "unknown verifier": (changed(tasks=[echo_task(), echo_task("u", verifier="nope")]), "tasks[1].verifier"),
    "unknown field": (changed(extra=1), "extra"),
    "unknown task field": (changed(tasks=[echo_task(colour="red")]), "tasks[0].colour"),
    "unknown limit": (changed(tasks=[echo_task(limits={"wall": 1})]), "tasks[0].limits.wall"),
    "limit over the maximum": (changed(tasks=[echo_task(limits={"wall_s": 600.5})]), "tasks[0].limits.wall_s"),
    "unknown option": (changed(options={"speed": 1}), "options.speed"),
    "bad option": (changed(options={"priority": 99}), "options.priority"),
    "unknown attempt field": (changed(attempts=[{"task_id": "t0", "completion": "", "note": 1}]), "attempts[0].note"),
    "other content": (changed(tasks=[echo_task("t0"), echo_task("t0", tests=["other"])]), "tasks[1].id"),
    "unknown task": (
        changed(attempts=[{"task_id": "t0", "completion": ""}, {"task_id": "nobody", "completion": ""}]),
        "attempts[1].task_id",
    ),
    "unknown task, half a character": (
        b'{"attempts": [{"task_id": "\\ud83d", "completion": ""}]}',
        "attempts[0].task_id",
    ),
    "no tests field": (changed(tasks=[{"id": "t0", "verifier": "echo"}]), "tasks[0].tests"),
    "no attempts": (changed(attempts=[]), "attempts"),
    "null completion": (changed(attempts=[{"task_id": "t0", "completion": None}]), "attempts[0].completion"),
    "no completion": (changed(attempts=[{"task_id": "t0"}]), "attempts[0].completion"),
    "numeric completion": (changed(attempts=[{"task_id": "t0", "completion": 5}]), "attempts[0].completion"),
    "tasks no list": (changed(tasks={}), "tasks"),
    "attempt no object": (changed(attempts=["x"]), "attempts[0]"),
    "task no object": (changed(tasks=[7]), "tasks[0]"),
    "no id": (changed(tasks=[{"verifier": "echo", "tests": []}]), "tasks[0].id"),
    "field twice": (b'{"attempts": [], "attempts": []}', "attempts"),
    "deep": (b'{"tasks": [], "attempts": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "attempts[0]"),
    "infinite metadata": (
        b'{"tasks": [], "attempts": [{"task_id": "t", "completion": "", "metadata": {"x": [1e999]}}]}',
        "attempts[0].metadata",
    ),
    "infinite task": (
        b'{"tasks": [{"id": "t", "verifier": "echo", "tests": [], "metadata": {"x": 1e999}}], "attempts": []}',
        "tasks[0]",
    ),
    "deepest metadata": (
        b'{"tasks": [], "attempts": [{"task_id": "t", "completion": "", "metadata": '
        + b'{"a":' * 900
        + b"1"
        + b"}" * 900
        + b"}]}",
        "attempts[0].metadata",
    ),
    "deep metadata": (
        changed(
            attempts=[{"task_id": "t0", "completion": "", "metadata": json.loads('{"a":' * 300 + "1" + "}" * 300)}]
        ),
        "attempts[0].metadata",
    ),
}


@pytest.mark.parametrize("name", BAD_BATCHES)
def test_bad_batches_are_refused_with_the_path(http: httpx.Client, name: str) -> None:
    """Each kind of bad batch is a 422 whose `path` is where the fault stands."""
    body, path = BAD_BATCHES[name]

    problem = refused(http, body)

    assert problem.get("path", "") == path


def test_every_blank_body_is_called_empty(http: httpx.Client) -> None:
    """Wherever a body is expected, one of nothing but white space is refused in the same words."""
    batch_id = submit(http, batch(1))

    answers = [
        http.post("/v1/batches", content=b" \n"),
        http.post("/v1/score", content=b" \n", headers=NDJSON),
        http.put("/v1/tasks/t", content=b" \n"),
        http.post("/v1/tasks", content=b" \n"),
        http.post(f"/v1/batches/{batch_id}/cancel", content=b" \n"),
    ]

    assert {(answer.status_code, answer.json()["detail"]) for answer in answers} == {(422, "the body is empty")}


BAD_LINES: dict[str, tuple[str, str]] = {
    "malformed": ('{"task": {"id": "x"', "lines[1]"),
    "no object": ("[1]", "lines[1]"),
    "unknown field": (json.dumps({"task": echo_task("x"), "completion": "", "note": 1}), "lines[1].note"),
    "no completion": (json.dumps({"task": echo_task("x"), "group": "g"}), "lines[1].completion"),
    "bad task": (json.dumps({"task": echo_task("x", verifier="nope"), "completion": ""}), "lines[1].task.verifier"),
    "other content": (json.dumps({"task": echo_task("t", tests=[]), "completion": ""}), "lines[1].task.id"),
    "unknown task": (json.dumps({"attempt": {"task_id": "y", "completion": ""}}), "lines[1].attempt.task_id"),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_bad_lines_are_refused_with_the_line(http: httpx.Client, name: str) -> None:
    """Each kind of bad line is a 422 whose `path` names the line, counting from 0."""
    line, path = BAD_LINES[name]
    good = json.dumps({"task": echo_task("t"), "completion": order()})

    problem = refused(http, f"{good}\n{line}\n".encode(), NDJSON)

    assert problem["path"] == path


def test_invalid_utf8_is_refused(http: httpx.Client) -> None:
    """Bytes that are not UTF-8 are refused with their position."""
    problem = refused(http, b'{"tasks": [], "attempts": [{"task_id": "t", "completion": "\xff"}]}')

    assert "UTF-8" in problem["detail"]


def test_a_completion_over_its_limit_is_refused(http: httpx.Client) -> None:
    """A completion of 10 MB is a 413 that names it."""
    body = changed(attempts=[{"task_id": "t0", "completion": "x" * 10_000_000}])

    problem = refused(http, body, status=413)

    assert problem["path"] == "attempts[0].completion"


def test_a_body_over_the_limit_is_refused(http: httpx.Client) -> None:
    """A body over the limit is a 413, whether its length is declared or not."""
    body = b" " * (17 * 2**20)

    declared = refused(http, body, status=413)
    streamed = http.post("/v1/batches", content=iter([body]), headers=JSON)

    assert "larger" in declared["detail"]
    assert streamed.status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "name"),
    [
        ("GET", "/v1/batches/{id}/results.jsonl?after=0&folow=1", "folow"),
        ("GET", "/v1/batches/{id}?follow=true", "follow"),
        ("DELETE", "/v1/batches/{id}?groups=t0", "groups"),
        ("GET", "/v1/tasks/t0/stats?contents=x", "contents"),
        ("GET", "/v1/verifiers?name=echo", "name"),
        ("PUT", "/v1/tasks/t0?replace=true", "replace"),
        ("POST", "/v1/tasks?replace=true", "replace"),
        ("POST", "/v1/batches/{id}/cancel?groups=t0", "groups"),
    ],
)
def test_unknown_query_parameters_are_refused(http: httpx.Client, method: str, path: str, name: str) -> None:
    """A parameter that the endpoint does not have is a 422 whose `path` is its name."""
    batch_id = submit(http, batch(1))

    answer = http.request(method, path.format(id=batch_id))

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["path"] == name


@pytest.mark.parametrize(
    ("query", "fields", "meant"),
    [
        ("", {"option": {}}, "options"),
        ("", {"options": {"priorty": 1}}, "priority"),
        ("?priorty=1", {}, "priority"),
        ("", {"attempts": [{"task_id": "t0", "completion": "", "gruop": "g"}]}, "group"),
        ("", {"tasks": [echo_task(test=[])]}, "tests"),
    ],
)
def test_the_name_that_was_meant_is_told(http: httpx.Client, query: str, fields: dict[str, Any], meant: str) -> None:
    """Of fields and options, in the body as in the query."""
    answer = http.post(f"/v1/batches{query}", content=changed(**fields), headers=JSON)

    assert answer.status_code == 422
    assert f"did you mean '{meant}'?" in answer.json()["fix"]


def test_of_a_query_that_is_no_number_it_is_told_what_to_write(http: httpx.Client) -> None:
    """As of a field that is none, but for the quotes, which no query has; a parameter's name is told too."""
    batch_id = submit(http, batch(1))

    wrong = http.get(f"/v1/batches/{batch_id}/results.jsonl?after=x").json()
    unknown = http.get(f"/v1/batches/{batch_id}/results.jsonl?folow=1").json()

    assert wrong["fix"] == "write a whole number"
    assert "did you mean 'follow'?" in unknown["fix"]


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_decompression_bomb_is_refused(http: httpx.Client, name: str) -> None:
    """A small body that unpacks to a huge one is a 413 and is never unpacked whole."""
    huge = b" " * (500 * 2**20)
    body = gzip.compress(huge, 1) if name == "gzip" else zstandard.compress(huge)

    refused(http, body, {**JSON, "content-encoding": name}, status=413)


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_damaged_compression_is_refused(http: httpx.Client, name: str) -> None:
    """A body that is not what its Content-Encoding says is a 422."""
    refused(http, b"not compressed", {**JSON, "content-encoding": name})


@pytest.mark.parametrize(
    "headers", [{"content-type": "text/csv"}, {**JSON, "content-encoding": "br"}], ids=["type", "encoding"]
)
def test_unknown_media_are_refused(http: httpx.Client, headers: dict[str, str]) -> None:
    """A media type or encoding that nobody can read is a 415."""
    refused(http, changed(), headers, status=415)


def test_a_full_queue_says_when_to_come_again(http: httpx.Client) -> None:
    """A batch that would pass the queue's limit is a 429 with Retry-After; nothing of it is queued."""
    waiting = submit(http, batch(49_990, lambda _: order(sleep_s=30.0)))

    answer = http.post("/v1/batches", json=batch(100))
    score = http.post("/v1/score", json=batch(100))

    assert (answer.status_code, score.status_code) == (429, 429)
    assert int(answer.headers["retry-after"]) >= 1
    assert answer.json()["type"] == "urn:assay:problem:queue-full"
    http.delete(f"/v1/batches/{waiting}")


def test_a_batch_that_never_fits_is_too_large(http: httpx.Client) -> None:
    """A batch of more attempts than the queue ever holds is a 413: waiting would not help."""
    body = json.dumps(batch(50_001, lambda _: "")).encode()

    refused(http, body, status=413)


@pytest.mark.parametrize("path", ["/v1/batches/nobody", "/v1/batches/b0123456789abcdef0123456789ab", "/v1/verifiers/x"])
def test_what_is_not_there_is_a_404(http: httpx.Client, path: str) -> None:
    """Unknown batches and verifiers are problem documents with status 404."""
    answer = http.get(path)

    assert answer.status_code == 404
    assert answer.json()["type"] == "urn:assay:problem:not-found"


def test_unknown_routes_and_methods_are_problems(http: httpx.Client) -> None:
    """Also what no route answers is a problem document."""
    answers = [http.get("/v1/nothing"), http.put("/v1/score")]

    assert [answer.status_code for answer in answers] == [404, 405]
    assert http.get("/v1/batchs").json()["fix"] == "did you mean /v1/batches?"
    assert all(answer.headers["content-type"] == "application/problem+json" for answer in answers)


@pytest.mark.parametrize("query", ["after=-1", "after=x", "order=random", "follow=maybe", "order=input&events=groups"])
def test_bad_queries_are_refused(http: httpx.Client, query: str) -> None:
    """A query that cannot be honoured is a 422 naming the parameter."""
    batch_id = submit(http, batch(1))

    answer = http.get(f"/v1/batches/{batch_id}/results.jsonl?{query}")

    assert answer.status_code == 422
    assert answer.json()["path"] in {"after", "order", "follow", "events"}


def test_an_option_in_body_and_query_is_refused(http: httpx.Client) -> None:
    """An option is sent once."""
    answer = http.post("/v1/batches?priority=1", json={**batch(1), "options": {"priority": 2}})

    assert answer.status_code == 422
    assert answer.json()["path"] == "options.priority"


def test_garbage_on_the_wire_harms_nobody(http: httpx.Client, service_url: str) -> None:
    """Bytes that are no HTTP, and a body that never comes, leave the service answering."""
    host, port = service_url.removeprefix("http://").split(":")
    for sent in (b"\x00\x01\x02\r\n\r\n", b"POST /v1/batches HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab"):
        with socket.create_connection((host, int(port))) as line:
            line.sendall(sent)

    assert len(follow(http, submit(http, batch(1)))) == 1
