"""The layout of answers to problems of optimisation: reasoning, model and program, each in its tags (SIRL §3.3).

Where the program stands is either ours, the last one outside of the reasoning, or that of SIRL's released code.
"""

import re
import textwrap

from assay.verifiers.extraction import without_reasoning
from assay.verifiers.rules.blocks import first_block, last_block, open_block

PROGRAM = "python"
_TAGS = ("<think>", "</think>", "<model>", "</model>", "<python>", "</python>")
_BODY = r"$(.*?)(?:^[ \t]*```|\Z)"
_RELEASED_INNER = re.compile(rf"^[ \t]*```[ \t]*(?:(?:python|py)[ \t]*)?{_BODY}", re.MULTILINE | re.DOTALL)
_RELEASED_FENCE = re.compile(rf"^[ \t]*```[ \t]*(?:python|py)\b[^\n]*{_BODY}", re.MULTILINE | re.DOTALL)
_TAG = r"[{.]*(?i:python|py)[\d.]*(?!\w)"
"""As models write it: `python`, `Python`, `py3`, `python3.11`, `{.python}`."""
_INNER = re.compile(rf"^[ \t]*```+[ \t]*(?:{_TAG}\}}?[ \t]*(?:[\w.:-]+=[^\n`]*)?)?{_BODY}", re.MULTILINE | re.DOTALL)
_FENCE = re.compile(rf"^[ \t]*```+[ \t]*{_TAG}[^\n]*{_BODY}", re.MULTILINE | re.DOTALL)


def is_in_order(text: str) -> bool:
    """Whether every tag of the three sections occurs exactly once, and in that order."""
    places = [text.find(tag) for tag in _TAGS]
    return all(text.count(tag) == 1 for tag in _TAGS) and places == sorted(places)


def find_program(text: str, *, fences: bool) -> str | None:
    """Return the program: outside of the reasoning the last section of that tag, or the last fence inside it; else,
    with `fences`, the last fenced block marked as Python; else a section that nothing closes. None if there is none."""
    text = without_reasoning(text.replace("\r\n", "\n"))
    section = last_block(text, PROGRAM)
    if section is not None:
        inner = _last(_INNER, section)
        return _tidy(section if inner is None else inner)
    fenced = _last(_FENCE, text) if fences else None
    code = open_block(text, PROGRAM) if fenced is None else fenced
    return None if code is None else _tidy(code)


def find_first_program(text: str, *, fences: bool) -> str | None:
    """Return the same, but the first one instead of the last."""
    return _first(without_reasoning(text), _INNER, _FENCE if fences else None)


def find_sirl_program(text: str, *, fences: bool) -> str | None:
    """Return the program as SIRL's code finds it: the first section, or the first fence, wherever it stands."""
    return _first(text, _RELEASED_INNER, _RELEASED_FENCE if fences else None)


def _first(text: str, inner: re.Pattern[str], fence: re.Pattern[str] | None) -> str | None:
    text = text.replace("\r\n", "\n")
    section = first_block(text, PROGRAM)
    if section is not None:
        unwrapped = inner.search(section)
        return _tidy(unwrapped.group(1) if unwrapped else section)
    fenced = fence.search(text) if fence else None
    return _tidy(fenced.group(1)) if fenced else None


def _last(pattern: re.Pattern[str], text: str) -> str | None:
    found: str | None = None
    for match in pattern.finditer(text):
        found = match.group(1)
    return found


def _tidy(code: str) -> str:
    return textwrap.dedent(code).strip("\n ")
