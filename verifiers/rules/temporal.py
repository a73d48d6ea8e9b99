"""The verifier `temporal`: when in a clip does it happen?"""

import re
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.coordinates import MOST
from assay.verifiers.rules.intervals import Interval, hull_iou
from assay.verifiers.rules.layouts import THINK_ANSWER_TERM, think_answer
from assay.verifiers.rules.rule import Profile, Scored, Term

_TERMS = (
    Term("iou", 0, 1, "overlap of the answered and the right interval, divided by the length of what spans both"),
    THINK_ANSWER_TERM,
)
_CODE = {"reasoning": "kept", "grammar": "words"}

# No pattern can begin inside a number, and none gives back what it has taken: each is linear in the text.
_WORDS = re.compile(r"(?<!\d)(\d++(?:\.\d*+)?+) (?:to|and) (\d++(?:\.\d*+)?+)", re.IGNORECASE)
_TIME = r"(-?(?:\d++:){0,2}+\d++(?:\.\d++)?+)"
_UNIT = r"(?:\s*+(?:seconds|second|secs|sec|s)\b)?+"
_COMMA = rf"(?(open),(?=\s*+{_TIME.replace('(-', '(?:-', 1)}{_UNIT}\s*+[\])])|(?!))"  # between brackets: [4, 9]
_LENIENT = re.compile(
    rf"(?P<open>[\[(]\s*+)?+(?<![\d.:]){_TIME}{_UNIT}\s*+(?:to|and|until|till|[-\u2010-\u2015~]|{_COMMA})\s*+{_TIME}",
    re.IGNORECASE,
)
_EMPHASIS = "**"
_LONGEST_TIME = 100  # characters
_LONGEST_ANSWER = 100_000


class TemporalTask(AnsweringTask):
    """An event's interval in a clip: reward = iou + format, each within 0 and 1.

    The last interval in the last `<answer>` block (of at most 100,000 characters) counts. A start behind the end is
    worth 0. Where both intervals have no length and are the same instant, the IoU is `empty_union`; the release's
    multi-task file pays the IoU of the completion before instead.
    Sources: VideoChat-R1, arXiv 2504.06958 eq. 2-3; OpenGVLab/VideoChat-R1@73b2ea9 src/open_r1/grpo_tg.py.
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "c", "verifier": "temporal", "interval": [4, 9]}]})
    PROFILES: ClassVar = (
        Profile(
            "videochat-r1/hardened", {}, "arXiv 2504.06958 eq. 2-3",
            "the defaults: units, dashes, signs, clock times (1:05, 0:01:05.5), pairs in brackets ([4, 9]) and "
            "emphasis are read",
        ),
        Profile(
            "videochat-r1/code", _CODE, "OpenGVLab/VideoChat-R1@73b2ea9 grpo_tg.py",
            "`number to number` or `number and number` with single blanks only; signs are passed over, and `1:00 to "
            "1:40` reads as 0 to 1",
        ),
    )  # fmt: skip

    verifier: Literal["temporal"] = "temporal"
    interval: Interval
    """Start and end of the event, in seconds."""
    grammar: Literal["lenient", "words"] = "lenient"
    """How an interval is written: see the profiles."""
    reversed_ends: Literal["zero", "swap"] = "zero"
    """An answer whose start lies behind its end: worth 0, or read the other way round."""
    empty_union: Literal["one", "zero"] = "one"
    """IoU of two equal instants."""
    clip_to_s: float | None = Field(None, gt=0, le=MOST)
    """Length of the clip in seconds, in which `interval` lies: answered ends beyond it, or before 0, are moved to it;
    None: they stand."""
    iou_needs_format: bool = False
    """Whether the IoU is 0 where the format is."""

    @model_validator(mode="after")
    def _refuse_unreachable(self) -> Self:
        if self.clip_to_s is not None and not 0 <= self.interval[0] <= self.interval[1] <= self.clip_to_s:
            raise misplaced(
                ("interval",),
                f"the interval does not lie within the clip of {self.clip_to_s:g} s, which answers are moved to",
                "give another, or a longer clip_to_s",
            )
        return self


class Temporal:
    """Compares intervals of time."""

    name = "temporal"
    version = "1"
    task_model = TemporalTask

    def terms(self, task: TemporalTask) -> Sequence[Term]:
        """Return IoU and format."""
        del task
        return _TERMS

    def score(self, task: TemporalTask, text: str) -> Scored:
        """Return both terms."""
        layout = think_answer(text.strip())
        found = _read(last_block(task.answering(text), "answer") or "", task)
        value = 0.0
        if found is not None and found[0] <= found[1] and (layout or not task.iou_needs_format):
            value = hull_iou(found, task.interval, float(task.empty_union == "one"))
        message = "no interval in the answer" if found is None else f"IoU {value:.3f} of {found[0]:g} to {found[1]:g}"
        return Scored({"iou": value, "format": float(layout)}, answered=found is not None, message=message)


def _read(answer: str, task: TemporalTask) -> tuple[float, float] | None:
    """Return the last interval of the answer in seconds; None without one, or where its numbers are absurd."""
    pattern, text = (_WORDS, answer) if task.grammar == "words" else (_LENIENT, answer.replace(_EMPHASIS, ""))
    match = None
    if len(answer) > _LONGEST_ANSWER:
        return None
    for match in pattern.finditer(text):  # noqa: B007 - the last one is what is wanted
        pass
    times = match.groups()[-2:] if match is not None else ()
    if not times or max(map(len, times)) > _LONGEST_TIME:
        return None
    start, end = map(_seconds, times)
    if max(abs(start), abs(end)) > MOST:
        return None
    if start > end and task.reversed_ends == "swap":
        start, end = end, start
    if task.clip_to_s is not None:
        start, end = (min(max(0.0, time), task.clip_to_s) for time in (start, end))
    return start, end


def _seconds(time: str) -> float:
    """Return seconds of `5`, `1:05` or `0:01:05.5`."""
    value = 0.0
    for part in time.removeprefix("-").split(":"):
        value = value * 60 + float(part)
    return -value if time.startswith("-") else value
