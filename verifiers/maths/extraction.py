"""Finding the answer in a completion. Every rule here takes time linear in the text, whatever the text is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from assay.verifiers.rules.blocks import last_block


class Reasoning(StrEnum):
    """What is done with the reasoning before the answer is looked for."""

    STRIP = "strip"
    """Only the text after the last `</think>` counts, up to a `<think>` that follows; without either, the whole text.
    A `<think>` that does not end leaves nothing of what it holds."""
    REQUIRED = "required"
    """As `strip`, but without a `</think>` there is no answer (TRL's reasoning_accuracy_reward)."""
    FIRST = "first"
    """Only the text between the first `</think>` and the next one; without one there is no answer (ExGRPO)."""
    KEEP = "keep"
    """The whole text."""


class Extraction(StrEnum):
    """Where an answer may stand."""

    LAST_BOX = "last_box"
    """The last `\\boxed{...}` or `\\fbox{...}` that is not empty, by counting braces; if it does not end, none."""
    FIRST_BOX = "first_box"
    """The first one that is not empty."""
    ALL_BOXES = "all_boxes"
    """All of them, as a list."""
    TAG = "tag"
    """The last block of the task's `tag`; of a box in it, the content."""
    HASHES = "hashes"
    """The line after the last `####`."""
    ANSWER_LINE = "answer_line"
    """The rest of the line after the last "answer:", "answer is", or "A:" at its start; of a box in it, the content.

    A clause behind a number is left out: `18, as required`."""
    LAST_FORMULA = "last_formula"
    """What stands between the last two dollar signs."""
    LAST_NUMBER = "last_number"
    """The last number in digits, with its sign, decimals, fraction bar and percent sign."""
    WHOLE = "whole"
    """The whole text; of a box in it, the content of the last."""


_OPENING, _CLOSING = "<think>", "</think>"
_BOXES = ("\\boxed", "\\fbox")
_MOST_CHARACTERS = 65_536  # of a box; no answer is longer
_MOST_EMPTY = 500
_MOST_BOXES = 64
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_EMPTY = re.compile(r"[\s.,;:!?()\[\]$_-]*|\\(?:ldots|dots|cdots|text\{\s*\})")
_TOKEN = re.compile(
    r"\s*(-?[0-9][0-9,]*(?:\.[0-9]+)?|\\[A-Za-z]+(?:\[[0-9a-z]{1,3}\])?(?:\{[^{}]{0,200}\}){0,2}|[A-Za-z])"
)
_CLAUSE = re.compile(r",[ \t]+(?:as|which|so|since|because|meaning|thus|therefore|hence)[ \t]+[A-Za-z]")
_ANSWER = re.compile(r"(?:answer[ \t*]{0,4}(?:is|[:：])|^A[:：])[ \t*:：]{0,6}", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"-?[$]?(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)(?:/[0-9]+)?(?:\s?\\?%)?")
_LONGEST_NUMBER = 300


def after_reasoning(text: str, reasoning: Reasoning) -> str | None:
    """Return the part of a completion that may hold the answer, or None if there is none."""
    if reasoning is Reasoning.KEEP:
        return text
    if reasoning is Reasoning.FIRST:
        start = text.find(_CLOSING)
        return None if start < 0 else text[start + len(_CLOSING) :].partition(_CLOSING)[0]
    close = text.rfind(_CLOSING)
    if close < 0 and reasoning is Reasoning.REQUIRED:
        return None
    rest = text if close < 0 else text[close + len(_CLOSING) :]
    return rest.partition(_OPENING)[0]


def extract(text: str, places: tuple[Extraction, ...], tag: str = "answer") -> str | None:
    """Return the answer from the first of the places that holds one, or None."""
    for place in places:
        found = _from(text, place, tag)
        if found is not None and found.strip():
            return found.strip()
    return None


def _from(text: str, place: Extraction, tag: str) -> str | None:
    match place:
        case Extraction.LAST_BOX:
            return last_box(text)
        case Extraction.FIRST_BOX:
            return next(iter(boxes(text)), None)
        case Extraction.ALL_BOXES:
            return " \\text{ and } ".join(boxes(text))
        case Extraction.TAG:
            return _unboxed(last_block(text, tag))
        case Extraction.HASHES:
            _, mark, rest = text.rpartition("####")
            return _first_line(rest) if mark else None
        case Extraction.ANSWER_LINE:
            return _unboxed(answer_line(text))
        case Extraction.LAST_FORMULA:
            return last_formula(text)
        case Extraction.LAST_NUMBER:
            return last_number(text)
        case Extraction.WHOLE:
            return _unboxed(text)


@dataclass(frozen=True)
class _Box:
    """A box: what it holds, or None if it does not end; and where it ends."""

    content: str | None
    end: int

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing that could be an answer."""
        return self.content is not None and len(self.content) < 200 and _EMPTY.fullmatch(self.content) is not None


def last_box(text: str) -> str | None:
    """Return the content of the last box that is not empty; None if there is none, or if it does not end."""
    starts = {name: text.rfind(name) for name in _BOXES}
    for _ in range(_MOST_EMPTY):
        name = max(starts, key=starts.__getitem__)
        if starts[name] < 0:
            return None
        box = _box(text, starts[name] + len(name))
        if not box.is_empty:
            return box.content
        starts[name] = text.rfind(name, 0, starts[name])
    return None


def boxes(text: str) -> Iterator[str]:
    """Yield the contents of all boxes that are not empty, first to last, up to the first that does not end."""
    starts = {name: text.find(name) for name in _BOXES}
    found = 0
    for _ in range(_MOST_EMPTY):
        left = [name for name in _BOXES if starts[name] >= 0]
        if not left or found >= _MOST_BOXES:
            return
        name = min(left, key=starts.__getitem__)
        box = _box(text, starts[name] + len(name))
        if box.content is None:
            return
        if not box.is_empty:
            found += 1
            yield box.content
        for other in left:
            if starts[other] < box.end:
                starts[other] = text.find(other, box.end)


def _box(text: str, at: int) -> _Box:
    """Read what follows the name of a box: a group, or as TeX does, one token; digits of a number stay together."""
    brace = at + 20 - len(text[at : at + 20].ljust(20, ".").lstrip())
    if not text.startswith("{", brace):
        token = _TOKEN.match(text, at)
        return _Box("", at + 1) if token is None else _Box(token.group(1), token.end())
    depth = 0
    for found in _BRACES.finditer(text, brace, brace + _MOST_CHARACTERS):
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        if depth == 0:
            return _Box(text[brace + 1 : found.start()], found.end())
    return _Box(None, len(text))


def answer_line(text: str) -> str | None:
    """Return the rest of the line after the last mark of an answer, or None."""
    last = None
    for last in _ANSWER.finditer(text):  # noqa: B007 - the last one is what is wanted
        pass
    return None if last is None else _without_clause(_first_line(text[last.end() :]))


def last_formula(text: str) -> str | None:
    """Return what stands between the last two dollar signs, or None."""
    end = len(text[: text.rfind("$") + 1].rstrip("$"))
    start = text.rfind("$", 0, end)
    return text[start + 1 : end] if 0 <= start < end else None


def last_number(text: str) -> str | None:
    """Return the last number in a text, or None."""
    behind = re.search("[0-9]", text[::-1])
    if behind is None:
        return None
    end = len(text) - behind.start()
    start = max(0, end - _LONGEST_NUMBER)
    last = None
    for last in _NUMBER.finditer(text, start, min(len(text), end + 3)):  # noqa: B007 - the last one is what is wanted
        pass
    return None if last is None else last.group().replace("$", "")


def _unboxed(text: str | None) -> str | None:
    """Return the content of the last box in a text, or the text if there is none."""
    if text is None:
        return None
    has_box = any(name in text for name in _BOXES)
    return last_box(text) if has_box else text


def _without_clause(line: str) -> str:
    """Return a line without the clause that goes on behind its number: `18, as required`."""
    found = _CLAUSE.search(line)
    head = line if found is None else line[: found.start()]
    return head if any(map(str.isdigit, head)) else line


def _first_line(text: str) -> str:
    return text.lstrip(" \t").partition("\n")[0]
