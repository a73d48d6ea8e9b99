"""The verifier `execute` before anything runs: what describes no program."""

import json

import pytest

from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.verifiers.languages.execute import ExecuteTask, ExecuteVerifier


@pytest.mark.parametrize(
    ("completion", "said"),
    [
        (
            json.dumps({"code": "", "files": {"../a": ""}}),
            "files.../a: '../a' is not a path below",
        ),
        (json.dumps({"code": "", "language": "cobol"}), "language: "),
        *((json.dumps({"code": "", "fetch": [path]}), "is not a path below") for path in (".", "./", "", "/", "a/..")),
        ("{", "is no JSON"),
    ],
)
def test_a_completion_that_describes_no_program_is_told_in_its_own_words(completion: str, said: str) -> None:
    """By the path of what is wrong, and without the words of the library that found it."""
    task = ExecuteTask.model_validate({"id": "t", "verifier": "execute"})

    verdict = ExecuteVerifier().judge(task, completion, FakeSlot())

    assert verdict.outcome is Outcome.NO_ANSWER
    assert said in verdict.message
    assert "Value error" not in verdict.message
    assert "[key]" not in verdict.message
