"""When a client tries again: decisions without I/O."""

from datetime import UTC, datetime

import pytest

from assay.clients.refusals import refusal
from assay.clients.retries import RetryPolicy, Tries
from assay.errors import QueueFull, ServiceUnavailable


def test_pauses_grow_with_jitter_up_to_their_bound() -> None:
    """Pauses double up to the longest; luck halves them at most."""
    policy = RetryPolicy(first_s=1, longest_s=4, patience_s=100)

    pauses = [policy.pause_s(failures, 0, 0, luck=1.0) for failures in (1, 2, 3, 9)]

    assert pauses == [1, 2, 4, 4]
    assert policy.pause_s(3, 0, 0, luck=0.0) == 2
    assert policy.pause_s(3, 99, 0, luck=0.0) is None


@pytest.mark.parametrize("header", ["soon", "nan", "-5", "", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 99 Oct 2015 GMT"])
def test_senseless_retry_after_counts_as_none(header: str) -> None:
    """Only seconds from now on count; a date that has passed asks for nothing."""
    tries = Tries(RetryPolicy(first_s=1), luck=lambda: 0.0)

    assert tries.after_answer(503, {"Retry-After": header}, b"") == 0.5


@pytest.mark.parametrize("header", ["240", "Mon, 30 Nov 2026 12:04:00 GMT", "Mon, 30 Nov 2026 13:04:00 +0100"])
def test_retry_after_is_honoured_as_far_as_patience_goes(header: str) -> None:
    """By number or by date, however long; a pause that would end after patience is not begun."""
    noon = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

    def tries(patience_s: float) -> Tries:
        return Tries(
            RetryPolicy(first_s=1, patience_s=patience_s), luck=lambda: 0.0, clock=lambda: 0.0, now=lambda: noon
        )

    assert tries(300).after_answer(503, {"Retry-After": header}, b"") == 240.5
    with pytest.raises(ServiceUnavailable):
        tries(200).after_answer(503, {"Retry-After": header}, b"")


def test_a_refusal_that_no_parser_bears_is_still_one() -> None:
    """What stands in for the service may answer anything: its status is told."""
    assert "HTTP status 403" in str(refusal(403, b"[" * 100_000, None))


def test_a_full_queue_tells_when_to_come_back() -> None:
    """In whole seconds, at least one."""
    for header, seconds in (("120", 120), ("1.5", 2), (None, 1)):
        fault = refusal(429, b"", header)
        assert isinstance(fault, QueueFull)
        assert fault.retry_after_s == seconds
