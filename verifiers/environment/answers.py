"""The list of actions in a completion. Linear in the text, nothing of it is run."""

import re
from typing import Any  # Any: an action may be any plain value

from assay.verifiers.environment.values import NotPlain, plain_action
from assay.verifiers.extraction import without_reasoning
from assay.verifiers.rules.blocks import last_block, open_block
from assay.verifiers.rules.literal import MOST_CHARACTERS, read_literal

_WORD = re.compile(r"(?!(?:true|false|none|null)\Z)[^\W\d]\w{0,99}", re.IGNORECASE)
_ASSIGNED = re.compile(r"[^\W\d]\w{0,99}\s*=\s*(?=[\[(])")
_BEGINS = re.compile(rf"\s*(?:{_ASSIGNED.pattern})?[\[({{]")
"""How a list begins, or an object that holds one."""
MOST_ACTIONS = 200_000
"""Longer lists are no answer: no episode is that long."""


class NoActions(Exception):
    """The completion holds no list of actions; says why."""


def read_actions(completion: str, tag: str | None) -> list[Any]:
    """Return the list in the last block of the tag, else in the last fenced block. Raises NoActions.

    It is JSON or a Python literal of plain values, maybe assigned to a name (`actions = [...]`) or the only value of an
    object; or names between commas, without quotes. Without such a block, what follows a tag that nothing closes is
    read, else the last line if it is a list. With tag None the whole completion is the list. What stands in <think> or
    <thinking> is left out in any case, with all that follows where that is not closed.
    """
    said = without_reasoning(completion)
    text = said if tag is None else _marked(said, tag)
    if text is None:
        raise NoActions(f"no actions: neither a block <{tag}> nor a fenced one, outside of reasoning")
    try:
        text = text.strip()
        assigned = _ASSIGNED.match(text)
        found = _names(text) or read_literal(text[assigned.end() :] if assigned else text)
    except ValueError as error:
        raise NoActions(f"the actions are neither JSON nor a Python literal: {str(error)[:200]}") from error
    if isinstance(found, dict) and len(found) == 1:
        found = next(iter(found.values()))
    if not isinstance(found, list | tuple):
        raise NoActions("the actions are no list")
    if len(found) > MOST_ACTIONS:
        raise NoActions(f"{len(found)} actions are more than {MOST_ACTIONS}")
    try:
        return [plain_action(action) for action in found]
    except NotPlain as error:
        raise NoActions(f"not all of them are actions: {error}") from error


def _names(text: str) -> list[str]:
    """Return bare words between commas, `left, left, up`: they are read as names of actions. None: an empty list."""
    words = [word.strip() for word in text.split(",")] if len(text) <= MOST_CHARACTERS else []
    return words if len(words) > 1 and all(_WORD.fullmatch(word) for word in words) else []


def _marked(completion: str, tag: str) -> str | None:
    block = last_block(completion, tag)
    text = completion if block is None else block
    fences = _fenced(text)
    if fences or block is not None:
        return fences[-1] if fences else block
    opened = open_block(completion, tag)
    found = None if opened and _BEGINS.match(opened) else _last_list(completion)
    return opened if found is None else found


def _last_list(completion: str) -> str | None:
    """Return the last line that is not blank if it looks like a list, or like an object that holds one."""
    line = completion.rstrip().rpartition("\n")[2].strip()
    return line if line.startswith(("[", "{")) else None


def _fenced(text: str) -> list[str]:
    """Return the content of each block that begins at a line of three backquotes, of any language, up to the next one.

    One that nothing closes counts too.
    """
    parts: list[str] = []
    lines: list[str] | None = None
    for line in text.split("\n") if "```" in text else ():
        if line.lstrip(" ").startswith("```"):
            if lines is not None:
                parts.append("\n".join(lines))
            lines = [] if lines is None else None
        elif lines is not None:
            lines.append(line)
    return parts if lines is None else [*parts, "\n".join(lines)]
