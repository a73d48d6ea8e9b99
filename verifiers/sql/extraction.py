"""From a completion to the one query that is judged, and the layout it came in. Linear, pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from assay.verifiers.extraction import without_reasoning
from assay.verifiers.rules.blocks import blocks, open_block
from assay.verifiers.rules.layouts import once_each

_FENCE = "```"
_LANGUAGE = re.compile(r"`*[ \t]*([A-Za-z0-9_+-]*)")
_NAMES = frozenset({"sql", "sqlite", "sqlite3", "duckdb"})
_ALIKE = frozenset({
    "mariadb", "mssql", "mysql", "pgsql", "plsql", "postgres", "postgresql", "psql", "tsql",
})  # fmt: skip
_NO_LANGUAGE = frozenset({"", "code", "plain", "plaintext", "query", "text", "txt"})
_INLINE = re.compile(r"`([^`]+)`")
_QUERY = re.compile(r"\s*(?:select|with|values)\b", re.IGNORECASE)
_THOUGHT = ("<think>", "</think>")
_SQL_R1_TAGS = ("think", "answer")


class Need(StrEnum):
    """Whether a completion must mark its query in some way."""

    OPTIONAL = "optional"
    """Where the mark is absent, what else there is, is read; so is a block or tag that nothing closes."""
    REQUIRED = "required"
    """Without it there is no answer."""


class Pick(StrEnum):
    """Which of several blocks counts."""

    LAST = "last"
    FIRST = "first"


class Layout(StrEnum):
    """What the term `format` asks for."""

    FENCE = "fence"
    """A ```sql block, in the answer's block where one is looked for."""
    SQL_R1 = "sql_r1"
    """Moreover, each of the tags of `think` and `answer` exactly once, in order."""


@dataclass(frozen=True)
class Places:
    """Where a query is looked for."""

    tag: str | None
    tag_need: Need
    fence_need: Need
    pick: Pick
    drafts: bool = False
    """Whether a block of the tag counts in the reasoning too."""


@dataclass(frozen=True)
class Found:
    """A query, trimmed, and the text around it that was searched."""

    sql: str
    within: str


def find_query(completion: str, places: Places) -> Found | None:
    """Return the query, or None if there is none; it may still be blank or no SQL at all."""
    within = _answer(completion, places)
    if within is None:
        return None
    strict = places.fence_need is Need.REQUIRED
    fenced = list(_fences(within, unclosed=not strict))
    code = None
    for names in (_NAMES,) if strict else (_NAMES | _ALIKE, _NO_LANGUAGE):
        if code is None:
            code = _pick([body for name, body in fenced if name in names], places.pick)
    if code is None and not strict and _FENCE not in within:
        code = _inline(within) or within
    return None if code is None or not code.strip() else Found(code.strip(), within)


def _inline(text: str) -> str | None:
    """Return the only inline code that begins as a query does, in a text that does not; None: there is none such."""
    queries = [] if _QUERY.match(text) else [span for span in _INLINE.findall(text) if _QUERY.match(span)]
    return queries[0] if len(queries) == 1 else None


def has_layout(completion: str, places: Places, layout: Layout) -> bool:
    """Whether the completion has the layout that its term asks for."""
    strict = Places(places.tag, Need.REQUIRED, Need.REQUIRED, places.pick, places.drafts)
    if layout is Layout.SQL_R1 and not once_each(completion, _SQL_R1_TAGS):
        return False
    return find_query(completion, strict) is not None


def _answer(completion: str, places: Places) -> str | None:
    said = completion if places.drafts else without_reasoning(completion)
    if places.tag is not None:
        block = _pick(list(blocks(said, places.tag)), places.pick)
        if block is not None:
            return block
        if places.tag_need is Need.REQUIRED:
            return None
        opened = open_block(said, places.tag)
        if opened is not None and _may_hold_query(opened, said):
            return opened
    return _after_thought(said)


def _may_hold_query(opened: str, said: str) -> bool:
    """Whether what follows a tag that nothing closes is its block: beside a fence, the tag may only be mentioned."""
    is_query = _QUERY.match(opened) or _inline(opened)
    return bool(is_query) or any(_fences(opened, unclosed=True)) or _FENCE not in said


def _after_thought(text: str) -> str:
    opening, closing = _THOUGHT
    rest = text.rpartition(closing)[2]
    return rest.partition(opening)[0]


def _pick(found: list[str], pick: Pick) -> str | None:
    if not found:
        return None
    return found[-1] if pick is Pick.LAST else found[0]


def _fences(text: str, *, unclosed: bool) -> Iterator[tuple[str, str]]:
    """Yield language (lower case, maybe empty) and body of each fenced block; of a last one that is open if asked."""
    at = 0
    while (start := text.find(_FENCE, at)) >= 0:
        named = _LANGUAGE.match(text, start + len(_FENCE))
        assert named is not None  # it matches nothing, too
        end = text.find(_FENCE, named.end())
        if end < 0:
            if not unclosed or not text[named.end() :].strip():
                return
            end = len(text)
        line = text[named.end() : end]
        name = named.group(1).lower()
        known = name in _NAMES | _ALIKE or line[:1] in ("\n", "\r", "")
        yield (name, line) if known else ("", text[named.start(1) : end])
        at = end + len(_FENCE)
