"""Layouts that published rewards ask of a completion, each a function from the text to its raw value.

The published patterns are lazy and take quadratic time on hostile texts; these find what they accept by plain search,
in linear time. Values are what the released functions return; `hardened_` names what we recommend instead.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from assay.verifiers.rules.rule import Term

THINK_ANSWER = ("think", "answer")
THINK_ANSWER_TERM = Term(
    "format", 0, 1, "1 if the text is a think block and an answer block, with white space between them"
)
"""The term of every rule whose format is just that."""


def think_answer(text: str) -> bool:
    """Whether the whole text is a think block, white space and an answer block; bodies may hold anything.

    Visual-RFT's `<think>.*?</think>\\s*<answer>.*?</answer>`, matched in full and across lines, but in linear time.
    """
    return blocks_in_order(text, THINK_ANSWER)


def blocks_in_order(text: str, tags: Sequence[str]) -> bool:
    """Whether the whole text is one block of each tag, in that order, with white space between them.

    Bodies may hold anything, further tags too: this is the published lazy pattern, matched in full and across lines.
    """
    opening, closing = f"<{tags[0]}>", f"</{tags[-1]}>"
    if not text.startswith(opening):
        return False
    at = len(opening)
    for tag, following in pairwise(tags):
        # The earliest turn leaves the most room for what follows it.
        turn = _turn(tag, following).search(text, at)
        if turn is None:
            return False
        at = turn.end()
    return text.endswith(closing) and at <= len(text) - len(closing)


@lru_cache(maxsize=256)
def _turn(tag: str, following: str) -> re.Pattern[str]:
    return re.compile(rf"</{re.escape(tag)}>\s*<{re.escape(following)}>")


def hardened_blocks_in_order(text: str, tags: Sequence[str]) -> bool:
    """Whether, moreover, each tag occurs exactly once and no body is blank."""
    return blocks_in_order(text, tags) and once_each(text, tags) and not any_blank(text, tags)


def once_each(text: str, tags: Sequence[str]) -> bool:
    """Whether each opening and closing tag occurs exactly once, in order; any text may stand around them.

    Logic-RL's structure, for think and answer.
    """
    marks = _marks(tags)
    places = [text.find(mark) for mark in marks]
    return places == sorted(places) and all(text.count(mark) == 1 for mark in marks)


def think_first(text: str) -> bool:
    """Whether the text opens with a think block that holds no second opening tag, and neither does what follows it.

    TRL's `^<think>(?!.*<think>)(.*?)</think>.*$`; a completion whose template has written the tag already fails.
    """
    opening = "<think>"
    if not text.startswith(opening):
        return False
    return text.find(opening, len(opening)) < 0 and text.find("</think>", len(opening)) >= 0


def hardened_think_first(text: str) -> bool:
    """Whether, moreover, the block is closed exactly once, is not blank, and something follows it."""
    if not (think_first(text) and text.count("</think>") == 1):
        return False
    return not any_blank(text, ("think",)) and not text.rstrip().endswith("</think>")


def own_lines(text: str) -> bool:
    """Whether think and answer blocks have their tags on lines of their own; after the last one any lines may follow.

    open-r1's format: `$` matches before any line break in its multi-line mode.
    """
    opening, turn, closing = "<think>\n", "\n</think>\n<answer>\n", "\n</answer>"
    if not text.startswith(opening) or (at := text.find(turn, len(opening))) < 0:
        return False
    at += len(turn)
    return text.find(f"{closing}\n", at) >= 0 or (text.endswith(closing) and at <= len(text) - len(closing))


def hardened_own_lines(text: str) -> bool:
    """Whether, moreover, nothing follows the answer, each tag occurs exactly once and no body is blank."""
    bare = text.rstrip()
    ends = bare.endswith("\n</answer>")
    return ends and own_lines(bare) and once_each(bare, THINK_ANSWER) and not any_blank(bare, THINK_ANSWER)


def closed_on_a_line(text: str) -> bool:
    """Whether `</think>` stands alone on a line exactly once, neither first nor last: Open-RS' format."""
    return text.count("\n</think>\n") == 1


def hardened_closed_on_a_line(text: str) -> bool:
    """Whether, moreover, no other `</think>` occurs, and neither side of it is blank."""
    before, _, after = text.partition("\n</think>\n")
    thought = before.removeprefix("<think>").strip()
    return closed_on_a_line(text) and text.count("</think>") == 1 and bool(thought and after.strip())


def count_open_rs_tags(text: str) -> float:
    """Return half for each of the two think tags that stands on its line exactly once: Open-RS' tag count."""
    return 0.5 * _count_single(text, ("<think>\n", "\n</think>\n"))


def count_open_r1_tags(text: str) -> float:
    """Return a quarter for each of the four tags that stands on its line exactly once: open-r1's tag count."""
    return 0.25 * _count_single(text, ("<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>"))


def _count_single(text: str, literals: Sequence[str]) -> int:
    return sum(text.count(literal) == 1 for literal in literals)


def _marks(tags: Sequence[str]) -> list[str]:
    return [mark for tag in tags for mark in (f"<{tag}>", f"</{tag}>")]


def any_blank(text: str, tags: Sequence[str]) -> bool:
    """Whether the first block of any of the tags holds white space only."""
    bodies = (text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0] for tag in tags)
    return not all(body.strip() for body in bodies)


_STEP = re.compile(r"Step \d+:")
_FIRST_ITEM = re.compile(r"\d+\.")
_ITEM = re.compile(r"^(?:\d+\.|[-*])", re.MULTILINE)
_WORDS = ("First,", "Second,", "Next,", "Finally,")
_ENOUGH_STEPS = 3


def count_step_markers(text: str) -> float:
    """Return a third for each marker of a step, at most 1: open-r1's rule.

    Markers are `Step 1:`, bullets at line starts but the first line's, four words, and a number with a full stop at the
    very start of the text alone: the released pattern is not compiled for several lines.
    """
    bullets = text.count("\n-") + text.count("\n*") + (_FIRST_ITEM.match(text) is not None)
    return min(1.0, (_named_steps(text) + bullets) / _ENOUGH_STEPS)


def hardened_count_step_markers(text: str) -> float:
    """Return the same with numbers and bullets counted at the start of every line, the first one too."""
    return min(1.0, (_named_steps(text) + len(_ITEM.findall(text))) / _ENOUGH_STEPS)


def _named_steps(text: str) -> int:
    return len(_STEP.findall(text)) + sum(map(text.count, _WORDS))
