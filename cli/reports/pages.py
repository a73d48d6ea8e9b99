"""A report as one HTML file: nothing is loaded from anywhere, plots are SVG in it, and every text is escaped."""

import html
from collections.abc import Iterable, Iterator

from assay.cli.reports.sections import Bars, Section
from assay.cli.results.telling import printable

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1c2330; }
h2 { margin-top: 2rem; border-bottom: 1px solid #d5dae2; }
table { border-collapse: collapse; margin: 1rem 0; }
td, th { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #e8ebf0; vertical-align: top; }
td { overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
svg { max-width: 100%; height: auto; } svg text { font: 12px system-ui, sans-serif; fill: #1c2330; }
svg rect { fill: #3b6fb6; }
@media (prefers-color-scheme: dark) {
  body { background: #14171c; color: #e3e7ee; } svg text { fill: #e3e7ee; } svg rect { fill: #7aa5e0; }
}
"""
_WIDTH, _HEIGHT, _ROW = 640, 200, 22
_LABEL = 150
_TICKS = 5


def html_lines(sections: Iterable[Section]) -> Iterator[str]:
    """Yield the lines of the page."""
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Assay: results</title>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<style>{_STYLE}</style></head><body>"
    for depth, section in enumerate(sections):
        level = "h2" if depth else "h1"
        yield f"<{level}>{_escaped(section.title)}</{level}>"
        yield from (f"<p>{_escaped(note)}</p>" for note in section.notes)
        if section.bars is not None:
            yield from _histogram(section.bars) if section.bars.is_histogram else _lengths(section.bars)
        if section.rows:
            yield f"<table><thead>{_row('th', section.headers)}</thead><tbody>"
            yield from (_row("td", row) for row in section.rows)
            yield "</tbody></table>"
    yield "</body></html>"


def _escaped(text: str) -> str:
    """Return text for an element or an attribute."""
    return html.escape(printable(text))


def _row(cell: str, texts: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{cell}>{_escaped(text)}</{cell}>' for text in texts)}</tr>"


def _lengths(bars: Bars) -> Iterator[str]:
    """Yield a plot with a horizontal bar for each label."""
    height = _ROW * len(bars.values) + 4
    yield f'<svg role="img" width="{_WIDTH}" height="{height}" viewBox="0 0 {_WIDTH} {height}">'
    most = max(bars.values, default=0.0) or 1.0
    for place, (label, value) in enumerate(zip(bars.labels, bars.values, strict=True)):
        top = place * _ROW + 2
        length = (_WIDTH - _LABEL - 70) * value / most
        yield f'<text x="{_LABEL - 8}" y="{top + 15}" text-anchor="end">{_escaped(label)}</text>'
        yield f'<rect x="{_LABEL}" y="{top}" width="{length:.1f}" height="{_ROW - 4}"/>'
        yield f'<text x="{_LABEL + length + 6:.1f}" y="{top + 15}">{value:g}</text>'
    yield "</svg>"


def _histogram(bars: Bars) -> Iterator[str]:
    """Yield a plot with a vertical bar for each range, whose edges the labels are."""
    yield f'<svg role="img" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
    most = max(bars.values, default=0.0) or 1.0
    left, bottom, top = 60, _HEIGHT - 24, 16
    step = (_WIDTH - left - 20) / max(len(bars.values), 1)
    yield f'<text x="{left - 8}" y="{top + 4}" text-anchor="end">{most:g}</text>'
    yield f'<text x="{left - 8}" y="{bottom}" text-anchor="end">0</text>'
    for place, (value, start, end) in enumerate(zip(bars.values, bars.labels, bars.labels[1:], strict=False)):
        length = (bottom - top) * value / most
        yield f'<rect x="{left + place * step + 1:.1f}" y="{bottom - length:.1f}" width="{step - 2:.1f}"'
        yield f' height="{length:.1f}"><title>{_escaped(f"{start} to {end}: {value:g}")}</title></rect>'
    every = max((len(bars.labels) - 1) // (_TICKS - 1), 1)
    for place, label in list(enumerate(bars.labels))[::every]:
        yield f'<text x="{left + place * step:.1f}" y="{_HEIGHT - 6}" text-anchor="middle">{_escaped(label)}</text>'
    yield "</svg>"
