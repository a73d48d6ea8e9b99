"""Tool calls as a completion writes them: one JSON object a line, in `<tool_call>` blocks."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any  # Any: arguments are JSON values

from assay.verifiers.rules.blocks import blocks
from assay.verifiers.rules.literal import read_json

MOST_CALLS = 250
"""More calls are not read."""


class Unreadable(Exception):
    """The calls cannot be read; the message says why."""


@dataclass(frozen=True)
class Call:
    """One call."""

    name: Any
    parameters: Any
    """Its arguments by name; what a completion wrote may be anything."""


@dataclass(frozen=True)
class Missing:
    """Stands for parameters that a call lacks."""


def first_block_calls(text: str) -> list[Call]:
    """Return the calls of the first block, as the released code reads it: up to the next closing tag, or the end.

    Raises Unreadable.
    """
    if "<tool_call>" not in text or "</tool_call>" not in text:
        raise Unreadable("no tool call")
    body = text.partition("<tool_call>")[2].partition("<tool_call>")[0].partition("</tool_call>")[0]
    return [_call(document) for document in _documents(body.strip().split("\n"), json.loads)]


def read_calls(text: str) -> list[Call]:
    """Return the calls of all blocks; blank lines between them do not count. Raises Unreadable."""
    lines = [line for block in blocks(text, "tool_call") for line in block.split("\n") if line.strip()]
    if not lines:
        raise Unreadable("no tool call")
    calls = [_call(document) for document in _documents(lines, read_json)]
    for call in calls:
        if not isinstance(call.name, str) or not isinstance(call.parameters, Mapping):
            raise Unreadable("a call needs a name and an object of parameters")
    return calls


def _documents(lines: list[str], load: Any) -> Iterator[Mapping[str, Any]]:
    if len(lines) > MOST_CALLS:
        raise Unreadable(f"{len(lines)} calls are more than {MOST_CALLS}")
    for line in lines:
        try:
            document = load(line)
        except (ValueError, RecursionError) as error:
            raise Unreadable(f"a call is no JSON: {line[:80]!r}") from error
        if not isinstance(document, Mapping) or "name" not in document:
            raise Unreadable(f"a call needs a name: {line[:80]!r}")
        yield document


def _call(document: Mapping[str, Any]) -> Call:
    return Call(document["name"], document.get("parameters", Missing()))
