"""A client while its service is busy or away."""

import httpx
import pytest
from scripted_service import URL, FakeService, accepted, problem

from assay.clients.retries import RetryPolicy
from assay.errors import (
    QueueFull,
    ServiceUnavailable,
)


def test_a_repeated_submit_keeps_its_key() -> None:
    """A retry after a lost answer is the same batch for the service."""
    service = FakeService(httpx.ConnectError("refused"), httpx.ReadError("lost"), accepted())

    service.client().submit([], [])

    keys = {request.headers["Idempotency-Key"] for request in service.requests}
    assert len(service.requests) == 3
    assert len(keys) == 1


def test_two_submits_have_two_keys() -> None:
    """Handing in the same batch twice on purpose makes two batches."""
    service = FakeService(accepted())

    for _ in range(2):
        service.client().submit([], [])

    assert service.requests[0].headers["Idempotency-Key"] != service.requests[1].headers["Idempotency-Key"]


@pytest.mark.parametrize("code", [429, 502, 503, 504])
def test_busy_answers_are_retried_after_what_the_service_says(code: int) -> None:
    """Retry-After is a lower bound of the pause."""
    service = FakeService(httpx.Response(code, headers={"Retry-After": "7"}), accepted())

    service.client().submit([], [])

    assert len(service.requests) == 2
    assert service.pauses[0] >= 7


def test_patience_ends() -> None:
    """When the policy's patience is used up the last fault is raised."""
    service = FakeService(httpx.Response(429, headers={"Retry-After": "9"}, json={"detail": "full"}))
    client = service.client(retry=RetryPolicy(patience_s=8))

    with pytest.raises(QueueFull, match="full") as caught:
        client.submit([], [])

    assert caught.value.retry_after_s == 9
    assert len(service.requests) == 1


def test_an_unreachable_service_is_named() -> None:
    """The exception says which service and why."""
    service = FakeService(httpx.ConnectError("refused"))

    with pytest.raises(ServiceUnavailable, match=r"assay\.test.*refused"):
        service.client(retry=RetryPolicy(patience_s=0)).submit([], [])


def test_an_outage_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    """The first failure to connect says which service, why, and for how long it is tried."""
    service = FakeService(httpx.ConnectError("refused"), httpx.ConnectError("refused"), accepted())

    service.client(retry=RetryPolicy(patience_s=60)).submit([], [])

    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        f"cannot reach {URL}: refused; trying for 60 s"
    ]


def test_an_answer_that_asks_for_patience_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Each reason once, with the first answer that gives it; a full queue is nothing to tell."""
    service = FakeService(
        problem(503),
        problem(503),
        problem(429),
        httpx.Response(503, json={"detail": "other"}),
        problem(503),
        accepted(),
    )

    service.client(retry=RetryPolicy(patience_s=60)).submit([], [])

    assert caplog.messages == [
        f"{URL}: the service answered 503: why; trying for 60 s",
        f"{URL}: the service answered 503: other; trying for 60 s",
    ]
