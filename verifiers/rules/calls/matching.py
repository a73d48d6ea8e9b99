"""What calls are worth beside the expected ones, in any order."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any  # Any: arguments are JSON values

import numpy as np
import numpy.typing as npt

from assay.verifiers.rules.calls.reading import Call, Unreadable
from assay.verifiers.rules.sameness import same_json

Worths = npt.NDArray[np.float64]


def credit(wanted: Sequence[Call], made: Sequence[Call], *, strict: bool) -> float:
    """Return the share of what the expected calls are worth, 0 to 1.

    Strict: spare calls cost what they could have earned, and booleans equal no numbers.
    Raises Unreadable where the released code raises.
    """
    try:
        earned = jaccard([call.name for call in wanted], [call.name for call in made])
        earned += _matched(wanted, made, strict)
    except (TypeError, RecursionError) as error:
        raise Unreadable(f"a call cannot be compared: {type(error).__name__}") from error
    possible = 1 + sum(_worth(call) for call in wanted)
    if strict and len(made) > len(wanted):
        possible += sum(sorted(map(_worth, made))[: len(made) - len(wanted)])
    return earned / possible


def jaccard(some: Sequence[Any], others: Sequence[Any]) -> float:
    """Return intersection / union of two multisets of hashable values; 1 if both are empty."""
    if some == others:
        return 1.0
    shared = sum((Counter(some) & Counter(others)).values())
    return shared / (len(some) + len(others) - shared)


def _matched(wanted: Sequence[Call], made: Sequence[Call], strict: bool) -> float:
    """Return the sum of what expected calls are worth, each matched with a call of its own of the same name."""
    by_name: dict[Any, list[Call]] = {}
    for call in made:
        by_name.setdefault(call.name, []).append(call)
    total = 0.0
    for name in dict.fromkeys(call.name for call in wanted):
        same = by_name.get(name, [])
        expected = [call for call in wanted if call.name == name]
        worths = [[_alike(one.parameters, call.parameters, strict) for call in same] for one in expected]
        if same:
            total += heaviest(np.array(worths)) if strict else _greedy(worths)
    return total


def _greedy(worths: Sequence[Sequence[float]]) -> float:
    """Return what the rows get when each in turn takes the best column left."""
    left = list(range(len(worths[0])))
    total = 0.0
    for row in worths:
        best = max(left, key=row.__getitem__, default=None)
        if best is not None and row[best] > 0:
            total += row[best]
            left.remove(best)
    return total


def heaviest(worths: Worths) -> float:
    """Return the largest sum of entries of which no two share a row or a column.

    The Hungarian method by shortest augmenting paths, one row at a time: O(rows^2 * columns).
    """
    costs = -(worths if worths.shape[0] <= worths.shape[1] else worths.T)
    rows, columns = costs.shape
    owner = np.full(columns + 1, -1)  # row of each column; the last column is where a path starts
    row_price, column_price = np.zeros(rows), np.zeros(columns + 1)
    for row in range(rows):
        owner[columns] = row
        reached = np.zeros(columns + 1, dtype=bool)
        shortest, before = np.full(columns, np.inf), np.full(columns, columns)
        at = columns
        while owner[at] >= 0:
            reached[at] = True
            reduced = costs[owner[at]] - row_price[owner[at]] - column_price[:columns]
            closer = ~reached[:columns] & (reduced < shortest)
            shortest[closer], before[closer] = reduced[closer], at
            following = int(np.argmin(np.where(reached[:columns], np.inf, shortest)))
            step = shortest[following]
            row_price[owner[reached]] += step
            column_price[reached] -= step
            shortest[~reached[:columns]] -= step
            at = following
        while at != columns:
            owner[at] = owner[before[at]]
            at = int(before[at])
    return float(-sum(costs[owner[column], column] for column in range(columns) if owner[column] >= 0))


def _alike(expected: Mapping[str, Any], given: Any, strict: bool) -> float:
    """Return the overlap of the parameters' names plus the number of equal values."""
    if not isinstance(given, Mapping):
        raise TypeError("parameters must be an object")
    shared = [name for name in expected if name in given]
    equal = same_json if strict else _loosely_equal
    union = len(expected) + len(given) - len(shared)
    values = sum(equal(expected[name], given[name]) for name in shared)
    return (len(shared) / union if union else 1.0) + values


def _worth(call: Call) -> int:
    return 1 + len(call.parameters)


def _loosely_equal(one: Any, other: Any) -> bool:
    return bool(one == other)
