"""Waiting for what another process or thread brings about, where nothing tells of it."""

import time
from collections.abc import Callable

_LOOK_S = 0.01


def wait_for(what: Callable[[], object], deadline_s: float = 120.0) -> None:
    """Look until `what` is true; fail if it does not come true in time."""
    ends = time.monotonic() + deadline_s
    while not what():
        assert time.monotonic() < ends, "it did not come true in time"
        time.sleep(_LOOK_S)
