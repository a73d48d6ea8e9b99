"""SQL as a sequence of tokens: enough to tell strings and comments from words. Linear, for hostile texts of any size.

No grammar is read here: what a statement means is for its engine alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from itertools import pairwise

_COMMENT = r"--[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/)?+"
_NOTHING = re.compile(rf"(?:[\s;]++|{_COMMENT})*+")
_TOKENS = re.compile(
    rf"(?P<blank>(?:\s++|{_COMMENT})++)"
    r"|(?P<quoted>'[^']*'?|\"[^\"]*\"?|`[^`]*`?|\[[^\]]*\]?)"
    r"|(?P<end>;[\s;]*)"
    r"|(?P<word>[^\W\d][\w$]*)"
    r"|(?P<other>\d[\w.]*|.)",
    re.DOTALL,
)


class Kind(Enum):
    """What a token is."""

    BLANK = auto()
    """White space and comments; an unclosed one runs to the end."""
    QUOTED = auto()
    """A string or a quoted name, in brackets too; doubled quotes make it two tokens."""
    END = auto()
    """Semicolons, and the white space among and after them."""
    WORD = auto()
    OTHER = auto()
    """A number or a single character."""


_KINDS = {"blank": Kind.BLANK, "quoted": Kind.QUOTED, "end": Kind.END, "word": Kind.WORD, "other": Kind.OTHER}


@dataclass(frozen=True, slots=True)
class Token:
    """A stretch of the text."""

    kind: Kind
    text: str


def tokens(sql: str) -> Iterator[Token]:
    """Yield the tokens; joined they are the text again."""
    for match in _TOKENS.finditer(sql):
        yield Token(_KINDS[str(match.lastgroup)], match.group())


def is_blank(sql: str) -> bool:
    """Whether there is nothing but white space, comments and semicolons."""
    return _NOTHING.fullmatch(sql) is not None


def only_statement(sql: str) -> str | None:
    """Return the text up to the first semicolon; None if more follows it than white space, comments and semicolons."""
    kept: list[str] = []
    ended = False
    for token in tokens(sql):
        if token.kind is Kind.END:
            ended = True
        elif not ended:
            kept.append(token.text)
        elif token.kind is not Kind.BLANK:
            return None
    return "".join(kept)


def leading_words(sql: str, most: int) -> list[str]:
    """Return the first words in capitals, at most so many; parentheses, semicolons and comments before them aside."""
    found: list[str] = []
    for token in tokens(sql):
        if token.kind is Kind.WORD:
            found.append(token.text.upper())
        elif token.kind not in (Kind.BLANK, Kind.END) and token.text != "(":
            break
        if len(found) == most:
            break
    return found


def is_ordered(sql: str) -> bool:
    """Whether the statement itself has an ORDER BY: not within parentheses, where subqueries and windows have theirs.

    Parentheses around the whole statement do not count.
    """
    words = [token.text.upper() for token in tokens(sql) if token.kind not in (Kind.BLANK, Kind.END)]
    outermost = _wrappings(words)
    depth = 0
    for word, following in pairwise(words):
        depth += (word == "(") - (word == ")")
        if depth == outermost and word == "ORDER" and following == "BY":
            return True
    return False


def _wrappings(words: list[str]) -> int:
    """Return how many pairs of parentheses are around all of the words."""
    opened: list[int] = []
    closing: dict[int, int] = {}
    for place, word in enumerate(words):
        if word == "(":
            opened.append(place)
        elif word == ")" and opened:
            closing[opened.pop()] = place
    count = 0
    while closing.get(count) == len(words) - 1 - count:
        count += 1
    return count


def mentions_order(sql: str) -> bool:
    """Whether the letters "order by" occur anywhere, in strings and subqueries too: Spider's rule."""
    return "order by" in sql.lower()


def without_distinct(sql: str) -> str:
    """Return the statement without the keyword DISTINCT, wherever it stands outside quotes and comments."""
    return "".join(
        token.text for token in tokens(sql) if token.kind is not Kind.WORD or token.text.upper() != "DISTINCT"
    )
