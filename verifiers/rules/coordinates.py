"""Numbers that a completion writes as coordinates, times or confidences, told from everything else that parses."""

from typing import Annotated

from pydantic import Field

MOST = 1e9
"""Numbers beyond plus or minus this are not read: areas and products of the rest are finite."""

Coordinate = Annotated[float, Field(ge=-MOST, le=MOST, allow_inf_nan=False)]
"""A coordinate or a time in a task."""


def number(value: object) -> float | None:
    """Return an int or a float within the bounds as a float; None for all else, booleans and NaN among it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not -MOST <= value <= MOST:
        return None
    return float(value)


def numbers(values: object, count: int) -> tuple[float, ...] | None:
    """Return a list or tuple of exactly `count` numbers as floats; None for all else."""
    if not isinstance(values, list | tuple) or len(values) != count:
        return None
    for value in values:  # as `number` does, but without a call for each
        if (type(value) is not float and type(value) is not int) or not -MOST <= value <= MOST:
            return None
    return tuple(map(float, values))
