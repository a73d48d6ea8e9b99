"""Layouts that published rewards ask of a completion, each a function from the text to its raw value."""

import re

_TURN = re.compile(r"</think>\s*<answer>")


def think_answer(text: str) -> bool:
    """Whether the whole text is a think block, white space and an answer block; bodies may hold anything.

    Visual-RFT's `<think>.*?</think>\\s*<answer>.*?</answer>`, matched in full and across lines, but in linear time.
    """
    opening, closing = "<think>", "</answer>"
    turn = _TURN.search(text, len(opening))
    return (
        turn is not None
        and text.startswith(opening)
        and text.endswith(closing)
        and turn.end() <= len(text) - len(closing)
    )
