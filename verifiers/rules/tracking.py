"""The verifier `tracking`: one box per frame against the boxes of an object."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.rules.blocks import first_block
from assay.verifiers.rules.boxes import Box, EmptyUnion, iou, rows
from assay.verifiers.rules.coordinates import numbers
from assay.verifiers.rules.layouts import think_answer
from assay.verifiers.rules.literal import MOST_CHARACTERS, read_literal, read_python
from assay.verifiers.rules.rule import Profile, Scored, Term

MOST_FRAMES = 500
"""A literal of more boxes would be longer than what is read."""

_TERMS = (
    Term("iou", 0, 1, "mean over the frames of the IoU of the answered and the right box"),
    Term("format", 0, 1, "1 if the text is a think block and an answer block that holds one box per frame"),
)


class TrackingTask(AnsweringTask):
    """An object's box in each frame of a clip: reward = iou + format, each within 0 and 1.

    The first `<answer>` block holds a list of boxes `[x1, y1, x2, y2]`, one per frame, at most 20,000 characters (line
    breaks are dropped first); with another number of boxes, or anything that is no number within 1e9, the IoU is 0.
    Sources: VideoChat-R1, arXiv 2504.06958; OpenGVLab/VideoChat-R1@73b2ea9 src/open_r1/grpo_tasks.py, which asks for
    exactly 8 frames.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"id": "clip", "verifier": "tracking", "boxes": [[0, 0, 20, 20], [10, 0, 30, 20]]}]
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "videochat-r1/hardened", {}, "arXiv 2504.06958",
            "the defaults: JSON is read too, and boxes of anything but numbers lose the format term as well",
        ),
        Profile(
            "videochat-r1/code", {"literal": "python", "reasoning": "kept"},
            "OpenGVLab/VideoChat-R1@73b2ea9 grpo_tasks.py",
            "a Python list of lists, of which the format term checks the lengths only",
        ),
    )  # fmt: skip

    verifier: Literal["tracking"] = "tracking"
    boxes: tuple[Box, ...] = Field(min_length=1, max_length=MOST_FRAMES)
    """The right box of each frame, [x1, y1, x2, y2] in the unit of the answers."""
    empty_union: EmptyUnion = "zero"
    """IoU of two boxes without area: 0, 1, or 1 if they are the same."""
    literal: Literal["any", "python"] = "any"
    """`any`: JSON or a Python literal, lists or tuples, of numbers; `python`: a Python list of lists, whose elements
    the format term does not look at."""


class Tracking:
    """Compares boxes frame by frame."""

    name = "tracking"
    version = "1"
    task_model = TrackingTask

    def terms(self, task: TrackingTask) -> Sequence[Term]:
        """Return IoU and format."""
        del task
        return _TERMS

    def score(self, task: TrackingTask, text: str) -> Scored:
        """Return both terms."""
        boxes = _read(first_block(task.answering(text).replace("\n", ""), "answer") or "", task)
        answered = [numbers(box, 4) for box in boxes or ()]
        readable = bool(answered) and None not in answered
        value = float(iou(rows(answered), rows(task.boxes), task.empty_union).mean()) if readable else 0.0
        layout = bool(boxes) and (readable or task.literal == "python") and think_answer(text.strip())
        message = f"mean IoU {value:.3f}" if readable else f"no list of {len(task.boxes)} boxes in the answer"
        return Scored({"iou": value, "format": float(layout)}, answered=readable, message=message)


def _read(answer: str, task: TrackingTask) -> list[object] | None:
    """Return one entry of length 4 per frame, or None."""
    if len(answer) > MOST_CHARACTERS:
        return None
    try:
        value = read_python(answer) if task.literal == "python" else read_literal(answer)
    except ValueError:
        return None
    kinds = (list,) if task.literal == "python" else (list, tuple)
    if type(value) not in kinds or len(value) != len(task.boxes):
        return None
    return list(value) if all(type(box) in kinds and len(box) == 4 for box in value) else None
