"""Tests that need isolation: skipped where a machine has none, unless it must."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from assay.errors import IsolationUnavailable
from assay.settings import required_neighbours


@contextmanager
def skipped_without(neighbour: str = "jail") -> Iterator[None]:
    """Skip where what the block opens cannot be isolated; fail there if ASSAY_REQUIRE names the neighbour."""
    try:
        yield
    except IsolationUnavailable as error:
        if neighbour in required_neighbours():
            raise
        pytest.skip(f"no isolation on this machine ({neighbour}): {error}")
