"""Where in a completion the final answer stands: one function per published convention, each in linear time."""

import re
from enum import StrEnum
from typing import assert_never

from assay.verifiers.rules.answers.quantity import is_number
from assay.verifiers.rules.blocks import blocks

_HASH_NUMBER = re.compile(r"#### (-?[0-9.,]+)")
_NUMBER = re.compile(r"-?[0-9.,]+")
_HASH_LINE = re.compile(r"####[ \t]*\n?([^\n]*)")
_BEGUN = re.compile(r"\s{0,100}([^\s\d]{0,10}\d\S*)\s+(?!(?:or|and|to)\b|[-\u2013/,;+*^~\u00b1])")
_ANSWER_LINE = re.compile(r"(?i:answer)\s*:\s*([^\n]+)")
_MARKED_LINE = re.compile(r"(?i:answer)[*_ \t]*:\s*([^\n]+)")
_REACH = 100_000  # characters that a box may be long


class Source(StrEnum):
    """Where the answer is read."""

    WHOLE = "whole"
    """The text, trimmed."""
    TAG = "tag"
    """A block of the tag, trimmed; which one, `block` says."""
    AFTER_TAG = "after_tag"
    """From behind the last opening tag, or from the start, to the next closing tag, or the end; trimmed."""
    HASH_NUMBER = "hash_number"
    """The number behind the last `#### `, its full stops kept, its commas dropped: verl's strict GSM8K."""
    HASH_LINE = "hash_line"
    """What follows the last `####` on its line (on the next one if that is empty), up to the prose behind a number."""
    LAST_NUMBER = "last_number"
    """The last run of digits, dots and commas, but for a lone dot: verl's flexible GSM8K."""
    ANSWER_LINE = "answer_line"
    """What follows the last `Answer:`, in any case, on its line."""
    BOX = "box"
    """The content of the last `\\boxed{...}`, by counting braces."""
    ANSWER_LINE_OR_BOX = "answer_line_or_box"
    """The last `Answer:` line, emphasis around the word allowed; without one the last box."""


class Block(StrEnum):
    """Which block of a tag is the answer."""

    FIRST = "first"
    LAST = "last"
    ONLY = "only"
    """The only one: with several there is no answer."""


def tagged(text: str, tag: str, which: Block, least: int = 1) -> str | None:
    """Return the trimmed content of a block of the tag; None without one, or with fewer than `least` blocks."""
    first = last = None
    count = 0
    for last in blocks(text, tag):
        first = last if first is None else first
        count += 1
    if last is None or count < least or (which is Block.ONLY and count > 1):
        return None
    return (first if which is Block.FIRST and first is not None else last).strip()


def read(text: str, source: Source, tag: str) -> str | None:
    """Return the answer in the text by one convention, or None where there is none."""
    match source:
        case Source.WHOLE:
            return text.strip() or None
        case Source.TAG:
            return tagged(text, tag, Block.LAST)
        case Source.AFTER_TAG:
            return text.rpartition(f"<{tag}>")[2].partition(f"</{tag}>")[0].strip() or None
        case Source.HASH_NUMBER:
            number = _last(_HASH_NUMBER, text)
            return None if number is None else number.replace(",", "")
        case Source.HASH_LINE:
            line = _last(_HASH_LINE, text)
            return None if line is None else _without_prose(line)
        case Source.LAST_NUMBER:
            return _last_number(text)
        case Source.ANSWER_LINE:
            return _last(_ANSWER_LINE, text)
        case Source.BOX:
            return last_box(text)
        case Source.ANSWER_LINE_OR_BOX:
            line = _last(_MARKED_LINE, text)
            return line if line is not None else last_box(text)
        case _:
            assert_never(source)


def last_box(text: str) -> str | None:
    """Return the content of the last `\\boxed{...}`; None without one, or if it is not closed within reach."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth = 0
    for brace in re.finditer(r"[{}]", text[start : start + _REACH]):
        depth += 1 if brace.group() == "{" else -1
        if depth == 0:
            return text[start + len("\\boxed{") : start + brace.start()]
    return None


def well_formed(text: str, tags: tuple[str, ...]) -> bool:
    """Whether each tag has one opening and one closing tag, pairs in that order and apart, none of them blank."""
    at = 0
    for tag in tags:
        opening, closing = f"<{tag}>", f"</{tag}>"
        start, end = text.find(opening), text.find(closing)
        if start < at or end < start or text.count(opening) != 1 or text.count(closing) != 1:
            return False
        if not text[start + len(opening) : end].strip():
            return False
        at = end + len(closing)
    return True


def _without_prose(line: str) -> str:
    """Return the number that the line begins with, unless the whole line is one, or a second number is offered."""
    begun = None if is_number(line) else _BEGUN.match(line)
    return begun.group(1) if begun else line


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    """Return the group of the pattern's last match, or None."""
    groups: list[str] = pattern.findall(text)
    return groups[-1] if groups else None


def _last_number(text: str) -> str | None:
    """Return the last number that is more than a dot; where there are only dots, a dot."""
    numbers = _NUMBER.findall(text)
    return next((number for number in reversed(numbers) if number != "."), numbers[0] if numbers else None)
