"""The verifier `reasoning_gym`: the scorer of the library of that name, where it is installed."""

import json
from collections.abc import Sequence
from typing import Any, ClassVar, Literal  # Any: an entry is the library's own, and goes to it as it is

from pydantic import ConfigDict, Field, field_validator

from assay.canonical import dump_line
from assay.errors import InfraFault
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.checking import check_outputs
from assay.verifiers.extraction import without_reasoning
from assay.verifiers.requirements import including, missing_modules
from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.reasoning_gym_scorer import MODULE
from assay.verifiers.rules.rule import Profile, RuleTask, Scored, Term, conclude
from assay.verifiers.scoring import Trace, passed
from assay.verifiers.spending import share_of
from assay.verifiers.stdio import Judged

_PARTS = 2  # an attempt's wall time is for starting the library, and for its answer
_TERMS = (Term("score", 0, 1, "what the data set's own scorer gives"),)


class ReasoningGymTask(RuleTask):
    """An entry of a procedural data set, judged by that data set's own scorer; the reward is one term, `score`.

    Needs the Python package `reasoning-gym` on every worker that takes the task; elsewhere it is refused. The scorer
    runs in the oracle's jail, in a process of its own, since it evaluates answers; code that is more than a formula is
    refused there. An answer that exhausts the limits scores 0; an entry whose own answer is not right is `task_error`.
    Scorers differ by data set: many pay a share, and some a floor of 0.01 for anything. Starting the library takes some
    two seconds of processor time an attempt.
    Source: open-thought/reasoning-gym.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "g",
                    "verifier": "reasoning_gym",
                    "dataset": "chain_sum",
                    "entry": {"question": "1 + 2", "answer": "3", "metadata": {}},
                }
            ]
        }
    )
    PROFILES: ClassVar = (
        Profile("reasoning-gym/code", {}, "open-thought/reasoning-gym", "the library as it is installed"),
    )

    verifier: Literal["reasoning_gym"] = "reasoning_gym"
    requires: tuple[str, ...] = (MODULE,)
    """Modules a worker must have; the library is always among them."""
    dataset: str = Field(min_length=1, max_length=200)
    """The data set's registered name, such as `countdown`."""
    entry: dict[str, Any]
    """What the data set gave: `question`, `answer` and `metadata`, as JSON keeps them."""
    answer_tag: str | None = Field("answer", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=64)
    """The last block of this tag outside of <think>, trimmed, is the answer; null makes it the whole completion."""

    @field_validator("requires")
    @classmethod
    def _require_the_library(cls, requires: tuple[str, ...]) -> tuple[str, ...]:
        return including(requires, (MODULE,))

    @field_validator("entry")
    @classmethod
    def _have_an_answer(cls, entry: dict[str, Any]) -> dict[str, Any]:
        if "answer" not in entry:
            raise ValueError("an entry has an answer")
        json.dumps(entry, allow_nan=False)
        return entry

    def runs_something(self) -> bool:
        """The scorer runs in a jail."""
        return True


class ReasoningGymVerifier:
    """Has the answer scored in the oracle's jail."""

    name = "reasoning_gym"
    version = "1"
    task_model = ReasoningGymTask

    def terms(self, task: ReasoningGymTask) -> Sequence[Term]:
        """Return the one term, score."""
        del task
        return _TERMS

    def judge(self, task: ReasoningGymTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault where the entry cannot be scored, InfraFault without the library."""
        if missing_modules((MODULE,)):
            raise InfraFault("this worker lacks reasoning_gym: install the package reasoning-gym on it")
        answer = completion if task.answer_tag is None else last_block(without_reasoning(completion), task.answer_tag)
        output = (answer or "").strip().encode("utf-8", "replace")
        program = Judged((passed(),), None, Trace(), (output,))
        given = "" if answer is None else "given"
        (mark,) = check_outputs(slot, _checker(task), [("", given)], program, share_of(task.limits, _PARTS))
        score = min(1.0, max(0.0, mark.score))
        return conclude(task, _TERMS, Scored({"score": score}, answer is not None, mark.message))


def _checker(task: ReasoningGymTask) -> str:
    """Return the source that makes the scorer, as the checker of a program's output is one."""
    entry = dump_line(task.entry)
    return (
        "from assay.verifiers.rules.reasoning_gym_scorer import Scorer\n"
        f"check = Scorer({task.dataset!r}, {entry!r}).check\n"
    )
