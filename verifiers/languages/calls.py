"""The verifier `calls`: functions in languages whose values are those of JSON, called with given arguments.

A driver of ours stands behind the completion's source, in the candidate's jail: it reads the arguments, calls, and
writes what was returned. The comparison is made here. What a completion writes in the driver's place is what it
returned, so there is nothing to forge.
"""

import json
from collections.abc import Callable
from typing import Any, Literal, Self  # Any: arguments and values are JSON of any shape

from pydantic import AliasChoices, ConfigDict, Field, model_validator

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import TaskBase, Verdict, Wire
from assay.spelling import choices
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.choosing import Wanted, choose_runner
from assay.verifiers.languages.table import LANGUAGES, PYTHON
from assay.verifiers.languages.task import LanguageName
from assay.verifiers.python_task import FenceRule, agree_on_weights
from assay.verifiers.refusals import misplaced
from assay.verifiers.scoring import Mark, Policy, passed
from assay.verifiers.spending import Budget
from assay.verifiers.split.json_value import equals_json
from assay.verifiers.stdio import Case, Run, play_cases

_CALLED = tuple(name for name, language in LANGUAGES.items() if language.driver)
_SHOWN = 200  # characters of a returned value in messages


class Call(Wire):
    """One call, and what it must return."""

    args: tuple[Any, ...] = ()
    """Its arguments, as JSON."""
    expected: Any
    """What it must return, as JSON: floats within 1e-9 (relative or absolute), integers exactly."""


class CallsTask(TaskBase):
    """A function in JavaScript or TypeScript: reward = calls that return what they must / calls, or as `scoring` says.

    For functions in Python there is the verifier `python`. Source of the task's form: LiveCodeBench, arXiv 2403.07974.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "add",
                    "verifier": "calls",
                    "language": "javascript",
                    "entry_point": "add",
                    "cases": [{"args": [1, 2], "expected": 3}],
                }
            ]
        }
    )

    verifier: Literal["calls"] = "calls"
    prompt: str = ""
    """What the model was asked; it does not take part in judging. `assay check` looks in it for the tests."""
    language: LanguageName
    """Of the completion: javascript or typescript."""
    entry_point: str = Field(
        pattern=r"^[A-Za-z_$][A-Za-z0-9_$]*$", validation_alias=AliasChoices("entry_point", "fn_name")
    )
    """The function; also a method of a class `Solution`, or what the module exports. What it promises is awaited."""
    cases: tuple[Call, ...]
    """One test each, in a process of its own."""
    weights: tuple[float, ...] = ()
    """One per case, for `scoring: weighted`."""
    fence: FenceRule = FenceRule.OPTIONAL
    """Whether the code must stand in a fenced block."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.language not in _CALLED:
            use = (
                "use the verifier python" if self.language == PYTHON else "write a program, and use the verifier stdio"
            )
            raise misplaced(("language",), f"functions in it are not called: {choices(self.language, _CALLED)}", use)
        agree_on_weights(self.scoring, self.weights, len(self.cases), "case")
        return self


class CallsVerifier:
    """Calls what completions define, and compares what is returned."""

    name = "calls"
    version = "1"
    task_model = CallsTask

    def __init__(self, builder: Builder | None = None) -> None:
        self.builder = builder or Builder()
        """What compiles, and says which languages can be had."""

    def reward_range(self, task: CallsTask) -> tuple[float, float]:
        """Return 0 and 1: nothing passed, and all."""
        del task
        return 0.0, 1.0

    def judge(self, task: CallsTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        if not task.cases:
            raise TaskFault("the task has no cases")
        driver = LANGUAGES[task.language].driver.replace("ENTRY_POINT", task.entry_point)
        wanted = Wanted(task.language, task.fence, task.limits, {}, driver=driver)
        ready = choose_runner(slot, self.builder, completion, wanted)
        cases = [Case(json.dumps(call.args), json.dumps(call.expected)) for call in task.cases]
        judged = play_cases(_calling(ready.run), cases, task.limits)
        verdict = judged.verdict(Policy(task.scoring, task.weights, task.pass_threshold))
        return verdict.model_copy(update={"versions": ready.versions})


def _calling(run: Callable[[bytes, Budget], Run]) -> Callable[[Case, Budget], tuple[Run, Mark]]:
    def call(case: Case, budget: Budget) -> tuple[Run, Mark]:
        ran = run(case.stdin.encode(), budget)
        return ran, _mark(ran, case)

    return call


def _mark(ran: Run, case: Case) -> Mark:
    if ran.outcome is not Outcome.PASSED:
        return Mark(ran.outcome, ran.message)
    told = ran.stdout.rstrip(b"\n").rsplit(b"\n", 1)[-1].decode("utf-8", "replace")
    try:
        value = json.loads(told, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return Mark(Outcome.FAILED, f"the call of the function left no value: {told[:_SHOWN]!r}")
    if equals_json(value, json.loads(case.expected or "null")):
        return passed()
    return Mark(Outcome.FAILED, f"the call returned {told[:_SHOWN]}, which is not right")


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
