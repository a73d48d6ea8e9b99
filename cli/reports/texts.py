"""Reports as text: for a terminal, and in Markdown. Nothing that a task or a completion says can leave its cell."""

import re
from collections.abc import Iterable, Iterator

from assay.cli.reports.sections import Section
from assay.cli.results.telling import on_a_line

_CELL = 60
_WIDTH = 40
_ROWS = 20
_PLAIN = re.compile(r"(?:(?!www\.|GH-|://)[^\W_]|[ .,:;%()+\-/'\"=])*+", re.IGNORECASE)
"""Text that no renderer turns into markup, a link or a mention."""


def terminal_lines(sections: Iterable[Section]) -> Iterator[str]:
    """Yield the lines that a terminal shows; control characters are gone, cells have at most 60 characters."""
    for section in sections:
        yield section.title
        yield from (f"  {note}" for note in section.notes)
        yield from _table(section)
        if len(section.rows) > _ROWS:
            yield f"  and {len(section.rows) - _ROWS} more in the other forms"
        yield ""


def markdown_lines(sections: Iterable[Section]) -> Iterator[str]:
    """Yield the lines of a Markdown document with tables, as GitHub renders them; texts are escaped."""
    for depth, section in enumerate(sections):
        yield f"{'##' if depth else '#'} {section.title}"
        yield ""
        for note in section.notes:
            yield from (_escaped(note), "")
        if section.rows:
            yield f"| {' | '.join(map(_escaped, section.headers))} |"
            yield f"|{' --- |' * len(section.headers)}"
            yield from (f"| {' | '.join(map(_escaped, row))} |" for row in section.rows)
            yield ""


def _escaped(text: str) -> str:
    """Return text without markup, mentions and links of its own: what may hold some is code, where there are none.

    Entities and backslashes would not do: GitHub looks for addresses and mentions once it has read those. Nor can a
    column's bar be told apart in code of a table, so it is shown as a broken one.
    """
    line = on_a_line(text)
    if _PLAIN.fullmatch(line):
        return line
    mark = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    gap = " " if line.startswith("`") or line.endswith("`") else ""
    shown = line.replace("|", "\u00a6")
    return f"{mark}{gap}{shown}{gap}{mark}"


def _table(section: Section) -> Iterator[str]:
    if not section.rows:
        return
    rows = [tuple(on_a_line(cell, _CELL) for cell in row) for row in (section.headers, *section.rows[:_ROWS])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(section.headers))]
    most = max(section.weights, default=0.0)
    lengths = ["", *("#" * round(_WIDTH * weight / most) if most else "" for weight in section.weights[:_ROWS])]
    lengths += [""] * (len(rows) - len(lengths))
    for row, length in zip(rows, lengths, strict=True):
        yield f"  {'  '.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))}  {length}".rstrip()
