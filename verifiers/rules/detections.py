"""The list of boxes that a completion answers with, read as Visual-RFT's released code reads it.

Its steps, in order: the answer's text, `[[` and `]]` made single, line breaks dropped, a text that does not end in `]`
cut at its last `},` and closed, single quotes made double, JSON. Liuziyu77/Visual-RFT@9486633 grpo.py.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Literal, NamedTuple, assert_never

from assay.verifiers.rules.blocks import blocks
from assay.verifiers.rules.coordinates import number, numbers
from assay.verifiers.rules.literal import read_json

MOST_BOXES = 1_000
"""A longer list counts as malformed."""

_MOST_CHARACTERS = 250_000
_SHOWN = 40  # characters of a key in a message
_MOST_SHOWN = 6

_TAG = "answer"
_NONE = frozenset({"no objects", "no object"})


@dataclass(frozen=True)
class AnswerPlace:
    """Where in a completion the list stands."""

    block: Literal["first", "last", "only"]
    one_line: bool
    untagged: Literal["whole", "search", "refuse"]


@dataclass(frozen=True)
class BoxKeys:
    """How the parts of one detection are called; without a name for it, confidence is not read and counts as 1."""

    box: str
    confidence: str | None


class Predicted(NamedTuple):
    """A predicted box, four numbers, with its confidence."""

    box: tuple[float, ...]
    confidence: float


def find_answer(text: str, place: AnswerPlace) -> str | None:
    """Return the text that should be the list, or None where the completion has no such place."""
    if place.block == "only" and text.count(f"<{_TAG}>") > 1:
        return None
    answer: str | None = None
    for found in _blocks(text, place.one_line):
        answer = found
        if place.block != "last":
            break
    if answer is not None:
        return answer
    match place.untagged:
        case "whole":
            return text
        case "search":
            return text[text.find("[") : text.rfind("]") + 1] if "[" in text else None
        case "refuse":
            return None
        case _:
            assert_never(place.untagged)


class Malformed(ValueError):
    """The answer is no list of boxes; says what is wrong with it."""


def read_detections(answer: str, keys: BoxKeys) -> list[Predicted]:
    """Return the detections of an answer in its order, none for `[]` and `No Objects`. Raises Malformed.

    One entry without four plain numbers, or without a confidence where it is asked for, spoils the whole list.
    """
    if len(answer) > _MOST_CHARACTERS:
        raise Malformed(f"the answer has more than {_MOST_CHARACTERS} characters")
    if answer.count("{") > MOST_BOXES:
        raise Malformed(f"the answer has more than {MOST_BOXES} boxes")
    joined = answer.strip().replace("[[", "[").replace("]]", "]").replace("\n", "").partition(f"</{_TAG}>")[0]
    if joined.removesuffix(".").strip().casefold() in _NONE:
        return []
    if not joined.endswith("]"):
        joined = joined.rsplit("},", 1)[0] + "}]"
    try:
        entries = read_json(joined.replace("'", '"'))
    except ValueError as error:
        is_fenced = "```" in joined
        raise Malformed(f"the answer is no JSON{', for it holds a ``` fence' if is_fenced else ''}") from error
    return _check(entries, keys)


def _blocks(text: str, one_line: bool) -> Iterator[str]:
    return _one_line_blocks(text) if one_line else blocks(text, _TAG)


def _one_line_blocks(text: str) -> Iterator[str]:
    """Yield the content of each block whose tags stand on one line, as `<answer>(.*?)</answer>` finds them."""
    opening, closing = f"<{_TAG}>", f"</{_TAG}>"
    at = end = line_end = 0
    while (start := text.find(opening, at)) >= 0:
        at = start + len(opening)
        if end < at and (end := text.find(closing, at)) < 0:
            return
        if line_end < at and (line_end := text.find("\n", at)) < 0:
            line_end = len(text)
        if end < line_end:
            yield text[at:end]
            at = end + len(closing)


def _check(entries: object, keys: BoxKeys) -> list[Predicted]:
    if not isinstance(entries, list):
        raise Malformed("the answer is no list")
    found: list[Predicted] = []
    for place, entry in enumerate(entries, 1):
        if not isinstance(entry, dict):
            raise Malformed(f"box {place} is no object with the key {keys.box!r}")
        box = numbers(entry.get(keys.box), 4)
        confidence = 1.0 if keys.confidence is None else number(entry.get(keys.confidence))
        if box is None:
            raise Malformed(_missing(entry, keys.box, f"box {place}", "four numbers"))
        if confidence is None:
            assert keys.confidence is not None
            raise Malformed(_missing(entry, keys.confidence, f"box {place}", "a number"))
        found.append(Predicted(box, confidence))
    return found


def _missing(entry: Mapping[str, object], key: str, which: str, what: str) -> str:
    """Say that a key is not there, and which are, or that its value is not what it should be."""
    if key in entry:
        return f"{key!r} of {which} is not {what}"
    there = ", ".join(repr(name[:_SHOWN]) for name in islice(entry, _MOST_SHOWN)) or "no key"
    return f"{which} has no {key!r} but {there}"
