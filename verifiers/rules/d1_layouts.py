"""Layouts of d1 and wd1: reasoning and answer tags, and what the released file makes of them.

Values are what the released functions return (dllm-reasoning/d1@837888f and xiaohangt/wd1@0898985 reward_func.py, the
same text); `hardened_` names what we recommend instead.
"""

import re

from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.layouts import any_blank, once_each

_TAGS = ("reasoning", "answer")
_TURN = re.compile(r"</reasoning>\s*<answer>")
_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_PER_CHARACTER = 0.001
_LITERAL = 0.125
_LAYOUT = 0.5
_BACKSPACE_BOX = "\boxed"  # a backspace and `oxed`: the released file forgot to escape the backslash


def count_tags(text: str) -> float:
    """Return 0.125 for each of four tags on its line exactly once, less 0.001 twice per character after the answer.

    Where the closing line is missing, the first of these penalties counts the whole text: there is no lower bound.
    """
    value = _LITERAL * ((text.count("<reasoning>\n") == 1) + (text.count("\n</reasoning>\n") == 1))
    if text.count("\n<answer>\n") == 1:
        # Split, since occurrences may overlap and the released function takes them from the left.
        value += _LITERAL - _PER_CHARACTER * len(text.split("\n</answer>\n")[-1])
    if text.count("\n</answer>") == 1:
        value += _LITERAL - _PER_CHARACTER * (len(text.rpartition("\n</answer>")[2]) - 1)
    return value


def hardened_count_tags(text: str) -> float:
    """Return the same with only text after the closing line counted as such, and never less than 0."""
    literals = ("<reasoning>\n", "\n</reasoning>\n", "\n<answer>\n", "\n</answer>")
    value = _LITERAL * sum(text.count(literal) == 1 for literal in literals)
    _, closing, after = text.rpartition("\n</answer>")
    excess = len(after.removeprefix("\n")) if closing else 0
    return max(0.0, value - 2 * _PER_CHARACTER * excess)


def soft(text: str) -> float:
    """Return 0.5 if the text opens with a reasoning and an answer block, each on one line.

    `<reasoning>.*?</reasoning>\\s*<answer>.*?</answer>`, matched at the start and not across lines.
    """
    opening = "<reasoning>"
    if not text.startswith(opening):
        return 0.0
    return _LAYOUT * any(_answer_ends(text, turn.end()) for turn in _turns_of_first_line(text, len(opening)))


def _turns_of_first_line(text: str, start: int) -> list[re.Match[str]]:
    """Return the earliest turn within the first line, and the one that leads to another line, where there are any."""
    end = _line_end(text, start)
    first = _TURN.search(text, start)
    if first is None or first.start() >= end:
        return []
    last = _TURN.match(text, text.rfind("</reasoning>", start, end))
    return [first] if last is None or last.start() == first.start() else [first, last]


def _answer_ends(text: str, start: int) -> bool:
    return text.find("</answer>", start, _line_end(text, start)) >= 0


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end


def hardened_soft(text: str) -> float:
    """Return 0.5 if it opens with both blocks, over any number of lines, each tag once and no body blank."""
    turned = _TURN.search(text) is not None and text.startswith("<reasoning>")
    return _LAYOUT * (turned and once_each(text, _TAGS) and not any_blank(text, _TAGS))


def strict(text: str) -> float:
    """Return 0.5 if the text is both blocks, tags on lines of their own and one line in each, and a last line break.

    `^<reasoning>\\n.*?\\n</reasoning>\\n<answer>\\n.*?\\n</answer>\\n$`: `$` allows one more line break.
    """
    lines = text.split("\n", 8)
    tagged = lines[:1] + lines[2:4] + lines[5:6] == ["<reasoning>", "</reasoning>", "<answer>", "</answer>"]
    return _LAYOUT * (tagged and lines[6:] in ([""], ["", ""]))


def hardened_strict(text: str) -> float:
    """Return 0.5 for that layout with any number of lines in each block, each tag once and no body blank.

    White space at the end is as good as a line break.
    """
    bare = text.rstrip()
    placed = bare.startswith("<reasoning>\n") and "\n</reasoning>\n<answer>\n" in bare and bare.endswith("\n</answer>")
    return _LAYOUT * (placed and once_each(bare, _TAGS) and not any_blank(bare, _TAGS))


def integer(text: str) -> float:
    """Return 0.5 if the last answer is digits only; without tags the whole text is the answer."""
    answer = text.rpartition("<answer>")[2].partition("</answer>")[0].strip()
    return _LAYOUT * answer.isdigit()


def hardened_integer(text: str) -> float:
    """Return 0.5 if the last answer block is an integer, which may have a sign."""
    return _LAYOUT * (_INTEGER.fullmatch(last_block(text, "answer") or "") is not None)


def boxed_and_tags(text: str) -> float:
    """Return 0.75 with an answer tag and 0.25 without.

    Half of: 1 for an opening answer tag, and 1 for a box inside or else 0.5. The box is never seen, because the
    released file looks for a backspace where it means a backslash.
    """
    _, tag, rest = text.partition("<answer>")
    inner = rest.partition("<answer>")[0].partition("</answer>")[0] if tag else text
    return 0.5 * (bool(tag) + (1.0 if _BACKSPACE_BOX in inner else 0.5))


def hardened_boxed_and_tags(text: str) -> float:
    """Return 1, 0.75, 0.5 or 0.25: box in a closed answer block, such a block alone, a box alone, neither."""
    block = last_block(text, "answer")
    return 0.5 * ((block is not None) + (1.0 if "\\boxed" in (text if block is None else block) else 0.5))
