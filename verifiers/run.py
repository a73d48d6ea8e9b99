"""The verifier `run`: plain execution of a program, judged by its exit code and, where given, its output."""

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from assay.sandboxes.interface import Slot
from assay.schema import Scoring, TaskBase, Verdict
from assay.verifiers.comparison import parse_comparison
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.choosing import Wanted, choose_runner
from assay.verifiers.languages.table import PYTHON
from assay.verifiers.languages.task import Files, LanguageName, as_bytes, named_files, refuse_taken
from assay.verifiers.python_task import ComparisonText, Dotted, FenceRule
from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.rule import refuse_limits_of_tests
from assay.verifiers.scoring import Policy
from assay.verifiers.stdio import Case, run_cases


class RunTask(TaskBase):
    """A program to run: reward 1 for exit code 0 and, where `stdout` is given, that output; else 0.

    Source of the rule: the exit status of a process (POSIX.1-2017, 2.8.2).
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "hello", "verifier": "run", "stdout": "hello\n"}]})

    verifier: Literal["run"] = "run"
    prompt: str = ""
    """What the model was asked; it does not take part in judging. `assay check` looks in it for the tests."""
    language: LanguageName = PYTHON
    """Of the completion; which there are is listed by `assay doctor`."""
    stdin: str = ""
    """What the program reads."""
    stdout: str | None = None
    """What it must write; default: anything."""
    compare: ComparisonText = "trailing_whitespace"
    """How output is compared: exact, trailing_whitespace, tokens, lines_unordered or float(TOL)."""
    files: Files = Field(default_factory=dict)
    """Texts that lie beside the program, by their paths."""
    forbid: tuple[Dotted, ...] = ()
    """Modules and names whose use in a completion in Python is a `violation`."""
    fence: FenceRule = FenceRule.OPTIONAL
    """Whether the code must stand in a fenced block."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.stdout is None and "compare" in self.model_fields_set:
            raise misplaced(("compare",), "it goes with stdout only", "leave it out, or give stdout")
        if self.scoring is Scoring.WEIGHTED:
            raise misplaced(("scoring",), "'weighted' needs several tests, and this is one", "leave it out")
        if self.forbid and (self.language != PYTHON or self.files):
            raise misplaced(("forbid",), "it goes with a single source in Python", "leave it out")
        refuse_taken(self.language, named_files(self.files))
        refuse_limits_of_tests(self)
        return self

    def runs_tests(self) -> bool:
        """It is one test."""
        return False


class RunVerifier:
    """Runs the completion's program once; the verdict carries its exit code and output."""

    name = "run"
    version = "2"
    task_model = RunTask

    def __init__(self, builder: Builder | None = None) -> None:
        self._builder = builder or Builder()

    def reward_range(self, task: RunTask) -> tuple[float, float]:
        """Return 0 and 1: nothing passed, and all."""
        del task
        return 0.0, 1.0

    def judge(self, task: RunTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises InfraFault and Inconclusive."""
        ready = choose_runner(slot, self._builder, completion, _wanted(task))
        cases = [Case(task.stdin, task.stdout)]
        judged = run_cases(ready.run, cases, task.limits, parse_comparison(task.compare))
        verdict = judged.verdict(Policy(pass_threshold=task.pass_threshold))
        return verdict.model_copy(update={"versions": ready.versions})


def _wanted(task: RunTask) -> Wanted:
    return Wanted(task.language, task.fence, task.limits, as_bytes(task.files), task.forbid)
