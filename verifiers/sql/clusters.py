"""Rows of two results in groups, such that rows that are near each other are in one. Pure; n log n."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from assay.verifiers.sql.keys import key_of_cell
from assay.verifiers.sql.nearness import Nearness, Number, as_float, is_number
from assay.verifiers.sql.results import Cell, Row


@dataclass
class Group:
    """Rows that are equal in all but numbers, and whose numbers are in one cluster, column by column."""

    loose: tuple[int, ...]
    """The columns in which a gold row and a found row of this group need not be near: their cluster is a chain."""
    gold: list[Row] = field(default_factory=list)
    found: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class _Column:
    marks: Sequence[str]
    """Of each row, the gold's first: the number of its cluster, or the key of what is no number."""
    loose: frozenset[str]


def grouped(gold: Sequence[Row], found: Sequence[Row], near: Nearness) -> list[Group]:
    """Return the groups. Rows must be of one width."""
    rows = [*gold, *found]
    columns = [_column(cells, len(gold), near) for cells in zip(*rows, strict=True)]
    groups: dict[str, Group] = {}
    for place, row in enumerate(rows):
        marks = [column.marks[place] for column in columns]
        key = "".join(marks)
        if key not in groups:
            loose = tuple(n for n, mark in enumerate(marks) if mark in columns[n].loose)
            groups[key] = Group(loose)
        (groups[key].gold if place < len(gold) else groups[key].found).append(row)
    return list(groups.values())


def _column(cells: Sequence[Cell], golds: int, near: Nearness) -> _Column:
    """Cut the column's numbers, in order, wherever none below is near any above."""
    marks = ["" if is_number(cell) else key_of_cell(cell) for cell in cells]
    numbers = [(cell, place) for place, cell in enumerate(cells) if is_number(cell)]
    clusters: list[list[tuple[Number, int]]] = []
    top = -math.inf
    for cell, place in sorted(numbers, key=itemgetter(0)):
        value = as_float(cell)
        if not clusters or value > top:
            clusters.append([])
        clusters[-1].append((cell, place))
        marks[place] = f"#{len(clusters)};"
        top = max(top, near.reach(value)[1])
    loose = {f"#{n};" for n, members in enumerate(clusters, 1) if not _is_tight(members, golds, near)}
    return _Column(marks, frozenset(loose))


def _is_tight(members: Sequence[tuple[Number, int]], golds: int, near: Nearness) -> bool:
    with_integers = any(place < golds and isinstance(cell, int) for cell, place in members)
    return near.spans(members[0][0], members[-1][0], with_integers=with_integers)
