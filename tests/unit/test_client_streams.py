"""Following a batch: streams that are cut, that stand still, and what a batch waits for."""

from collections.abc import Iterable

import httpx
import pytest
from scripted_service import CutStream, FakeService, line, problem, result, status

from assay.clients import GroupDone
from assay.clients.retries import RetryPolicy
from assay.errors import (
    NotFound,
    ServiceUnavailable,
)
from assay.schema import Result


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


def test_a_result_that_was_lost_on_the_way_is_asked_for_again() -> None:
    """Results that come behind it would make it look as if all were there, and take its place in a list of rewards."""
    service = FakeService(
        httpx.Response(200, content=line(result(1)) + line(result(3))),
        status(3, 3),
        httpx.Response(200, content=line(result(2)) + line(result(3))),
        status(3, 3),
    )

    assert [one.seq for one in service.client().iter_results("b")] == [1, 2, 3]


def test_a_whole_line_that_is_no_result_is_told_at_once() -> None:
    """It would be the same if it were asked for again: the service is of another version."""
    strange = line(result(2)).replace(b'"passed"', b'"splendid"', 1)
    service = FakeService(httpx.Response(200, content=line(result(1)) + strange + line(result(3))), status(3, 3))

    with pytest.raises(ServiceUnavailable, match="outcome"):
        list(service.client().iter_results("b"))


def test_a_stream_that_ends_early_is_asked_for_again() -> None:
    """A clean end before the batch is complete is not the end."""
    service = FakeService(
        httpx.Response(200, content=line(result(1))),
        status(1, 2),
        httpx.Response(200, content=line(result(2))),
        status(2, 2),
    )

    assert [one.seq for one in service.client().iter_results("b")] == [1, 2]


def test_a_stream_that_is_refused_is_waited_for_once() -> None:
    """As long as the service asks for: a refusal is one failure, and no early end besides."""
    service = FakeService(
        httpx.Response(503, headers={"Retry-After": "7"}),
        status(0, 1),
        httpx.Response(200, content=line(result(1))),
        status(1, 1),
    )

    assert [one.seq for one in service.client().iter_results("b")] == [1]
    assert len(service.pauses) == 1
    assert service.pauses[0] >= 7


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


def group_line(group: str, seq: int) -> bytes:
    """The line that tells that a group is complete."""
    return b'{"event":"group","seq":%d,"group":"%s","attempts":2,"scored":2,"mean_reward":0.5}\n' % (
        seq,
        group.encode(),
    )


def told(events: Iterable[Result | GroupDone]) -> list[int | str]:
    """Results by `seq`, groups by name."""
    return [one.group if isinstance(one, GroupDone) else one.seq for one in events]


def test_groups_are_told_behind_the_result_that_completes_them() -> None:
    """Each once, although a resumed stream tells again of the one that was last."""
    service = FakeService(
        httpx.Response(200, stream=CutStream(line(result(1)), group_line("a", 1))),
        status(1, 2),
        httpx.Response(200, content=group_line("a", 1) + line(result(2)) + group_line("b", 2)),
        status(2, 2),
    )

    assert told(service.client().iter_events("b")) == [1, "a", 2, "b"]
    assert [dict(one.url.params) for one in service.requests[::2]] == [
        {"after": "0", "follow": "true", "events": "groups"}, {"after": "1", "follow": "true", "events": "groups"},
    ]  # fmt: skip


def test_the_last_group_is_told_even_if_the_stream_is_cut_before_it() -> None:
    """All results are there by then; what stands behind the last of them is asked for again."""
    service = FakeService(
        httpx.Response(200, stream=CutStream(line(result(1)), group_line("a", 1)[:20])),
        status(1, 1),
        httpx.Response(200, content=group_line("a", 1)),
        status(1, 1),
    )

    assert told(service.client().iter_events("b")) == [1, "a"]


def test_results_alone_do_not_ask_for_groups() -> None:
    """Nor does the stream then tell of them."""
    service = FakeService(httpx.Response(200, content=line(result(1))), status(1, 1))

    assert told(service.client().iter_results("b")) == [1]
    assert "events" not in service.requests[0].url.params
