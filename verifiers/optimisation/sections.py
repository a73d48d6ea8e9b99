"""The layout of answers to problems of optimisation: reasoning, model and program, each in its tags (SIRL §3.3).

Where the program stands is either ours, the last one outside of the reasoning, or that of SIRL's released code.
"""

import re
import textwrap

from assay.verifiers.extraction import without_reasoning
from assay.verifiers.rules.blocks import first_block, last_block

PROGRAM = "python"
_TAGS = ("<think>", "</think>", "<model>", "</model>", "<python>", "</python>")
_INNER = re.compile(r"^[ \t]*```[ \t]*(?:(?:python|py)[ \t]*)?$(.*?)(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```[ \t]*(?:python|py)\b[^\n]*$(.*?)(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)


def is_in_order(text: str) -> bool:
    """Whether every tag of the three sections occurs exactly once, and in that order."""
    places = [text.find(tag) for tag in _TAGS]
    return all(text.count(tag) == 1 for tag in _TAGS) and places == sorted(places)


def find_program(text: str, *, fences: bool) -> str | None:
    """Return the program: outside of the reasoning the last section of that tag, or the last fence inside it; else,
    with `fences`, the last fenced block marked as Python. None if there is none."""
    text = without_reasoning(text.replace("\r\n", "\n"))
    section = last_block(text, PROGRAM)
    if section is not None:
        inner = _last(_INNER, section)
        return _tidy(section if inner is None else inner)
    fenced = _last(_FENCE, text) if fences else None
    return None if fenced is None else _tidy(fenced)


def find_first_program(text: str, *, fences: bool) -> str | None:
    """Return the same, but the first one instead of the last."""
    return find_sirl_program(without_reasoning(text), fences=fences)


def find_sirl_program(text: str, *, fences: bool) -> str | None:
    """Return the program as SIRL's code finds it: the first section, or the first fence, wherever it stands."""
    text = text.replace("\r\n", "\n")
    section = first_block(text, PROGRAM)
    if section is not None:
        inner = _INNER.search(section)
        return _tidy(inner.group(1) if inner else section)
    fenced = _FENCE.search(text) if fences else None
    return _tidy(fenced.group(1)) if fenced else None


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    found: str | None = None
    for match in pattern.finditer(text):
        found = match.group(1)
    return found


def _tidy(code: str) -> str:
    return textwrap.dedent(code).strip("\n ")
