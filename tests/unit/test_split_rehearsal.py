"""What a warm interpreter does before it forks."""

import os
import threading
from collections.abc import Callable

import pytest

from assay.verifiers.split.rehearsal import rehearse_candidate, rehearse_oracle


@pytest.mark.parametrize("rehearse", [rehearse_candidate, rehearse_oracle])
def test_a_rehearsal_leaves_nothing_open(rehearse: Callable[[], None]) -> None:
    """Playing a conversation leaves no descriptor, thread or print behind, and can be done again."""
    before = os.listdir("/proc/self/fd")

    rehearse()
    rehearse()

    assert os.listdir("/proc/self/fd") == before
    assert threading.active_count() == 1
