"""When a client tries again: decisions without I/O."""

import pytest

from assay.clients.retries import RetryPolicy, Tries


def test_pauses_grow_with_jitter_up_to_their_bound() -> None:
    """Pauses double up to the longest; luck halves them at most."""
    policy = RetryPolicy(first_s=1, longest_s=4, patience_s=100)

    pauses = [policy.pause_s(failures, 0, 0, luck=1.0) for failures in (1, 2, 3, 9)]

    assert pauses == [1, 2, 4, 4]
    assert policy.pause_s(3, 0, 0, luck=0.0) == 2
    assert policy.pause_s(3, 99, 0, luck=0.0) is None


@pytest.mark.parametrize("header", ["soon", "nan", "-5", "", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_senseless_retry_after_counts_as_none(header: str) -> None:
    """Only a number of seconds counts."""
    tries = Tries(RetryPolicy(first_s=1), luck=lambda: 0.0)

    assert tries.after_answer(503, {"Retry-After": header}, b"") == 0.5
