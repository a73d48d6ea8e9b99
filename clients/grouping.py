"""Rewards as arrays, and the groups of a step as blocks of equally large ones, so that numpy compares them at once."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from numbers import Real
from typing import Any  # Any: what callers hand in

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indexes = NDArray[np.intp]
Mask = NDArray[np.bool_]
Rewards = Sequence[float | None] | Floats
Groups = Sequence[Hashable] | None

LARGEST = 1e150  # squares of anything larger overflow a double, and advantages would no longer be finite


def parse_rewards(rewards: Rewards) -> Floats:
    """Return rewards as one array, NaN where there is none; True counts as 1, False as 0.

    Raises ValueError for infinite ones, and for what is no number, such as a text that looks like one.
    """
    values = _as_numbers([np.nan if reward is None else reward for reward in rewards])
    if np.any(np.abs(values[~np.isnan(values)]) > LARGEST):
        raise ValueError(f"rewards must be finite and at most {LARGEST:g} in size; give None where there is none")
    return values


def _as_numbers(given: Sequence[Any]) -> Floats:
    """Return a column as doubles. Raises ValueError if it holds anything but numbers and booleans."""
    try:
        values = np.array(given, dtype=None if len(given) else np.float64)
    except ValueError as error:
        raise ValueError(f"a column holds numbers, not sequences of them: {error}") from error
    if values.dtype.kind not in "biuf":
        strange = [one for one in given if not isinstance(one, Real)]
        if strange:
            raise ValueError(f"{repr(strange[0])[:60]} is no number; give numbers, and None where there is none")
    if values.ndim != 1:
        raise ValueError(f"a column of numbers has one dimension, and not {values.ndim}")
    return values.astype(np.float64)


def number_groups(count: int, groups: Groups) -> tuple[list[Hashable], Indexes]:
    """Number the groups in order of appearance: return their labels, and the number of each of `count` attempts' group.

    Raises ValueError unless there is one label per attempt.
    """
    if groups is not None and len(groups) != count:
        raise ValueError(f"{len(groups)} group labels for {count} rewards; give one label per reward")
    numbers: dict[Hashable, int] = {}
    labels = [0] * count if groups is None else groups
    found = np.fromiter((numbers.setdefault(label, len(numbers)) for label in labels), dtype=np.intp, count=count)
    return list(numbers), found


def blocks(numbers: Indexes, taken: Mask) -> Iterator[Indexes]:
    """Yield the places of the attempts that are `taken`, one row a group, groups of one size in one matrix."""
    places = np.flatnonzero(taken)
    ordered = places[np.argsort(numbers[places], kind="stable")]
    sizes = np.bincount(numbers[places])
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes[sizes > 0]):
        yield ordered[starts[sizes == size][:, np.newaxis] + np.arange(size)]


def per_group(rewards: Rewards, groups: Groups, of_rows: Callable[[Floats], Floats]) -> Floats:
    """Return for each reward what `of_rows` makes of its group, a row among others of its size; 0.0 where missing."""
    values = parse_rewards(rewards)
    _, numbers = number_groups(len(values), groups)
    advantages = np.zeros(len(values))
    for places in blocks(numbers, ~np.isnan(values)):
        advantages[places] = of_rows(values[places])
    return advantages


def compared(rewards: Rewards, groups: Groups, compare: Callable[[Floats], Floats]) -> Floats:
    """Do as `per_group` for those groups whose rewards differ; in all others advantages are exactly 0.0."""

    def of_rows(rows: Floats) -> Floats:
        advantages = np.zeros_like(rows)
        differ = rows_differ(rows)
        if differ.any():
            advantages[differ] = compare(rows[differ])
        return advantages

    return per_group(rewards, groups, of_rows)


def rows_differ(rows: Floats) -> Mask:
    """Say of each row whether its values are not all equal."""
    differ: Mask = rows.max(axis=1) != rows.min(axis=1)
    return differ
