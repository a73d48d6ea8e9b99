"""The verifier `multiple_choice`: does the answer name the right option?"""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import ConfigDict

from assay.verifiers.rules.blocks import first_block
from assay.verifiers.rules.layouts import THINK_ANSWER_TERM, think_answer
from assay.verifiers.rules.options import OptionTask
from assay.verifiers.rules.rule import Profile, Scored, Term

_TERMS = (
    Term("accuracy", 0, 1, "1 if the answer names the right option"),
    THINK_ANSWER_TERM,
)


class MultipleChoiceTask(OptionTask):
    """A question with options A, B, C, ...: reward = accuracy + format, each 0 or 1.

    Only the first `<answer>` block is read. An answer that names several options, or none, is wrong.
    Sources: VideoChat-R1, arXiv 2504.06958; OpenGVLab/VideoChat-R1@73b2ea9 src/open_r1/grpo_gqa.py.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "q", "verifier": "multiple_choice", "answer": "B", "letters": "ABCD"}]}
    )
    PROFILES: ClassVar = (
        Profile("videochat-r1/hardened", {}, "arXiv 2504.06958", "the defaults: letters inside words are not options"),
        Profile(
            "videochat-r1/paper", {"reader": "first_capital", "reasoning": "kept"}, "arXiv 2504.06958",
            "the released reader (`Answer: B` reads A), but what cannot be read is never right",
        ),
        Profile(
            "videochat-r1/code", {"reader": "first_capital", "both_unreadable": "right", "reasoning": "kept"},
            "OpenGVLab/VideoChat-R1@73b2ea9 grpo_gqa.py",
            "the first capital A to G of either side; two sides without one are equal",
        ),
    )  # fmt: skip

    verifier: Literal["multiple_choice"] = "multiple_choice"


class MultipleChoice:
    """Compares the letter that the answer names with the right one."""

    name = "multiple_choice"
    version = "1"
    task_model = MultipleChoiceTask

    def terms(self, task: MultipleChoiceTask) -> Sequence[Term]:
        """Return accuracy and format."""
        del task
        return _TERMS

    def score(self, task: MultipleChoiceTask, text: str) -> Scored:
        """Return both terms."""
        answer = first_block(task.answering(text), "answer")
        letter = "" if answer is None else task.read(answer)
        right = answer is not None and task.is_right(letter)
        return Scored(
            {"accuracy": float(right), "format": float(think_answer(text.strip()))},
            answered=bool(letter) or right,
            message=f"the answer names option {letter}" if letter else "the answer names no option",
        )
