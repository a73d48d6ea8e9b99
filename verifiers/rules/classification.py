"""The verifier `classification`: does the answer name the right class?"""

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.rules.blocks import first_block
from assay.verifiers.rules.layouts import THINK_ANSWER_TERM, think_answer
from assay.verifiers.rules.rule import Profile, Scored, Term

_TERMS = (
    Term("accuracy", 0, 1, "1 if the answer is the label, after the normalisation that the task names"),
    THINK_ANSWER_TERM,
)


class ClassificationTask(AnsweringTask):
    """A picture, clip or text to be given one class: reward = accuracy + format, each 0 or 1.

    Only the first `<answer>` block is judged. By default names are trimmed, case folded, `_` and runs of white space
    count as one blank and one full stop at the end is dropped; an empty answer is never right.
    Visual-RFT's released matcher accepts substrings in either direction and a shared number, and so pays an empty
    answer and a list of all labels (Liuziyu77/Visual-RFT@9486633, issue 176): it is not reproduced.
    Sources: Visual-RFT, arXiv 2503.01785 eq. 9; VideoChat-R1, OpenGVLab/VideoChat-R1@73b2ea9 grpo_cls.py.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "bird", "verifier": "classification", "label": "golden retriever"}]}
    )
    PROFILES: ClassVar = (
        Profile(
            "visual-rft/hardened", {}, "arXiv 2503.01785 eq. 9",
            "the defaults: equality after normalisation, the whole text stripped before its layout is checked",
        ),
        Profile(
            "videochat-r1/code", {"normalise": "trim_lower", "reasoning": "kept"},
            "OpenGVLab/VideoChat-R1@73b2ea9 grpo_cls.py",
            "trimmed and lower-cased equality; separators and full stops count",
        ),
    )  # fmt: skip

    verifier: Literal["classification"] = "classification"
    label: str = Field(min_length=1)
    """The right class."""
    labels: tuple[str, ...] | None = None
    """All classes, where they are known: an answer that is none of them is `no_answer`."""
    normalise: Literal["names", "trim_lower"] = "names"
    """`names`: as above; `trim_lower`: trimmed and lower-cased only."""

    @model_validator(mode="after")
    def _refuse_unreachable(self) -> Self:
        right = _normalise(self.label, self.normalise)
        if not right:
            raise misplaced(
                ("label",), f"no answer can equal the label {self.label!r}", "give one that holds letters or digits"
            )
        if self.known is not None and right not in self.known:
            raise misplaced(
                ("label",), f"the label {self.label!r} is none of `labels`", "give one of them, or add it there"
            )
        return self

    @cached_property
    def known(self) -> frozenset[str] | None:
        """All classes, normalised; None where they are not known."""
        return None if self.labels is None else frozenset(_normalise(label, self.normalise) for label in self.labels)


class Classification:
    """Compares the answer with the label."""

    name = "classification"
    version = "1"
    task_model = ClassificationTask

    def terms(self, task: ClassificationTask) -> Sequence[Term]:
        """Return accuracy and format."""
        del task
        return _TERMS

    def score(self, task: ClassificationTask, text: str) -> Scored:
        """Return both terms."""
        answer = first_block(task.answering(text), "answer")
        given = _normalise(answer or "", task.normalise)
        known = task.known is None or given in task.known
        right = bool(given) and given == _normalise(task.label, task.normalise)
        return Scored(
            {"accuracy": float(right), "format": float(think_answer(text.strip()))},
            answered=bool(given) and known,
            message="" if right else f"the answer {given[:80]!r} is not the label",
        )


def _normalise(name: str, how: Literal["names", "trim_lower"]) -> str:
    if how == "trim_lower":
        return name.strip().lower()
    return " ".join(name.replace("_", " ").split()).removesuffix(".").rstrip().casefold()
