"""The clients: what they send, what they retry, how they resume, which exceptions come of which answers."""

from collections.abc import Callable

import httpx
import pytest
from scripted_service import FakeService, accepted, line, problem, result, status

from assay.clients import BatchOptions, calls
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.clients.retries import RetryPolicy
from assay.errors import (
    InvalidRequest,
    NotFound,
    RequestError,
    ServiceUnavailable,
    TooLarge,
    Unauthorized,
    UnsupportedMedia,
)


def test_submit_sends_tasks_attempts_and_a_key() -> None:
    """A batch carries an idempotency key of its own and the bearer key."""
    service = FakeService(accepted())

    got = service.client(api_key="secret").submit([{"id": "t"}], [{"task_id": "t", "completion": "\ud83d"}])

    assert (got.batch_id, got.total) == ("b", 1)
    assert service.document() == {"tasks": [{"id": "t"}], "attempts": [{"task_id": "t", "completion": "\ud83d"}]}
    assert service.requests[0].headers["Authorization"] == "Bearer secret"
    assert len(service.requests[0].headers["Idempotency-Key"]) >= 16


def test_an_accepted_batch_is_as_good_as_its_id() -> None:
    """What `submit` returns may be handed to every call that names a batch."""
    service = FakeService(accepted(), httpx.Response(200, content=line(result(1))), status(1, 1))
    client = service.client()

    batch = client.submit([{"id": "t"}], [{"task_id": "t", "completion": ""}])
    got = list(client.iter_results(batch))
    client.status(batch)
    client.cancel(batch)
    client.cancel(batch, groups=["t"])

    assert [one.seq for one in got] == [1]
    assert [request.url.path for request in service.requests[1:]] == [
        "/v1/batches/b/results.jsonl", "/v1/batches/b", "/v1/batches/b", "/v1/batches/b", "/v1/batches/b/cancel",
    ]  # fmt: skip


@pytest.mark.parametrize("options", [{"cache": False}, BatchOptions(cache=False)])
def test_options_go_as_they_are_given(options: calls.OptionsLike) -> None:
    """A mapping or the type: the service gets what was set and nothing else."""
    service = FakeService(accepted())

    service.client().submit([{"id": "t"}], [{"task_id": "t", "completion": ""}], options=options)

    assert service.document()["options"] == {"cache": False}


def test_large_bodies_are_compressed() -> None:
    """A body of some size goes as gzip and arrives whole."""
    service = FakeService(accepted())

    service.client().submit([], [{"task_id": "t", "completion": "x" * 200_000}])

    assert service.requests[0].headers["Content-Encoding"] == "gzip"
    assert len(service.requests[0].content) < 10_000
    assert len(service.document()["attempts"][0]["completion"]) == 200_000


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (400, RequestError),
        (401, Unauthorized),
        (404, NotFound),
        (413, TooLarge),
        (415, UnsupportedMedia),
        (422, InvalidRequest),
        (500, ServiceUnavailable),
    ],
)
def test_refusals_become_exceptions(code: int, kind: type[Exception]) -> None:
    """Each status has its exception, raised at once."""
    service = FakeService(problem(code))

    with pytest.raises(kind, match="why"):
        service.client().status("b")

    assert len(service.requests) == 1


def test_refusals_keep_path_and_fix() -> None:
    """The problem document's path and fix reach the caller."""
    service = FakeService(problem(422, path="attempts[3].completion", fix="send text"))

    with pytest.raises(InvalidRequest) as caught:
        service.client().submit([], [])

    assert (caught.value.path, caught.value.fix) == ("attempts[3].completion", "send text")


def test_answers_without_a_problem_document_are_told_by_status() -> None:
    """A proxy's HTML page does not hide what happened."""
    service = FakeService(httpx.Response(500, text="<html>oops</html>"))

    with pytest.raises(ServiceUnavailable, match="500"):
        service.client().status("b")


@pytest.mark.parametrize(("body", "why"), [('{"hello": 1}', "Field required at batch_id"), ("[" * 100_000, "depth")])
def test_answers_of_another_kind_are_refused(body: str, why: str) -> None:
    """A success that is not what the API promises is a fault of the service."""
    service = FakeService(httpx.Response(200, text=body))

    with pytest.raises(ServiceUnavailable, match=f"else than its API promises: .*{why}"):
        service.client().status("b")


def test_run_returns_results_in_input_order() -> None:
    """Submit and wait: results by index, whatever finished first."""
    body = line(result(1, index=1)) + line(result(2, index=0))
    service = FakeService(accepted(2), httpx.Response(200, content=body), status(2, 2))

    assert [one.index for one in service.client().run([], [{"task_id": "t"}] * 2)] == [0, 1]


def test_texts_that_utf8_cannot_hold_come_through() -> None:
    """A completion may get such a text into its result's message: the service escapes it, and no result is lost."""
    odd = line(result(1)).replace(b'"message":""', b'"message":"\\ud800"')
    service = FakeService(
        httpx.Response(200, content=odd), status(1, 1), httpx.Response(200, content=b'{"results":[' + odd + b"]}")
    )

    assert [one.message for one in service.client().iter_results("b")] == ["\ud800"]
    assert service.client().score_one({"id": "t"}, "x").message == "\ud800"


def test_score_one_sends_a_pair() -> None:
    """One completion goes as a pair and comes back as one result."""
    service = FakeService(httpx.Response(200, json={"results": [result(1).model_dump(mode="json")]}))

    got = service.client().score_one({"id": "t"}, "code")

    assert got.reward == 1.0
    assert service.document() == {"task": {"id": "t"}, "completion": "code"}


def test_a_score_carries_the_key_that_it_is_given() -> None:
    """And none otherwise: to keep its results costs the service what a small batch costs."""
    answer = {"results": [result(1).model_dump(mode="json")]}
    service = FakeService(httpx.Response(200, json=answer))
    client = service.client()

    client.score_one({"id": "t"}, "x", idempotency_key="mine")
    client.score([{"id": "t"}], [{"task_id": "t", "completion": "x"}], idempotency_key="ours")
    client.score_one({"id": "t"}, "x")

    assert [request.headers.get("Idempotency-Key") for request in service.requests] == ["mine", "ours", None]


@pytest.mark.parametrize("lost", [httpx.ReadError("lost"), httpx.ReadTimeout("late"), httpx.Response(502)])
def test_a_repeated_score_keeps_its_key(lost: httpx.Response | Exception) -> None:
    """Its answer may have been lost after the attempts were judged: the service must know it again."""
    answer = httpx.Response(200, json={"results": [result(1).model_dump(mode="json")]})
    service = FakeService(lost, answer, lost, answer)
    client = service.client()

    client.score_one({"id": "t"}, "x", idempotency_key="one")
    client.score([{"id": "t"}], [{"task_id": "t", "completion": "x"}], idempotency_key="many")

    keys = [request.headers["Idempotency-Key"] for request in service.requests]
    assert keys == ["one", "one", "many", "many"]


def test_run_takes_a_key_so_that_a_killed_one_can_be_resumed() -> None:
    """The service hands the batch that exists to whoever sends it again under its key."""
    service = FakeService(accepted(), httpx.Response(200, content=line(result(1))), status(1, 1))

    assert len(service.client().run([], [{"task_id": "t"}], idempotency_key="epoch-3")) == 1
    assert service.requests[0].headers["Idempotency-Key"] == "epoch-3"


def test_tasks_verifiers_and_statistics_are_to_be_had() -> None:
    """Bulk storing, a verifier's schema and example, and how a task has fared."""
    sums = {"attempts": 3, "passed": 1, "scored": 2, "pass_rate": 0.5, "mean_reward": 0.25}
    service = FakeService(
        httpx.Response(200, json={"stored": 2}),
        httpx.Response(200, json={"name": "math", "version": "1",
            "schema": {"type": "object"}, "example": {"id": "e"}}),
        httpx.Response(
            200,
            json={"task_id": "a/b", "content": "h", **sums, "last_seen": "2026-01-01T00:00:00.000+00:00",
                  "policy_versions": {"7": sums}, "contents": ["h"]},
        ),
    )  # fmt: skip
    client = service.client()

    assert client.store_tasks([{"id": "a"}, {"id": "b"}]) == 2
    assert service.document() == {"tasks": [{"id": "a"}, {"id": "b"}]}
    details = client.verifier("math")
    stats = client.task_stats("a/b", content="h")

    assert (details.task_schema, details.example) == ({"type": "object"}, {"id": "e"})
    assert (stats.pass_rate, stats.policy_versions["7"].attempts) == (0.5, 3)
    assert [(one.method, one.url.raw_path) for one in service.requests] == [
        ("POST", b"/v1/tasks"), ("GET", b"/v1/verifiers/math"), ("GET", b"/v1/tasks/a%2Fb/stats?content=h"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "answer",
    [
        lambda: httpx.Response(200, headers={"Content-Encoding": "gzip"}, stream=httpx.ByteStream(b"not gzip")),
        lambda: (_ for _ in ()).throw(httpx.TooManyRedirects("round and round")),
        lambda: (_ for _ in ()).throw(httpx.StreamClosed()),
    ],
)
def test_whatever_goes_wrong_in_http_is_a_typed_error(answer: Callable[[], httpx.Response]) -> None:
    """A body that cannot be decoded, or anything else of httpx, is a service that cannot be reached."""
    for use in (lambda client: client.status("b"), lambda client: list(client.iter_results("b"))):
        service = FakeService(lambda _: answer())
        with pytest.raises(ServiceUnavailable, match=r"assay\.test"):
            use(service.client(retry=RetryPolicy(patience_s=0)))


@pytest.mark.parametrize(
    "use",
    [
        lambda client: client.status("b" * 100_000),
        lambda client: client.submit([], [], idempotency_key="Schlüssel-ключ"),
    ],
)
def test_what_http_cannot_carry_is_refused(use: Callable[[Client], object]) -> None:
    """Before anything is sent, and not as an error of httpx or of a codec."""
    service = FakeService(accepted())

    with pytest.raises(InvalidRequest, match="cannot be sent"):
        use(service.client())

    assert service.requests == []


def test_score_returns_all_results() -> None:
    """A small batch comes back as a list."""
    rows = [result(n).model_dump(mode="json") for n in (1, 2)]
    service = FakeService(httpx.Response(200, json={"results": rows}))

    assert [one.seq for one in service.client().score([], [{"task_id": "t", "completion": "x"}] * 2)] == [1, 2]


def test_cancel_names_what_to_cancel() -> None:
    """Without choice the batch is deleted; else groups and attempts are named."""
    service = FakeService(httpx.Response(200, json={}))
    client = service.client()

    client.cancel("b/1")
    client.cancel("b", groups=["g"], attempts=[3])

    assert (service.requests[0].method, service.requests[0].url.raw_path) == ("DELETE", b"/v1/batches/b%2F1")
    assert service.requests[1].url.path == "/v1/batches/b/cancel"
    assert service.document() == {"groups": ["g"], "attempts": [3]}


def test_nan_is_refused_before_it_is_sent() -> None:
    """JSON knows no NaN: the caller hears it from the client."""
    service = FakeService(accepted())

    with pytest.raises(InvalidRequest, match="not JSON"):
        service.client().submit([{"id": "t", "metadata": {"x": float("nan")}}], [])

    assert service.requests == []


def test_stored_tasks_are_put_under_their_id() -> None:
    """A task goes to its own address."""
    call = calls.store_task({"id": "a b/c"})

    assert (call.method, call.path) == ("PUT", "/v1/tasks/a%20b%2Fc")


@pytest.mark.parametrize(
    "url", ["localhost:8700", "127.0.0.1:8700", "ftp://x", "http://", "http://x:port", "http://[::1", ""]
)
def test_an_address_without_http_is_refused_at_once(url: str) -> None:
    """What no service can be reached by is refused before anything is sent, with how to write it."""
    for kind in (Client, AsyncClient):
        with pytest.raises(InvalidRequest, match="http://HOST:PORT"):
            kind(url)
