"""A linear or mixed-integer model as arrays, and how these go to the process that solves it and come back."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal  # Any: msgpack values

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]
Flags = NDArray[np.bool_]
Status = Literal["optimal", "infeasible", "unbounded"]
"""What a model is found to be: with a best solution, with none, or without an end."""

_TYPES = {"integer": np.bool_, "starts": np.int32, "columns": np.int32}


@dataclass(frozen=True)
class Problem:
    """A model: costs and bounds by variable, sides by row, the rows' coefficients; what has no bound has infinities.

    Row `r` has the coefficients `values[starts[r]:starts[r + 1]]` of the variables `columns[...]` of the same range.
    """

    names: tuple[str, ...]
    maximize: bool
    offset: float
    costs: Floats
    low: Floats
    high: Floats
    integer: Flags
    row_low: Floats
    row_high: Floats
    starts: Integers
    columns: Integers
    values: Floats

    @property
    def size_bytes(self) -> int:
        """What it takes in memory, about."""
        arrays = (getattr(self, one.name) for one in fields(self)[3:])
        return sum(int(array.nbytes) for array in arrays) + 100 * len(self.names)


@dataclass(frozen=True)
class Solved:
    """A model and what HiGHS found: the best objective, None where nothing is feasible or there is no end to it."""

    problem: Problem
    status: Status
    best: float | None
    version: str


def pack_problem(problem: Problem) -> dict[str, Any]:
    """Return a problem as plain values, for msgpack."""
    plain = {"names": list(problem.names), "maximize": problem.maximize, "offset": problem.offset}
    return plain | {one.name: getattr(problem, one.name).tobytes() for one in fields(problem)[3:]}


def unpack_problem(plain: Mapping[str, Any]) -> Problem:
    """Return the problem that `pack_problem` was given."""
    arrays: dict[str, Any] = {
        one.name: np.frombuffer(plain[one.name], dtype=_TYPES.get(one.name, np.float64)) for one in fields(Problem)[3:]
    }
    return Problem(tuple(plain["names"]), bool(plain["maximize"]), float(plain["offset"]), **arrays)
