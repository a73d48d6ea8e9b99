"""Following a batch: streams that are cut, that stand still, and what a batch waits for."""

import httpx
import pytest
from scripted_service import CutStream, FakeService, line, problem, result, status

from assay.clients.retries import RetryPolicy
from assay.errors import (
    NotFound,
    ServiceUnavailable,
)


def test_a_cut_stream_is_resumed_without_loss_or_doubles() -> None:
    """After a break, and after a line cut in two, results go on behind the last whole one."""
    second = line(result(2))
    service = FakeService(
        httpx.Response(200, stream=CutStream(line(result(1)), second[: len(second) // 2])),
        status(2, 3),
        httpx.Response(200, content=line(result(1)) + second + line(result(3))),
        status(3, 3),
    )

    got = list(service.client().iter_results("b"))

    assert [one.seq for one in got] == [1, 2, 3]
    assert [request.url.params.get("after") for request in service.requests[::2]] == ["0", "1"]


def test_a_stream_that_ends_early_is_asked_for_again() -> None:
    """A clean end before the batch is complete is not the end."""
    service = FakeService(
        httpx.Response(200, content=line(result(1))),
        status(1, 2),
        httpx.Response(200, content=line(result(2))),
        status(2, 2),
    )

    assert [one.seq for one in service.client().iter_results("b")] == [1, 2]


def test_a_stream_without_progress_is_given_up() -> None:
    """A service that never delivers is not asked for ever."""
    service = FakeService(lambda request: status(0, 2) if request.url.path.endswith("/b") else httpx.Response(200))

    with pytest.raises(ServiceUnavailable, match="before the batch was complete"):
        list(service.client(retry=RetryPolicy(patience_s=-1)).iter_results("b"))


def test_following_an_unknown_batch_raises() -> None:
    """The service's refusal of the stream reaches the caller."""
    service = FakeService(problem(404))

    with pytest.raises(NotFound):
        list(service.client().iter_results("nowhere"))


def test_results_after_a_seq_can_be_asked_for() -> None:
    """`after` skips what the caller knows."""
    service = FakeService(httpx.Response(200, content=line(result(5))), status(5, 5))

    assert [one.seq for one in service.client().iter_results("b", after=4)] == [5]
    assert service.requests[0].url.params["after"] == "4"
    assert service.requests[0].url.params["follow"] == "true"


def lacking(*details: str) -> httpx.Response:
    """The status of a batch of two that waits for something."""
    waiting = [{"modules": ["m"], "detail": detail, "fix": "install m"} for detail in details]
    document = {"batch_id": "b", "state": "queued", "total": 1, "done": 0, "waiting_for": waiting}
    return httpx.Response(200, json=document)


def test_a_quiet_batch_is_followed_for_ever() -> None:
    """Silence is no fault: however long a batch waits behind others, its results are waited for."""
    service = FakeService(
        *([httpx.ReadTimeout(""), status(0, 1)] * 50), httpx.Response(200, content=line(result(1))), status(1, 1)
    )

    got = list(service.client(retry=RetryPolicy(patience_s=0)).iter_results("b"))

    assert [one.seq for one in got] == [1]
    assert service.pauses == []


def test_what_a_quiet_batch_waits_for_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """As a warning with what to do; `wait` and `run` log it as well; other things are told when they come."""
    steps = [httpx.ReadTimeout(""), lacking("no m"), httpx.ReadTimeout(""), lacking("no m", "no n")]
    service = FakeService(*steps, httpx.Response(200, content=line(result(1))), status(1, 1))

    service.client().wait("b")

    assert caplog.messages == ["batch b waits: no m (install m)", "batch b waits: no n (install m)"]


def test_a_caller_may_take_what_a_batch_waits_for(caplog: pytest.LogCaptureFixture) -> None:
    """Then it is not logged."""
    told: list[str] = []
    service = FakeService(
        httpx.ReadTimeout(""), lacking("no m"), httpx.Response(200, content=line(result(1))), status(1, 1)
    )

    list(service.client().iter_results("b", on_waiting=told.append))

    assert told == ["no m (install m)"]
    assert caplog.messages == []


def test_a_stream_is_listened_to_for_seconds_and_other_calls_for_minutes() -> None:
    """A status may take its time; a quiet stream is asked for again soon, or as soon as the caller says."""
    body = line(result(1))
    service = FakeService(
        httpx.Response(200, content=body), status(1, 1), httpx.Response(200, content=body), status(1, 1)
    )

    list(service.client().iter_results("b"))
    list(service.client(timeout=httpx.Timeout(3.0)).iter_results("b"))

    assert [request.extensions["timeout"]["read"] for request in service.requests] == [10.0, 300.0, 3.0, 3.0]
