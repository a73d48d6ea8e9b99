"""The action that a completion takes on a screen: its name, its point, its text, and whether it is well formed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, assert_never

from assay.verifiers.rules.coordinates import number, numbers
from assay.verifiers.rules.literal import MOST_CHARACTERS, read_literal, read_python

NO_TEXT = "no input text"
"""What GUI-R1's format writes where an action has no text."""
DIRECTIONS = frozenset({"left", "right", "up", "down"})
"""What GUI-R1's format takes for the text of a scroll."""

Reading = Literal["literal", "gui_r1", "ui_r1"]
Point = tuple[float, float]

_PAIR = re.compile(r"\[(\d++),\s*+(\d++)\]")
_NAME = re.compile(r"'action':\s*+'(\w++)'")
_BARE_NAME = re.compile(r"'action':\s*+(\w++)")
_TEXT = re.compile(r"'input_text':\s*+'([^'\n]*+)'")
_BLANK = re.compile(r"\s++")
_MOST_DIGITS = 9
_TYPING = frozenset({"type", "select", "open_app"})


@dataclass(frozen=True)
class Action:
    """What was read; an empty name: no action."""

    name: str = ""
    point: Point | None = None
    text: str = NO_TEXT


def read_action(answer: str, how: Reading) -> Action:
    """Return the action that an answer block names; none where the block is longer than a literal may be."""
    if len(answer) > MOST_CHARACTERS:
        return Action()
    match how:
        case "literal":
            return _from_literal(answer)
        case "gui_r1":
            text = _TEXT.search(answer)
            return Action(_first(_NAME, answer).lower(), _point_in_braces(answer), text[1] if text else NO_TEXT)
        case "ui_r1":
            pair = _PAIR.search(answer)
            return Action(_first(_NAME, answer) or _first(_BARE_NAME, answer), pair and _point(pair))
        case _:
            assert_never(how)


def is_well_formed(answer: str, how: Reading) -> bool:
    """Whether an answer is a list of actions as GUI-R1's format asks; read as a literal, never evaluated.

    `literal` asks for exactly one action and takes decimals; the others take any number of them, and whole numbers.
    """
    if len(answer) > MOST_CHARACTERS:
        return False
    try:
        actions = read_literal(answer.strip()) if how == "literal" else read_python(answer.strip())
    except ValueError:
        return False
    if not isinstance(actions, list) or (how == "literal" and len(actions) != 1):
        return False
    return all(_is_action(action, decimals=how == "literal") for action in actions)


def text_f1(given: str, right: str) -> float:
    """Return the F1 of the two sets of lower-cased words; square brackets are dropped."""
    one, other = _words(given), _words(right)
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 0.0


def is_part(given: str, right: str) -> bool:
    """Whether both are one word, and one is part of the other."""
    one, other = _words(given), _words(right)
    return len(one) == len(other) == 1 and (min(one) in min(other) or min(other) in min(one))


def has_words(text: str) -> bool:
    """Whether there is anything that `text_f1` compares."""
    return bool(_words(text))


def _words(text: str) -> set[str]:
    return set(text.replace("[", "").replace("]", "").lower().split())


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match[1] if match else ""


def _from_literal(answer: str) -> Action:
    try:
        value = read_literal(answer.strip())
    except ValueError:
        return Action()
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or not isinstance(name := value.get("action"), str):
        return Action()
    point = numbers(value.get("point", value.get("coordinate")), 2)
    text = value.get("input_text")
    said = text if isinstance(text, str) and text != NO_TEXT else ""
    return Action(name.lower(), (point[0], point[1]) if point else None, said)


def _is_action(action: object, *, decimals: bool) -> bool:
    if not isinstance(action, dict) or not {"action", "point", "input_text"} <= action.keys():
        return False
    name, point, text = action["action"], action["point"], action["input_text"]
    if not isinstance(name, str) or not isinstance(text, str) or not _is_point(point, decimals=decimals):
        return False
    return not (name in _TYPING and text == NO_TEXT) and not (name == "scroll" and text not in DIRECTIONS)


def _is_point(point: object, *, decimals: bool) -> bool:
    if not isinstance(point, list | tuple) or len(point) < 2 or (decimals and len(point) > 2):
        return False
    return all(number(value) is not None and (decimals or isinstance(value, int)) for value in point[:2])


def _point(pair: re.Match[str]) -> Point | None:
    return None if max(map(len, pair.groups())) > _MOST_DIGITS else (float(pair[1]), float(pair[2]))


def _point_in_braces(answer: str) -> Point | None:
    """Return the pair that GUI-R1's greedy pattern `{.*[x, y]...}` finds, in linear time.

    On the first line where it finds any, that is the last pair after a brace, with a closing brace behind it.
    """
    for opening, end, pairs in _lines_with_pairs(answer):
        last_closing = answer.rfind("}", opening, end)
        fitting = [pair for pair in pairs if pair.end() <= last_closing]
        if pairs and (not fitting or fitting[-1] is not pairs[-1]) and _closes_later(answer, pairs[-1].end()):
            fitting.append(pairs[-1])
        if fitting:
            return _point(fitting[-1])
    return None


def _lines_with_pairs(answer: str) -> Iterator[tuple[int, int, list[re.Match[str]]]]:
    """Yield, per line that has both, where its first brace is, where it ends, and the pairs that begin between."""
    pairs = list(_PAIR.finditer(answer))
    at = 0
    while at < len(pairs):
        start = answer.rfind("\n", 0, pairs[at].start()) + 1
        end = answer.find("\n", pairs[at].start())
        end = len(answer) if end < 0 else end
        opening = answer.find("{", start, end)
        here = at
        while at < len(pairs) and pairs[at].start() < end:
            at += 1
        if opening >= 0:
            yield opening, end, [pair for pair in pairs[here:at] if pair.start() > opening]


def _closes_later(answer: str, at: int) -> bool:
    """Whether a brace closes behind white space that may hold line breaks, or on the same line."""
    blank = _BLANK.match(answer, at)
    rest = blank.end() if blank else at
    end = answer.find("\n", rest)
    return answer.find("}", rest, len(answer) if end < 0 else end) >= 0
