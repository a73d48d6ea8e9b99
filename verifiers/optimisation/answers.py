"""Reading the values of variables off a text: where they may stand, and what is refused. Linear in the text."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar, get_args  # Any: JSON values

from assay.canonical import refuse_constant
from assay.verifiers.optimisation.objective import NoObjective
from assay.verifiers.optimisation.scalars import plain_numbers, unwrapped
from assay.verifiers.rules.blocks import last_block, open_block
from assay.verifiers.rules.literal import finite, read_python

_FENCE = re.compile(r"^[ \t]*```[^\n`]*$(.*?)(?:^[ \t]*```|\Z)", re.MULTILINE | re.DOTALL)
_BRACES = re.compile(r"[{}]")
_COMMAND = re.compile(r"\\[A-Za-z]{1,40}\Z")
_MOST_PASSED = 20  # arguments in LaTeX
_OPTIMAL = "optimal"
_STATUSES: tuple[NoObjective, ...] = get_args(NoObjective)
_SENTENCE = re.compile(
    r"(?:(?:so|thus|hence|therefore|answer|status)\b[\s:,]*)?(?:(?:the|this|it)\s+)?"
    r"(?:(?:given|linear|integer|mixed-integer|optimi[sz]ation)\s+){0,3}(?:(?:model|problem|program(?:me)?|lp|ilp|milp)\s*)?"
    r"(?:(?:is|:)\s*)?(?P<status>infeasible|unbounded)",
    re.IGNORECASE,
)
"""The word alone, or as a sentence that says no more."""
_LONGEST_SENTENCE = 200
_AROUND = "\"'.!*_`$ \t\r\n"
_WANTED = "one object of values by name is wanted, or the word infeasible or unbounded alone"
_PAIR = re.compile(
    r"""\s*(?:"(?P<quoted>[^"\\\n]+)"|'(?P<single>[^'\\\n]+)'|(?P<bare>[^\W\d][\w.]*(?:\[\w+\]|\(\w+\))*))"""
    r"\s*:\s*(?P<number>[+\u2212-]?(?:[0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:[eE][+\u2212-]?[0-9]{1,4})?)"
    r"\s*(?P<comma>,)?"
)
"""A name with its number, as JSON5 and YAML have them too."""


Value = TypeVar("Value")


class Place(StrEnum):
    """Where values may stand in a text."""

    TAG = "tag"
    """The last block of the tag; without one, what follows a tag that nothing closes."""
    FENCE = "fence"
    """The last fenced block."""
    LAST_LINE = "last_line"
    """The last line that is not blank."""
    LAST_OBJECT = "last_object"
    """The last text between braces; an argument in LaTeX, as in `\\boxed{11}`, only if it is an answer."""


@dataclass(frozen=True)
class Answer:
    """What a text says: values by name, or that there are none to give; `fault` says why it is no answer."""

    values: Mapping[str, float] | None = None
    status: NoObjective | None = None
    fault: str = ""


def read_answer(text: str, places: Sequence[Place], tag: str) -> Answer:
    """Return what stands in the first of the places that holds an answer; else the fault of the first one there."""
    fault = ""
    for place in places:
        content = _content(text, place, tag)
        if content is None:
            continue
        answer = _read(content)
        if not answer.fault:
            return answer
        fault = fault or f"{place}: {answer.fault}"
    fault = fault or f"there is no answer ({', '.join(places)})"
    return Answer(fault=f"{fault}; {_WANTED}")


def _content(text: str, place: Place, tag: str) -> str | None:
    match place:
        case Place.TAG:
            closed = last_block(text, tag)
            return open_block(text, tag) if closed is None else closed
        case Place.FENCE:
            fenced = None
            for fenced in _FENCE.finditer(text):  # noqa: B007 - the last one is what is wanted
                pass
            return fenced.group(1) if fenced else None
        case Place.LAST_OBJECT:
            return _last_object(text)
        case Place.LAST_LINE:
            return text.rstrip().rpartition("\n")[2] or None


def _last_object(text: str) -> str | None:
    """Return the text from the last closing brace back to the one that opens it; up to 20 arguments in LaTeX are passed
    over that are no answer."""
    depth, end, passed = 0, -1, 0
    for brace in reversed([(found.group(), found.start()) for found in _BRACES.finditer(text)]):
        sign, at = brace
        if sign == "}":
            end = at if end < 0 else end
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                found, is_argument = text[at : end + 1], _COMMAND.search(text, max(0, at - 41), at)
                if not (is_argument and passed < _MOST_PASSED and _read(found).fault):
                    return found
                end, passed = -1, passed + 1
    return None


def _read(content: str) -> Answer:
    bare = content.strip(_AROUND)
    said = _SENTENCE.fullmatch(bare) if len(bare) <= _LONGEST_SENTENCE else None
    if said is not None:
        return Answer(status=_status(said["status"]))
    try:
        value = _literal(content)
    except ValueError as error:
        return Answer(fault=str(error)[:200])
    if not isinstance(value, Mapping):
        return Answer(fault="it is no object of values by name")
    try:
        return _of_object(value)
    except ValueError as error:
        return Answer(fault=str(error)[:200])


def _of_object(value: Mapping[Any, Any]) -> Answer:
    """Return what an object says; a text `status` beside the values may say that they are the best, and no more."""
    others = dict(value)
    said = others.pop("status") if isinstance(value.get("status"), str) else ""
    status = _status(said)
    if status is not None and not others:
        return Answer(status=status)
    if said.casefold() not in ("", _OPTIMAL):
        allowed = f"{_OPTIMAL}, or without values {' or '.join(_STATUSES)}"
        raise ValueError(f"the status {said[:40]!r} does not go with the rest: it may be {allowed}")
    return Answer(values={_name(name): _number(name, number) for name, number in others.items()})


def _status(text: str) -> NoObjective | None:
    return next((status for status in _STATUSES if status == text.casefold()), None)


def _literal(content: str) -> Any:
    """Return the value of a JSON document, else of a short Python literal, else of an object whose names lack quotes.

    Raises ValueError; names are unique.
    """
    try:
        return json.loads(content, object_pairs_hook=_unique, parse_constant=refuse_constant)
    except json.JSONDecodeError:
        unquoted = _unquoted(content)
        return _python(content) if unquoted is None else unquoted
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def _unquoted(content: str) -> dict[str, float] | None:
    """Return the values of `{x: 3, y: -1}`, or None if it is anything else. Linear in the text.

    Names are plain words or quoted, numbers decimal: nothing in it can be read in two ways. Raises ValueError for a
    name that is there twice.
    """
    text = unwrapped(content.strip())
    if not (text.startswith("{") and text.endswith("}")):
        return None
    pairs: list[tuple[str, float]] = []
    at, end = 1, len(text) - 1
    while (found := _PAIR.match(text, at, end)) is not None:
        name = found["quoted"] or found["single"] or found["bare"]
        pairs.append((name, float(plain_numbers(found["number"]))))
        at = found.end()
        if not found["comma"]:
            break
    return _unique(pairs) if pairs and not text[at:end].strip() else None


def _python(content: str) -> Any:
    if "\\" in content:
        raise ValueError("neither JSON nor a literal without escapes")
    try:
        value = read_python(unwrapped(content))
    except ValueError as error:
        raise ValueError("neither JSON nor a short literal") from error
    written = ast.parse(unwrapped(content).strip(), mode="eval").body
    if isinstance(written, ast.Dict) and len(written.keys) != len(value):
        raise ValueError("a name is there twice")
    return value


def _unique(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a name is there twice")
    return value


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise ValueError("names are texts")
    return name


def _number(name: str, value: Any) -> float:
    number = finite(value)
    if number is not None:
        return number
    wanted = "a finite number is wanted"
    if isinstance(value, bool):
        wanted = "1 or 0 is wanted"
    elif isinstance(value, Mapping):
        wanted += ", and the names of variables outermost"
    held = repr(value)[:40] if value is None or isinstance(value, bool | float | str) else f"a {type(value).__name__}"
    raise ValueError(f"{name[:80]!r} has {held}: {wanted}")
