"""A verifier without a sandbox, for tests of everything above verifiers: each completion says what it earns."""

import json
from typing import Any  # Any: fields of a scripted task mean nothing to it

from pydantic import ConfigDict

from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import TaskBase, TestResult, Verdict


class ScriptedTask(TaskBase):
    """A task whose own fields may be anything."""

    model_config = ConfigDict(frozen=True, extra="allow", populate_by_name=True)


class ScriptedVerifier:
    """Reads the verdict from the completion: JSON with `outcome`, and optionally `reward`, `passed`, `stdout`.

    A completion that is not JSON passes if it is the text "right", else it fails.
    """

    version = "1"
    task_model = ScriptedTask

    def __init__(self, name: str = "python") -> None:
        self.name = name
        self.judged: list[str] = []

    def judge(self, task: Any, completion: str, slot: Slot) -> Verdict:
        """Return the verdict that the completion asks for."""
        del task, slot
        self.judged.append(completion)
        try:
            wish = json.loads(completion)
        except ValueError:
            wish = (
                {"outcome": "passed", "reward": 1.0} if completion == "right" else {"outcome": "failed", "reward": 0.0}
            )
        marks = [Outcome.PASSED if mark else Outcome.FAILED for mark in wish.get("passed", [])]
        return Verdict(
            outcome=Outcome(wish["outcome"]),
            reward=wish.get("reward"),
            tests=tuple(TestResult(outcome=mark) for mark in marks),
            stdout=wish.get("stdout", ""),
            exit_code=wish.get("exit_code"),
        )
