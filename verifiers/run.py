"""The verifier `run`: plain execution of a program, judged by its exit code and, where given, its output."""

from typing import Literal, Self

from pydantic import ConfigDict, model_validator

from assay.sandboxes.interface import Slot
from assay.schema import Scoring, TaskBase, Verdict
from assay.verifiers.comparison import parse_comparison
from assay.verifiers.extraction import read_completion
from assay.verifiers.python_task import ComparisonText, Dotted, FenceRule
from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.rule import refuse_limits_of_tests
from assay.verifiers.scoring import Policy, conclude, refuse
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.stdio import Case, python_runner, run_cases
from assay.verifiers.surroundings import surroundings_for


class RunTask(TaskBase):
    """A program to run: reward 1 for exit code 0 and, where `stdout` is given, that output; else 0.

    Source of the rule: the exit status of a process (POSIX.1-2017, 2.8.2).
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "hello", "verifier": "run", "stdout": "hello\n"}]})

    verifier: Literal["run"] = "run"
    stdin: str = ""
    """What the program reads."""
    stdout: str | None = None
    """What it must write; default: anything."""
    compare: ComparisonText = "trailing_whitespace"
    """How output is compared: exact, trailing_whitespace, tokens, lines_unordered or float(TOL)."""
    forbid: tuple[Dotted, ...] = ()
    """Modules and names whose use in the completion is a `violation`."""
    fence: FenceRule = FenceRule.OPTIONAL
    """Whether the code must stand in a fenced block."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.stdout is None and "compare" in self.model_fields_set:
            raise misplaced(("compare",), "it goes with stdout only", "leave it out, or give stdout")
        if self.scoring is Scoring.WEIGHTED:
            raise misplaced(("scoring",), "'weighted' needs several tests, and this is one", "leave it out")
        refuse_limits_of_tests(self)
        return self

    def runs_tests(self) -> bool:
        """It is one test."""
        return False


class RunVerifier:
    """Runs the completion's program once; the verdict carries its exit code and output."""

    name = "run"
    version = "1"
    task_model = RunTask

    def reward_range(self, task: RunTask) -> tuple[float, float]:
        """Return 0 and 1: nothing passed, and all."""
        del task
        return 0.0, 1.0

    def judge(self, task: RunTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises InfraFault and Inconclusive."""
        sources = Sources(read_completion(completion), fence_required=task.fence is FenceRule.REQUIRED)
        surroundings = surroundings_for((sources.reading.text,))
        comparison = parse_comparison(task.compare)
        payload = pack_sources(sources, "__main__", task.forbid)
        run = python_runner(slot, payload, task.limits, surroundings)
        judged = run_cases(run, [Case(task.stdin, task.stdout)], task.limits, comparison)
        if judged.refused is not None:
            return refuse(*judged.refused, judged.marks, judged.trace)
        return conclude(judged.marks, Policy(pass_threshold=task.pass_threshold), judged.trace)
