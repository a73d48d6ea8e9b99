"""The verifier `gui`: a click, another action, several candidate points or a box on a screen."""

import re
from collections.abc import Sequence
from itertools import cycle
from typing import ClassVar, Literal, Self, assert_never

from pydantic import ConfigDict, Field, model_validator

from assay.spelling import choices
from assay.verifiers.refusals import misplaced
from assay.verifiers.rules import gui_points
from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.rules.blocks import first_block
from assay.verifiers.rules.boxes import Box, iou, rows
from assay.verifiers.rules.coordinates import MOST, Coordinate, number, numbers
from assay.verifiers.rules.gui_actions import (
    DIRECTIONS,
    NO_TEXT,
    Action,
    Reading,
    has_words,
    is_part,
    is_well_formed,
    read_action,
    text_f1,
)
from assay.verifiers.rules.gui_profiles import PROFILES
from assay.verifiers.rules.layouts import think_answer
from assay.verifiers.rules.rule import Scored, Term

_ACTION_TERMS = (
    Term("action", 0, 1, "1 if the name of the action is right", weight=0.0),
    Term("accuracy", 0, 1, "1 if the action is right with its point or its text", weight=0.8),
    Term("format", 0, 1, "1 if the text is a think and an answer block, and the answer as `checks` asks", weight=0.2),
)
_POINTS_TERMS = (
    Term("accuracy", -1, 1, "1/sqrt(N k) if the k-th of N points is the first hit, -1/N without one, -1 if malformed"),
    Term("format", 0, 1, "1 if the answer is well formed, no three points lie on a line and, as asked, one hits"),
)
_BOX_TERMS = (
    Term("hit", 0, 1, "1 if the IoU counts by `threshold`"),
    Term("iou", 0, 1, "intersection over union of the answered and the right box", weight=0.0),
)
_WITH_TEXT = frozenset({"type", "select", "scroll"})
_MAY_HAVE_TEXT = frozenset({"open_app"})
_FIELDS = {
    "action": ("action", "point", "radius", "input_text", "border", "reading", "text_match", "checks", "strip"),
    "multi_point": ("format_needs_hit",),
    "box_iou": ("threshold", "threshold_rule"),
}
_NUMBER = r"-?[0-9]{1,40}+(?:\.[0-9]{1,40}+)?+"
_QUAD = re.compile(rf"\[\s*+({_NUMBER})\s*+,\s*+({_NUMBER})\s*+,\s*+({_NUMBER})\s*+,\s*+({_NUMBER})\s*+\]")


class GuiTask(AnsweringTask):
    """What to do on a screen.

    `action`: reward = 0.8 accuracy + 0.2 format. The first `<answer>` block, of at most 20,000 characters, holds
    `[{'action': 'click', 'point': [x, y], 'input_text': 'no input text'}]`. A click must hit the box, or lie close to
    the point; `type`, `select` and `scroll` are compared by their text; other actions by name alone, but `open_app` by
    its text too where the task has one.
    `multi_point`: reward = accuracy + format, from -1 to 2. After the think block comes a JSON list of
    `{"point_2d": [x, y]}`, at most 64, best guess first; malformed answers and three points on a line are worth -1,
    N wrong points -1/N. As published they are worth 1 - 1/N, so that many wrong ones earn about 1.
    `box_iou`: reward = 1 if the IoU of the first `[x1, y1, x2, y2]` in the first `<answer>` block counts.
    Sources: GUI-R1, ritzz-ai/GUI-R1@d43eea2 r1gui.py; UI-R1, lll6gg/UI-R1@2fe9bf0 grpo_json_action_coord.py;
    InfiGUI-G1, InfiXAI/InfiGUI-G1@22208e4 recipe/infigui-g1/reward_fn.py.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "screen", "verifier": "gui", "box": [100, 200, 180, 240]}]}
    )
    PROFILES: ClassVar = PROFILES

    verifier: Literal["gui"] = "gui"
    kind: Literal["action", "multi_point", "box_iou"] = "action"
    """What is asked for."""
    action: str | None = Field(None, min_length=1)
    """`action`: the right action; None stands for `click`."""
    box: Box | None = None
    """The element to hit, [x1, y1, x2, y2]; for clicks, unless there is a `point`, and for the other kinds."""
    point: tuple[Coordinate, Coordinate] | None = None
    """The place to click, (x, y), instead of a box."""
    radius: float = Field(140.0, gt=0, le=MOST)
    """A click must be closer to `point` than this, in its unit (pixels)."""
    input_text: str | None = None
    """The right text of `type`, `select` (what is typed or chosen), `scroll` (left, right, up, down) and, if it is to
    be judged, of `open_app` (the app)."""
    border: Literal["inside", "outside"] = "inside"
    """Whether a click on the border of the box hits it."""
    scale: tuple[float, float] = (1.0, 1.0)
    """Factors from the answer's x and y, points and boxes, to the unit of `box` and `point`."""
    reading: Reading = "literal"
    """How the action is read from the answer: see the profiles."""
    text_match: Literal["f1", "f1_or_part", "exact", "ignore"] = "f1"
    """`f1`: texts agree if the F1 of their word sets is at least 0.5, and one word only with itself; `f1_or_part`: by
    that F1 alone, or if both are one word and one is part of the other (`open_app` by name alone, as published);
    `exact`: only if they are equal but for case and white space; `ignore`: always."""
    checks: Literal["action", "layout"] = "action"
    """Whether the format term looks into the answer, or at the tags alone."""
    strip: bool = True
    """Whether white space around the text is dropped before its layout is checked."""
    format_needs_hit: bool = True
    """`multi_point`: whether the format term is 0 where no point hits."""
    threshold: float = Field(0.5, ge=0, le=1)
    """`box_iou`: the IoU from which an answer counts."""
    threshold_rule: Literal["at_least", "above"] = "at_least"
    """`box_iou`: whether the IoU may equal the threshold or must exceed it; an IoU of 0 never counts."""

    @property
    def right_action(self) -> str:
        """The name of the right action."""
        return (self.action or "click").lower()

    @model_validator(mode="after")
    def _check_gold(self) -> Self:
        self.refuse_fields_of_other_kinds(self.kind, _FIELDS)
        if any(number(factor) is None or factor <= 0 for factor in self.scale):
            raise misplaced(("scale",), "scale takes two positive numbers")
        if self.kind != "action":
            self._check_box()
        elif self.right_action != "click":
            if self.box is not None or self.point is not None:
                raise misplaced(
                    ("box" if self.box is not None else "point",),
                    f"{self.right_action} is not judged by a place",
                    "leave out `box` and `point`",
                )
            self._check_text()
        elif (self.box is None) == (self.point is None):
            raise misplaced(("box",), "a click is judged by a `box` or a `point`", "give one of them")
        elif self.input_text is not None:
            raise misplaced(("input_text",), "a click is not judged by a text", "leave it out")
        return self

    def _check_box(self) -> None:
        """Raise ValidationError if the right box is missing, or none that an answer could reach."""
        if self.box is None:
            raise misplaced(("box",), f"{self.kind} is judged by a `box`", "add it")
        if self.kind == "box_iou":
            if self.box[0] == self.box[2] or self.box[1] == self.box[3]:
                raise misplaced(("box",), "no answer overlaps a `box` without area")
            if self.threshold == 1 and self.threshold_rule == "above":
                raise misplaced(
                    ("threshold",), "no IoU exceeds a threshold of 1", "lower it, or set threshold_rule to 'at_least'"
                )

    def _check_text(self) -> None:
        """Raise ValidationError if the right text is missing, means nothing, or is none that could be answered."""
        action, right = self.right_action, self.input_text
        if right is None:
            if action in _WITH_TEXT and self.text_match != "ignore":
                raise misplaced(("input_text",), f"{action} is judged by its text", "add it")
            return
        if action not in _WITH_TEXT and (action not in _MAY_HAVE_TEXT or self.text_match == "f1_or_part"):
            raise misplaced(("input_text",), f"{action} is not judged by a text here", "leave it out")
        if not has_words(right) or right == NO_TEXT:
            raise misplaced(("input_text",), f"no answer has the text {right!r}", "give another")
        if action == "scroll" and self.checks == "action" and right.strip().lower() not in DIRECTIONS:
            raise misplaced(
                ("input_text",), f"nobody scrolls {right[:40]!r}", choices(right.strip(), sorted(DIRECTIONS))
            )


class Gui:
    """Judges an action, a list of points or a box."""

    name = "gui"
    version = "1"
    task_model = GuiTask

    def terms(self, task: GuiTask) -> Sequence[Term]:
        """Return the terms of the task's kind."""
        return {"action": _ACTION_TERMS, "multi_point": _POINTS_TERMS, "box_iou": _BOX_TERMS}[task.kind]

    def score(self, task: GuiTask, text: str) -> Scored:
        """Return the terms of the task's kind."""
        match task.kind:
            case "action":
                return _score_action(task, text)
            case "multi_point":
                return _score_points(task, text)
            case "box_iou":
                return _score_box(task, text)
            case _:
                assert_never(task.kind)


def _score_action(task: GuiTask, text: str) -> Scored:
    answer = first_block(task.answering(text), "answer") or ""
    action = read_action(answer, task.reading)
    named = action.name == task.right_action
    right = named and (_hits(task, action) if task.right_action == "click" else _says(task, action))
    layout = think_answer(text.strip() if task.strip else text)
    formed = layout and (task.checks == "layout" or is_well_formed(answer, task.reading))
    return Scored(
        {"action": float(named), "accuracy": float(right), "format": float(formed)},
        answered=bool(action.name),
        message=_told(action) if action.name else "no action in the answer",
    )


def _told(action: Action) -> str:
    where = "nowhere" if action.point is None else "at ({:g}, {:g})".format(*action.point)
    return f"{action.name[:40]!r} {where} with the text {action.text[:40]!r}"


def _hits(task: GuiTask, action: Action) -> bool:
    if action.point is None:
        return False
    x, y = _scaled(task, action.point)
    if task.reading == "ui_r1":
        x, y = float(int(x)), float(int(y))
    if task.point is not None:
        return (x - task.point[0]) ** 2 + (y - task.point[1]) ** 2 < task.radius**2
    x1, y1, x2, y2 = task.box or (0.0, 0.0, 0.0, 0.0)
    if task.border == "inside":
        return x1 <= x <= x2 and y1 <= y <= y2
    return x1 < x < x2 and y1 < y < y2


def _says(task: GuiTask, action: Action) -> bool:
    said, right = action.text, task.input_text
    if right is None:
        return True
    match task.text_match:
        case "ignore":
            return True
        case "exact":
            return said.casefold().split() == right.casefold().split()
        case "f1":
            return text_f1(said, right) >= (0.5 if len(right.split()) > 1 else 1.0)
        case "f1_or_part":
            return text_f1(said, right) >= 0.5 or is_part(said, right)
        case _:
            assert_never(task.text_match)


def _scaled(task: GuiTask, values: Sequence[float]) -> tuple[float, ...]:
    """Return the answer's coordinates, x and y in turn, in the unit of the task."""
    return tuple(value * factor for value, factor in zip(values, cycle(task.scale), strict=False))


def _score_points(task: GuiTask, text: str) -> Scored:
    points = gui_points.read_points(text)
    if points is None or task.box is None:
        return Scored({"accuracy": -1.0, "format": 0.0}, answered=False, message="no list of points")
    if gui_points.has_three_in_line(points):
        return Scored({"accuracy": -1.0, "format": 0.0}, message="three points on a line")
    value = gui_points.accuracy([_scaled(task, point) for point in points], task.box)
    formed = value > 0 or not task.format_needs_hit
    return Scored({"accuracy": value, "format": float(formed)}, answered=bool(points), message=f"{len(points)} points")


def _score_box(task: GuiTask, text: str) -> Scored:
    match = _QUAD.search(first_block(task.answering(text), "answer") or "")
    found = numbers([float(part) for part in match.groups()], 4) if match else None
    if found is None:
        return Scored({"hit": 0.0, "iou": 0.0}, answered=False, message="no [x1, y1, x2, y2] in the answer")
    value = float(iou(rows(_scaled(task, found)), rows(task.box))[0])
    counts = value >= task.threshold if task.threshold_rule == "at_least" else value > task.threshold
    return Scored({"hit": float(counts and value > 0), "iou": value}, message=f"IoU {value:.3f}")
