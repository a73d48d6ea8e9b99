"""Lists: items with commas, semicolons, "and" or "or" between them."""

from dataclasses import dataclass

from assay.verifiers.maths.cursor import Cursor
from assay.verifiers.maths.nodes import Joint, Node
from assay.verifiers.maths.tokens import Kind

_ENDS = frozenset({Kind.STOP, Kind.CLOSE, Kind.GROUP_END, Kind.CELL, Kind.END})


@dataclass(frozen=True)
class Listed:
    """Items, and what joins them."""

    items: tuple[Node, ...]
    joint: Joint


def read_list(cursor: Cursor) -> Listed:
    """Read items until something else than a separator follows; one separator too many at the end does no harm."""
    items = [cursor.rules.item(cursor)]
    joints: set[str] = set()
    while _separates(cursor):
        while _separates(cursor):
            joints.add(cursor.take().text)
        if cursor.next.kind in _ENDS or (cursor.in_grid and cursor.sees(Kind.SEPARATOR, "row")):
            break
        items.append(cursor.rules.item(cursor))
    joint = Joint.OR if "or" in joints else Joint.AND if "and" in joints else Joint.COMMA
    return Listed(tuple(items), joint)


def _separates(cursor: Cursor) -> bool:
    return cursor.sees(Kind.SEPARATOR) and not (cursor.in_grid and cursor.next.text == "row")
