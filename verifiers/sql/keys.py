"""Rows as texts that are equal where the rows are.

What a completion makes is never hashed as a number: anybody can name numbers whose hashes are all the same (multiples
of 2^61 - 1), and a container of them takes quadratic time. The hash of a text is salted.
"""

from collections.abc import Sequence
from fractions import Fraction

from assay.verifiers.sql.results import Cell, Typed


def key_of(cells: Sequence[Cell]) -> str:
    """Return a text that is the same for equal cells and for no others: 1, 1.0 and True are, "1" is not; NaN is NaN."""
    return "".join(map(key_of_cell, cells))


def key_of_cell(cell: Cell) -> str:
    """Return the text of one cell; none is the beginning of another's."""
    match cell:
        case None:
            return "-;"
        case str():
            return f"s{len(cell)};{cell}"
        case bytes():
            return f"b{len(cell)};{cell.decode('latin-1')}"
        case Typed():
            return f"t{len(cell.type)},{len(cell.text)};{cell.type}{cell.text}"
        case float() if not cell.is_integer():
            return f"{cell!r};"
        case Fraction() if cell.denominator != 1:
            return f"{nearest!r};" if (nearest := float(cell)) == cell else f"{cell};"
    return f"{int(cell)};"
