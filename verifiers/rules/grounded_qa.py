"""The verifier `grounded_qa`: the right option, and where in the clip the evidence is."""

import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import ConfigDict, Field

from assay.verifiers.rules.blocks import first_block
from assay.verifiers.rules.boxes import EmptyUnion
from assay.verifiers.rules.coordinates import MOST
from assay.verifiers.rules.intervals import Interval, union_iou
from assay.verifiers.rules.layouts import blocks_in_order
from assay.verifiers.rules.options import OptionTask
from assay.verifiers.rules.rule import Profile, Scored, Term

MOST_SEGMENTS = 1_000
"""A longer list counts as malformed."""

_TERMS = (
    Term("iou", 0, 1, "time covered by answered and right segments, divided by the time that either covers"),
    Term("accuracy", 0, 1, "1 if the answer names the right option"),
    Term("format", 0, 1, "1 if the text is a think, an answer and a glue block, and the last a list of (start, end)"),
)

_NUMBER = r"(?:(?=[0-9]++\.|0++(?![0-9])|[1-9])[0-9]{1,50}+(?:\.[0-9]{1,50}+)?+)"  # as Python writes them: no `07`
_PAIR = rf"\({_NUMBER},\s*+{_NUMBER}\)"
_TUPLES = re.compile(rf"\[(?:{_PAIR}(?:,\s*+{_PAIR})*+,?+)?+\]\n?")
_LOOSE = rf"[(\[]\s*+{_NUMBER}\s*+,\s*+{_NUMBER}\s*+[)\]]"
_ANY = re.compile(rf"\s*+\[\s*+(?:{_LOOSE}(?:\s*+,\s*+{_LOOSE})*+\s*+,?+\s*+)?+\]\s*+")
_FIGURE = re.compile(r"[0-9]++(?:\.[0-9]++)?+")
_LAYOUT = ("think", "answer", "glue")


class GroundedQaTask(OptionTask):
    """A question about a clip and the segments that answer it: reward = iou + accuracy + format, each within 0 and 1.

    The first `<answer>` block names the option; the first `<glue>` block holds a list of `(start, end)` in seconds,
    decimals without sign or exponent, at most 1,000 pairs. Overlapping segments of one side are merged. A start behind
    its end spoils the list, for the IoU and for the format.
    Sources: VideoChat-R1, arXiv 2504.06958; OpenGVLab/VideoChat-R1@73b2ea9 src/open_r1/grpo_gqa.py.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "q", "verifier": "grounded_qa", "answer": "B", "segments": [[4, 10]]}]}
    )
    PROFILES: ClassVar = (
        Profile(
            "videochat-r1/hardened", {}, "arXiv 2504.06958",
            "the defaults: letters inside words are not options, pairs in square brackets count for the IoU, and "
            "segments without length are right only where they are the right ones",
        ),
        Profile(
            "videochat-r1/paper",
            {"reader": "first_capital", "pairs": "tuples", "empty_union": "one", "reasoning": "kept"},
            "arXiv 2504.06958", "as the code, but an option that cannot be read is never right",
        ),
        Profile(
            "videochat-r1/code",
            {"reader": "first_capital", "both_unreadable": "right", "pairs": "tuples", "empty_union": "one",
             "reasoning": "kept"},
            "OpenGVLab/VideoChat-R1@73b2ea9 grpo_gqa.py",
            "the first capital A to G of either side, two sides without one are equal; any segments without length are "
            "right where the gold has no length",
        ),
    )  # fmt: skip

    verifier: Literal["grounded_qa"] = "grounded_qa"
    segments: tuple[Interval, ...] = Field(max_length=MOST_SEGMENTS)
    """Segments of the clip that hold the evidence, [start, end] in seconds; they may overlap."""
    pairs: Literal["any", "tuples"] = "any"
    """Whether the IoU reads pairs in square brackets too; the format term never does."""
    empty_union: EmptyUnion = "equal"
    """IoU where neither side has any length: 0, 1, or 1 if both are the same."""


class GroundedQa:
    """Compares the option and the segments."""

    name = "grounded_qa"
    version = "1"
    task_model = GroundedQaTask

    def terms(self, task: GroundedQaTask) -> Sequence[Term]:
        """Return IoU, accuracy and format."""
        del task
        return _TERMS

    def score(self, task: GroundedQaTask, text: str) -> Scored:
        """Return all terms."""
        said = task.answering(text)
        answer, glue = first_block(said, "answer"), first_block(said, "glue") or ""
        letter = "" if answer is None else task.read(answer)
        right = answer is not None and task.is_right(letter)
        tuples = _segments(glue, _TUPLES)
        segments = _segments(glue, _ANY) if tuples is None and task.pairs == "any" else tuples
        value = 0.0 if segments is None else union_iou(segments, task.segments, task.empty_union)
        layout = tuples is not None and blocks_in_order(text.strip(), _LAYOUT)
        return Scored(
            {"iou": value, "accuracy": float(right), "format": float(layout)},
            answered=bool(letter) or right or segments is not None,
            message=f"option {letter or 'unreadable'}, IoU {value:.3f}" + ("" if segments is not None else ", no list"),
        )


def _segments(glue: str, pattern: re.Pattern[str]) -> list[tuple[float, float]] | None:
    if glue.count(",") > 2 * MOST_SEGMENTS or not pattern.fullmatch(glue):
        return None
    figures = list(map(float, _FIGURE.findall(glue)))
    pairs = list(zip(figures[::2], figures[1::2], strict=True))
    return pairs if all(start <= end <= MOST for start, end in pairs) else None
