"""Making a process of the oracle deterministic: the same source gets the same random numbers each time."""

import random
import sys

_NUMPY_SEED = 0


def make_repeatable(seed: int, name: str) -> None:
    """Seed random numbers: Python's with `seed`, numpy's where it is imported. `name` becomes that of the program."""
    random.seed(seed)
    sys.argv = [name]
    seed_numpy()


def seed_numpy() -> None:
    """Seed the random numbers of numpy, if it has been imported."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(_NUMPY_SEED)
