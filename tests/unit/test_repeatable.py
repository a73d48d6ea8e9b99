"""The same source gets the same random numbers each time."""

import random
import sys

import numpy as np
import pytest

from assay.verifiers.repeatable import make_repeatable


def test_random_numbers_are_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's, and numpy's where it is."""
    monkeypatch.setattr(sys, "argv", ["pytest"])
    state, numpy_state = random.getstate(), np.random.get_state()
    drawn = []

    for _ in range(2):
        make_repeatable(7, "verifier")
        drawn.append((random.random(), np.random.rand(), sys.argv))
    random.setstate(state)
    np.random.set_state(numpy_state)

    assert drawn[0] == drawn[1]
    assert sys.argv == ["verifier"]
