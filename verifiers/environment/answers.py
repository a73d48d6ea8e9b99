"""The list of actions in a completion. Linear in the text, nothing of it is run."""

from typing import Any  # Any: an action may be any plain value

from assay.verifiers.environment.values import NotPlain, plain_action
from assay.verifiers.extraction import without_reasoning
from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.literal import read_literal

MOST_ACTIONS = 200_000
"""Longer lists are no answer: no episode is that long."""


class NoActions(Exception):
    """The completion holds no list of actions; says why."""


def read_actions(completion: str, tag: str | None) -> list[Any]:
    """Return the list in the last block of the tag, else in the last fenced block. Raises NoActions.

    It is JSON or a Python literal of plain values. Without a tag the whole completion is the list. What stands in
    <think> or <thinking> is left out in any case, with all that follows where that is not closed.
    """
    said = without_reasoning(completion)
    text = said if tag is None else _marked(said, tag)
    if text is None:
        raise NoActions(f"no actions: neither a block <{tag}> nor a fenced one, outside of reasoning")
    try:
        found = read_literal(text.strip())
    except ValueError as error:
        raise NoActions(f"the actions are neither JSON nor a Python literal: {str(error)[:200]}") from error
    if not isinstance(found, list | tuple):
        raise NoActions("the actions are no list")
    if len(found) > MOST_ACTIONS:
        raise NoActions(f"{len(found)} actions are more than {MOST_ACTIONS}")
    try:
        return [plain_action(action) for action in found]
    except NotPlain as error:
        raise NoActions(f"not all of them are actions: {error}") from error


def _marked(completion: str, tag: str) -> str | None:
    block = last_block(completion, tag)
    text = completion if block is None else block
    fences = _fenced(text)
    return fences[-1] if fences else block


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
