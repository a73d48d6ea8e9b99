"""The verifier `instructions`: which of the task's instructions does the text follow?"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import ConfigDict, Field

from assay.verifiers.rules.instructions.content import ContentCheck
from assay.verifiers.rules.instructions.ifeval import IfevalContentCheck
from assay.verifiers.rules.instructions.ifeval_layout import IfevalLayoutCheck
from assay.verifiers.rules.instructions.layout import LayoutCheck
from assay.verifiers.rules.rule import Profile, RuleTask, Scored, Term

AnyCheck = Annotated[ContentCheck | LayoutCheck | IfevalContentCheck | IfevalLayoutCheck, Field(discriminator="check")]
Aggregate = Literal["share", "all"]


class InstructionsTask(RuleTask):
    """Instructions that a rule can decide: reward = the share of `checks` that the text follows, or 1 for all.

    Each check is an object: `check`, its name, and its arguments beside it; the names and arguments are those of
    open-instruct (`verify_keywords`, ...) and of IFEval (`keywords:existence`, ...). A name that is not known and an
    argument that is missing are faults of the task. The same check may be given several times.
    Judged is what follows the last `</think>`, without answer tags, trimmed; an empty text follows nothing.
    Each check is also a term of weight 0, named by its place: `1_verify_keywords`.
    Sources: IFEval, arXiv 2311.07911; allenai/open-instruct@e6c3044 if_functions.py and ground_truth_utils.py.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "note",
                    "verifier": "instructions",
                    "checks": [
                        {"check": "validate_word_constraint", "N": 40, "quantifier": "at most"},
                        {"check": "verify_keywords", "keyword_list": ["harbour", "fog"]},
                    ],
                }
            ]
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "open-instruct/hardened", {"reading": "strict"}, "allenai/open-instruct@e6c3044 if_functions.py",
            "the defaults: keywords, forbidden words and options are whole words, one option, nothing blank counts",
        ),
        Profile(
            "open-instruct/code", {"reading": "released"}, "allenai/open-instruct@e6c3044 if_functions.py",
            "as released: `cat` is in `concatenate`, the option `no` in `cannot`; languages are told by rule instead",
        ),
        Profile(
            "ifeval/paper", {"aggregate": "all"}, "arXiv 2311.07911 §2.2, strict accuracy of a prompt",
            "1 only if every instruction is followed; sentences, capitals and languages are told by rule",
        ),
    )  # fmt: skip

    verifier: Literal["instructions"] = "instructions"
    checks: tuple[AnyCheck, ...] = Field(min_length=1, max_length=64)
    """The instructions."""
    aggregate: Aggregate = "share"
    """`share`: the share of checks that are met; `all`: 1 if all are, else 0."""
    reading: Literal["released", "strict"] = "strict"
    """How open-instruct's checks are decided: `released` as its code does, `strict` with its gaps closed, as each
    check says. IFEval's are decided in one way."""


class Instructions:
    """Decides the checks."""

    name = "instructions"
    version = "1"
    task_model = InstructionsTask

    def terms(self, task: InstructionsTask) -> Sequence[Term]:
        """Return followed, and each check."""
        return [
            Term("followed", 0, 1, "share of the checks that are met, or 1 if all are"),
            *(Term(name, 0, 1, "1 if that check is met", weight=0) for name in _names(task)),
        ]

    def score(self, task: InstructionsTask, text: str) -> Scored:
        """Return the terms."""
        answer = _answer(text)
        met = [bool(answer) and _is_met(task, check, answer) for check in task.checks]
        unmet = [name for name, one in zip(_names(task), met, strict=True) if not one]
        return Scored(
            {
                "followed": aggregate(met, task.aggregate),
                **{name: float(one) for name, one in zip(_names(task), met, strict=True)},
            },
            answered=bool(answer),
            message=(f"not followed: {', '.join(unmet)}" if unmet else "") if answer else "no text",
        )


def aggregate(met: Sequence[bool], how: Aggregate) -> float:
    """Return what the checks come to together, one at least."""
    return float(all(met)) if how == "all" else sum(map(bool, met)) / len(met)


def _names(task: InstructionsTask) -> list[str]:
    return [f"{place}_{check.check}" for place, check in enumerate(task.checks, 1)]


def _is_met(task: InstructionsTask, check: AnyCheck, text: str) -> bool:
    return check.is_met_strictly(text) if task.reading == "strict" else check.is_met(text)


def _answer(text: str) -> str:
    """Return the text that the checks are of."""
    rest = text.replace("<|assistant|>", "").rpartition("</think>")[2]
    return rest.replace("<answer>", "").replace("</answer>", "").strip()
