"""The layout of answers to problems of optimisation: reasoning, model and program, each in its tags (SIRL §3.3)."""

import re
import textwrap

from assay.verifiers.rules.blocks import first_block

PROGRAM = "python"
_TAGS = ("<think>", "</think>", "<model>", "</model>", "<python>", "</python>")
_INNER = re.compile(r"^[ \t]*```[ \t]*(?:(?:python|py)[ \t]*)?$(.*?)(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(r"^[ \t]*```[ \t]*(?:python|py)\b[^\n]*$(.*?)(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)


def is_in_order(text: str) -> bool:
    """Whether every tag of the three sections occurs exactly once, and in that order."""
    places = [text.find(tag) for tag in _TAGS]
    return all(text.count(tag) == 1 for tag in _TAGS) and places == sorted(places)


def find_program(text: str, *, fences: bool) -> str | None:
    """Return the program: the first section of that tag, without a fence inside it; else, with `fences`, the first
    fenced block marked as Python. None if there is none."""
    text = text.replace("\r\n", "\n")
    section = first_block(text, PROGRAM)
    if section is not None:
        inner = _INNER.search(section)
        return _tidy(inner.group(1) if inner else section)
    fenced = _FENCE.search(text) if fences else None
    return _tidy(fenced.group(1)) if fenced else None


def _tidy(code: str) -> str:
    return textwrap.dedent(code).strip("\n ")
