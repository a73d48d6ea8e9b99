"""The verifier `run`: plain execution of a program, judged by its exit code and, where given, its output."""

import base64
import binascii
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from assay.sandboxes.interface import Slot
from assay.schema import Scoring, TaskBase, Verdict
from assay.verifiers.comparison import parse_comparison
from assay.verifiers.languages.building import Builder, Refused
from assay.verifiers.languages.choosing import Wanted, choose_runner
from assay.verifiers.languages.table import PYTHON
from assay.verifiers.languages.task import FilePath, LanguageName, as_bytes
from assay.verifiers.python_task import ComparisonText, Dotted, FenceRule
from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.rule import refuse_limits_of_tests
from assay.verifiers.scoring import KEPT_BYTES, Mark, Policy, Trace, conclude, refuse
from assay.verifiers.stdio import Case, run_cases


def _check_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error
    return text


Base64 = Annotated[str, AfterValidator(_check_base64)]


class RunTask(TaskBase):
    """A program to run: reward 1 for exit code 0 and, where `stdout` is given, that output; else 0.

    Source of the rule: the exit status of a process (POSIX.1-2017, 2.8.2).
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "hello", "verifier": "run", "stdout": "hello\n"}]})

    verifier: Literal["run"] = "run"
    language: LanguageName = PYTHON
    """Of the completion; which there are is listed by `assay doctor`."""
    stdin: str = ""
    """What the program reads."""
    stdout: str | None = None
    """What it must write; default: anything."""
    compare: ComparisonText = "trailing_whitespace"
    """How output is compared: exact, trailing_whitespace, tokens, lines_unordered or float(TOL)."""
    files: dict[FilePath, str] = Field(default_factory=dict)
    """Texts that lie beside the program, by their paths."""
    files_base64: dict[FilePath, Base64] = Field(default_factory=dict)
    """Files that lie beside it and are no texts."""
    forbid: tuple[Dotted, ...] = ()
    """Modules and names whose use in a completion in Python is a `violation`."""
    fence: FenceRule = FenceRule.OPTIONAL
    """Whether the code must stand in a fenced block."""
    kept_bytes: int = Field(KEPT_BYTES, ge=0, le=16_777_216)
    """How much of each output stream results keep, half of it from the head, with the option `keep_output`."""
    timed: bool = False
    """Add the terms `compile_s` and `wall_s`, wall seconds, to results; equal work is then run again."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.stdout is None and "compare" in self.model_fields_set:
            raise misplaced(("compare",), "it goes with stdout only", "leave it out, or give stdout")
        if self.scoring is Scoring.WEIGHTED:
            raise misplaced(("scoring",), "'weighted' needs several tests, and this is one", "leave it out")
        if self.forbid and (self.language != PYTHON or self.files or self.files_base64):
            raise misplaced(("forbid",), "it goes with a single source in Python", "leave it out")
        refuse_limits_of_tests(self)
        return self

    def runs_tests(self) -> bool:
        """It is one test."""
        return False

    def is_timed(self) -> bool:
        """Whether results tell measured times."""
        return self.timed


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
        if isinstance(ready, Refused):
            said = Trace(stderr=ready.message.encode("utf-8", "replace"), usage=ready.usage, kept_bytes=task.kept_bytes)
            return _timed(task, refuse(ready.outcome, ready.message, [Mark(ready.outcome)], said), ready.wall_s, 0.0)
        cases = [Case(task.stdin, task.stdout)]
        judged = run_cases(ready.run, cases, task.limits, parse_comparison(task.compare))
        trace = replace(judged.trace, kept_bytes=task.kept_bytes)
        if judged.refused is not None:
            verdict = refuse(*judged.refused, judged.marks, trace)
        else:
            verdict = conclude(judged.marks, Policy(pass_threshold=task.pass_threshold), trace)
        return _timed(task, verdict, ready.compile_s, judged.used_s)


def _wanted(task: RunTask) -> Wanted:
    files = as_bytes(task.files) | {name: base64.b64decode(text) for name, text in task.files_base64.items()}
    return Wanted(task.language, task.fence, task.limits, files, task.forbid)


def _timed(task: RunTask, verdict: Verdict, compile_s: float, wall_s: float) -> Verdict:
    if not task.timed:
        return verdict
    return verdict.model_copy(update={"terms": {"compile_s": round(compile_s, 6), "wall_s": round(wall_s, 6)}})
