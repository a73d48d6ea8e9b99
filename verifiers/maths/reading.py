"""Reading an answer: from its text to a node, or to the reason why it cannot be read."""

import re
from dataclasses import dataclass
from fractions import Fraction

from assay.verifiers.maths import vocabulary as words
from assay.verifiers.maths.building import depth_of, number
from assay.verifiers.maths.characters import to_latex
from assay.verifiers.maths.grammar import fold, parse
from assay.verifiers.maths.lexing import Lexer
from assay.verifiers.maths.nodes import Bracket, Constant, KnownSet, Named, Node, Number, Ratio, Sequence, Words
from assay.verifiers.maths.raising import numeral
from assay.verifiers.maths.tokens import Unfamiliar, Unreadable
from assay.verifiers.maths.written_numbers import Style, TooLong

MOST_CHARACTERS = 4000
"""Longer answers are not read."""

_DEEPEST = 100  # nodes inside one another: every walk over them is a recursion
_TOO_DEEP = "it is nested too deeply"
_CLOCK = re.compile(
    r"([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9]))?(?:\s|\\[, ])*(?:\\text\{)?\s*(?:([aApP])\.?[mM]\.?)?\s*\}?"
)
_HEXADECIMAL = re.compile(r"\(?([0-9A-Fa-f]+)\)?_\{?([0-9]{1,2})\}?")
_DEGREE = re.compile(r"(?<=[0-9])\s*\^\s*(?:o(?![A-Za-z])|\{o\})")
_TIMES_TEN = re.compile(r"(?<=[0-9])\s*[xX]\s*(?=10\s*\^)")
_WRAPPED = ((r"\(", r"\)"), (r"\[", r"\]"), ("$$", "$$"), ("$", "$"), ("`", "`"))
_AMBIGUOUS_COMMA = re.compile(r"[0-9],[0-9]{3}(?![0-9])")
_MATHEMATICS = re.compile(r"[0-9=<>+*/^_|]")
_MARKED = re.compile(r"\\(?:text|textbf|textit|textrm|mbox)\s*\{[^{}]*\}")
_OF_WORDS = words.WRITTEN_OUT | words.UPRIGHT | words.SKIPPED
_COMMANDS = re.compile(r"\\[A-Za-z]+|\\.")


_TEN = number(10)


@dataclass(frozen=True)
class Manner:
    """How what is ambiguous is to be read."""

    style: Style
    log_base: Node


@dataclass(frozen=True)
class Reading:
    """What a text says; without a node, `fault` is why it cannot be read."""

    text: str
    node: Node | None
    units: tuple[str, ...] = ()
    fault: str = ""
    is_unfamiliar: bool = False
    """Whether another grammar may know it."""


def tidy(text: str) -> str:
    """Return the answer in LaTeX's characters, without what only wraps it and without punctuation at its end."""
    kept = to_latex(text[: MOST_CHARACTERS + 1]).replace("{:}", ":").strip()
    for _ in range(4):
        before = kept
        kept = _without_full_stop(kept).lstrip(" *")
        for start, end in _WRAPPED:
            inside = kept[len(start) : -len(end)]
            if (
                len(kept) > len(start) + len(end)
                and kept.startswith(start)
                and kept.endswith(end)
                and end not in inside
            ):
                kept = inside.strip()
        if kept == before:
            break
    return kept if kept.strip("$ ") else ""


def _without_full_stop(text: str) -> str:
    """Strip punctuation and emphasis off the end; a blank that a backslash keeps is punctuation too."""
    kept = text.rstrip(" .,;:*")
    return kept if not kept.endswith("\\") or kept.endswith("\\\\") else kept[:-1].rstrip(" .,;:*")


def plain_manner(style: Style) -> Manner:
    """Return the manner for a text in which nothing is ambiguous."""
    return Manner(style, _TEN)


def manners(text: str, style: Style) -> tuple[Manner, ...]:
    """Return the ways in which the text may be read, the likeliest first."""
    styles = [style]
    if style.thousands == "," and _AMBIGUOUS_COMMA.search(text):
        styles.append(Style(style.thousands, style.point, joins_bare=not style.joins_bare))
    bases: list[Node] = [_TEN]
    if "log" in text:
        bases.append(Constant(Named.E))
    return tuple(Manner(one, base) for base in bases for one in styles)


def read(text: str, manner: Manner) -> Reading:
    """Read a tidy text in one manner. Never raises."""
    if not text:
        return Reading(text, None, fault="it is empty")
    if len(text) > MOST_CHARACTERS:
        return Reading(text, None, fault=f"it is longer than {MOST_CHARACTERS} characters")
    special = _special(text)
    if special is not None:
        return Reading(text, special)
    try:
        node, units = _parsed(text, manner)
    except (Unreadable, TooLong) as error:
        said = _as_words(text)
        return Reading(text, said, (), "" if said else str(error), isinstance(error, Unfamiliar))
    except RecursionError:
        return Reading(text, None, fault=_TOO_DEEP)
    return Reading(text, _phrase(node), units)


def _parsed(text: str, manner: Manner) -> tuple[Node, tuple[str, ...]]:
    """Return what a text says, and the units in it. Raises Unreadable, TooLong, RecursionError."""
    usual = _in_usual_brackets(_TIMES_TEN.sub(r"\\times ", _DEGREE.sub(r"^\\circ ", text)))
    if manner.style.point == ",":
        usual = usual.replace("{,}", ",")
    listed, units = parse(Lexer(usual, manner.style).tokens(), manner.log_base)
    single = len(listed.items) == 1
    node = listed.items[0] if single else Sequence(listed.items, Bracket.NONE, listed.joint)
    if depth_of(node) > _DEEPEST:
        raise Unreadable(_TOO_DEEP)
    return node, units


def _special(text: str) -> Node | None:
    """Read what is no mathematics, though it may look like it: times of day, hexadecimal digits, spelled numbers."""
    clock = _CLOCK.fullmatch(text)
    if clock is not None:
        parts: list[Node] = [number(int(part)) for part in clock.groups()[:3] if part is not None]
        if clock.group(4):
            parts.append(Words(f"{clock.group(4).lower()}m"))
        return Ratio(tuple(parts), is_clock=True)
    digits = _HEXADECIMAL.fullmatch(text)
    if digits is not None and not digits.group(1).isdecimal() and digits.group(1)[:1] != "e":
        try:
            return numeral(digits.group(1), digits.group(2))
        except Unreadable:
            return None
    spelled = words.SPELLED.get(fold(_COMMANDS.sub(" ", text))) if len(text) < 40 else None
    return None if spelled is None else Number(Fraction(spelled))


def _in_usual_brackets(text: str) -> str:
    """Turn `]0, 1[` into `(0, 1)`: brackets that face away are open ends."""
    start = text.startswith(("]", r"\left]"))
    end = text.endswith("[")
    if not start and not end:
        return text
    inner = text.replace(r"\left]", "]", 1) if start else text
    return ("(" + inner[1:] if start else inner)[: -1 if end else None] + (")" if end else "")


def words_of(text: str) -> str:
    """Return what a text says as words: folded, without commands, in its usual form."""
    folded = fold(_COMMANDS.sub(" ", text))
    return words.SYNONYMS.get(folded, folded)


def _as_words(text: str) -> Words | None:
    """Return the text as words where nothing in it is mathematics, or all of it is marked as text."""
    if not _MARKED.fullmatch(text):
        plain = {name[1:] for name in _COMMANDS.findall(text)} <= _OF_WORDS
        if _MATHEMATICS.search(text) or not plain:
            return None
    said = words_of(text)
    return Words(said) if any(map(str.isalpha, said)) else None


def _phrase(node: Node) -> Node:
    """Return what a phrase names, where it names a set or has a usual form."""
    if not isinstance(node, Words):
        return node
    if node.text in words.PHRASES:
        return KnownSet(words.PHRASES[node.text])
    return Words(words.SYNONYMS.get(node.text, node.text))
