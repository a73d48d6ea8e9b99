"""The verifier `detection`: boxes with confidences against the boxes of a picture."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.rules.boxes import Box, EmptyUnion, Floats, iou_matrix, match_greedily, match_optimally, rows
from assay.verifiers.rules.detections import (
    MOST_BOXES,
    AnswerPlace,
    BoxKeys,
    Malformed,
    Predicted,
    find_answer,
    read_detections,
)
from assay.verifiers.rules.layouts import THINK_ANSWER_TERM, think_answer
from assay.verifiers.rules.rule import Profile, Scored, Term

MOST_OPTIMAL = 100
"""Boxes on either side that an optimal assignment is sought for; the search is cubic."""

_IOU = Term("iou", 0, 1, "sum of the matched IoUs divided by `divisor`")
_CONFIDENCE = Term("confidence", 0, 1, "mean over predictions of c where matched, of 1 - c elsewhere")
_CODE = {"reasoning": "kept", "one_line": True, "strip": False, "out_of_range": "clip_mean", "no_objects": "zero"}


class DetectionTask(AnsweringTask):
    """A picture's boxes to be found: reward = iou + confidence + format, each within 0 and 1.

    The answer is a list of `{"Position": [x1, y1, x2, y2], "Confidence": c}` in JSON or with single quotes; a list cut
    off in the middle keeps its complete entries. Malformed lists, lists without entries (unless there are no boxes) and
    lists of more than 1,000 boxes or 250,000 characters are worth 0 in both box terms. A wrong box with confidence 0
    earns the confidence term, as published: give that term a small weight, or none.
    Visual-RFT's released code first compares one number of the whole text, in practice a coordinate, with the gold and
    pays both box terms if it agrees: that shortcut is not in the paper and not reproduced in any profile.
    Sources: Visual-RFT, arXiv 2503.01785 eq. 5-8; Liuziyu77/Visual-RFT@9486633 src/virft/src/open_r1/grpo.py.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "p", "verifier": "detection", "boxes": [[10, 10, 50, 50]]}]}
    )
    PROFILES: ClassVar = (
        Profile(
            "visual-rft/hardened", {}, "arXiv 2503.01785 eq. 5-8",
            "the defaults: the answer may stand on lines of its own, white space around the text costs nothing, "
            "each confidence is clipped on its own, `No Objects` is right where there are none",
        ),
        Profile(
            "visual-rft/code", _CODE, "Liuziyu77/Visual-RFT@9486633 grpo.py",
            "tags on one line, no stripping, the mean confidence clipped; without the number shortcut. Numbers beyond "
            "1e9, NaN and booleans make a list malformed, where the release computes with them, and so does a broken "
            "box behind all boxes that are found, which the release does not look at",
        ),
        Profile(
            "visual-rft/paper", {**_CODE, "divisor": "predictions"}, "arXiv 2503.01785 eq. 6",
            "as the code, with the mean IoU over the predictions, so that boxes nobody predicted cost nothing",
        ),
    )  # fmt: skip

    verifier: Literal["detection"] = "detection"
    boxes: tuple[Box, ...] = Field(max_length=MOST_BOXES)
    """The right boxes, [x1, y1, x2, y2] in the unit of the answers (pixels, or thousandths); none: nothing to find."""
    threshold: float = Field(0.5, ge=0, le=1)
    """IoU from which a predicted box counts as found."""
    threshold_rule: Literal["above", "at_least"] = "above"
    """Whether the IoU must exceed the threshold or may equal it; an IoU of 0 never counts."""
    matching: Literal["confidence", "optimal"] = "confidence"
    """`confidence`: predictions choose in falling order of confidence, each the best box still free; `optimal`: the
    assignment of the largest sum of counted IoUs, for at most 100 boxes (longer answers count as malformed)."""
    divisor: Literal["larger", "predictions", "gold"] = "larger"
    """What the sum of IoUs is divided by: the larger number of boxes, the predicted or the right ones."""
    confidence: Literal["required", "absent"] = "required"
    """`absent`: the answer gives none; there is no confidence term and boxes choose in the order of the text."""
    box_key: str = "Position"
    """Name of a predicted box."""
    confidence_key: str = "Confidence"
    """Name of its confidence."""
    duplicates: Literal["drop", "keep"] = "drop"
    """Whether a box predicted again with the very same coordinates is dropped; the first one stays."""
    empty_union: EmptyUnion = "zero"
    """IoU of two boxes without area: 0, 1, or 1 if they are the same."""
    out_of_range: Literal["clip", "clip_mean", "refuse"] = "clip"
    """Confidences outside 0 to 1: each clipped, only their mean clipped, or worth 0 in the confidence term."""
    block: Literal["first", "last", "only"] = "first"
    """Which `<answer>` block is read; `only`: with a second one nothing is, and the format term is 0."""
    one_line: bool = False
    """Only blocks without a line break count."""
    untagged: Literal["whole", "search", "refuse"] = "whole"
    """Without a block: the whole text must be the list, the list is sought in it, or there is no answer."""
    no_objects: Literal["one", "zero"] = "one"
    """Both box terms where there is no box to find and the answer says so (`[]` or `No Objects`)."""
    strip: bool = True
    """Whether white space around the text is dropped before its layout is checked."""

    @cached_property
    def gold_rows(self) -> Floats:
        """The right boxes as an array, made once per task."""
        return rows(self.boxes)

    @model_validator(mode="after")
    def _refuse_what_cannot_be_judged(self) -> Self:
        if self.confidence == "absent" and "confidence_key" in self.model_fields_set:
            raise misplaced(("confidence_key",), "without confidences there is no key of theirs", "leave it out")
        if self.threshold == 1 and self.threshold_rule == "above":
            raise misplaced(
                ("threshold",), "no IoU exceeds a threshold of 1", "lower it, or set threshold_rule to 'at_least'"
            )
        if self.matching == "optimal" and len(self.boxes) > MOST_OPTIMAL:
            raise misplaced(
                ("boxes",),
                f"optimal matching takes at most {MOST_OPTIMAL} boxes",
                f"give at most {MOST_OPTIMAL}, or another `matching`",
            )
        return self


class Detection:
    """Matches predicted boxes with the right ones."""

    name = "detection"
    version = "1"
    task_model = DetectionTask

    def terms(self, task: DetectionTask) -> Sequence[Term]:
        """Return IoU, confidence (where answers have it) and format."""
        return (_IOU, *([_CONFIDENCE] if task.confidence == "required" else []), THINK_ANSWER_TERM)

    def score(self, task: DetectionTask, text: str) -> Scored:
        """Return all terms."""
        layout = float(_layout(task, text))
        answer = find_answer(task.answering(text), AnswerPlace(task.block, task.one_line, task.untagged))
        keys = BoxKeys(task.box_key, task.confidence_key if task.confidence == "required" else None)
        try:
            found = _read(task, answer, keys)
        except Malformed as error:
            message = f"no list of boxes in the answer: {error}"
            return Scored(_terms(task, 0.0, 0.0, layout), answered=False, message=message)
        if not found:
            value = float(not task.boxes and task.no_objects == "one")
            return Scored(_terms(task, value, value, layout), message="" if value else "the answer names no box")
        return _compare(task, found, layout)


def _read(task: DetectionTask, answer: str | None, keys: BoxKeys) -> Sequence[Predicted]:
    """Return the detections of a completion's answer. Raises Malformed."""
    if answer is None:
        raise Malformed("there is no answer")
    found = read_detections(answer, keys)
    if task.matching == "optimal" and len(found) > MOST_OPTIMAL:
        raise Malformed(f"it has more than {MOST_OPTIMAL} boxes")
    return found


def _compare(task: DetectionTask, found: Sequence[Predicted], layout: float) -> Scored:
    if task.duplicates == "drop":
        found = _distinct(found)
    found = sorted(found, key=lambda one: -one.confidence)
    ious = iou_matrix(rows([one.box for one in found]), task.gold_rows, task.empty_union)
    match = match_greedily if task.matching == "confidence" else match_optimally
    taken = match(ious, task.threshold, inclusive=task.threshold_rule == "at_least").tolist()
    count, gold = len(taken), len(task.boxes)
    divisor = {"larger": max(count, gold), "predictions": count, "gold": max(gold, 1)}[task.divisor]
    value = min(1.0, math.fsum(taken) / divisor)
    parts = [_confidence(one.confidence, iou > 0, task.out_of_range) for one, iou in zip(found, taken, strict=True)]
    confidence = min(1.0, max(0.0, math.fsum(parts) / count))
    message = f"{sum(iou > 0 for iou in taken)} of {count} predicted boxes match one of {gold}"
    return Scored(_terms(task, value, confidence, layout), message=message)


def _confidence(given: float, matched: bool, out_of_range: str) -> float:
    if not 0.0 <= given <= 1.0:
        if out_of_range == "refuse":
            return 0.0
        if out_of_range == "clip":
            given = min(1.0, max(0.0, given))
    return given if matched else 1.0 - given


def _distinct(found: Sequence[Predicted]) -> Sequence[Predicted]:
    first: dict[tuple[float, ...], Predicted] = {}
    for one in found:
        first.setdefault(one.box, one)
    return list(first.values())


def _layout(task: DetectionTask, text: str) -> bool:
    if task.block == "only" and text.count("<answer>") != 1:
        return False
    return think_answer(text.strip() if task.strip else text)


def _terms(task: DetectionTask, iou: float, confidence: float, layout: float) -> dict[str, float]:
    if task.confidence == "absent":
        return {"iou": iou, "format": layout}
    return {"iou": iou, "confidence": confidence, "format": layout}
