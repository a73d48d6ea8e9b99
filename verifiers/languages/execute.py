"""The verifier `execute`: runs a program that the attempt itself describes, and tells all that became of it."""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, ValidationError

from assay.details import Details
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Step, TaskBase, Verdict, Wire
from assay.verifiers.comparison import Comparison
from assay.verifiers.languages.building import BUILD_LIMITS, Builder
from assay.verifiers.languages.choosing import Ready, Wanted, choose_runner
from assay.verifiers.languages.folders import Reading, over_room, run_and_read
from assay.verifiers.languages.table import PYTHON
from assay.verifiers.languages.task import Argument, FilePath, LanguageName
from assay.verifiers.python_task import FenceRule
from assay.verifiers.refusals import refusal
from assay.verifiers.rules.rule import refuse_limits_of_tests
from assay.verifiers.scoring import Mark, Policy, Trace, refuse
from assay.verifiers.spending import Budget
from assay.verifiers.stdio import Case, Run, Runner, run_cases

_MOST_KEPT = 16_777_216
_MOST_FETCHED = 64


def _check_base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error
    return text


Base64 = Annotated[str, AfterValidator(_check_base64)]


class Program(Wire):
    """What the completion of an attempt describes, as JSON."""

    code: str
    """The source, to the letter."""
    language: LanguageName = PYTHON
    """Its language."""
    stdin: str = ""
    """What it reads."""
    arguments: tuple[Argument, ...] = ()
    """Its command-line arguments."""
    files: dict[FilePath, Base64] = Field(default_factory=dict)
    """Files that lie beside it, by their paths, in base64."""

    fetch: tuple[FilePath, ...] = Field((), max_length=_MOST_FETCHED)
    """Files that are read back once it has ended, by their paths; regular ones alone, no link is followed."""

    def laid(self) -> Mapping[str, bytes]:
        """Return the files as bytes."""
        return {name: base64.b64decode(text) for name, text in self.files.items()}


class ExecuteTask(TaskBase):
    """A program to execute, described by the completion as JSON: code, language, stdin, arguments, files, fetch.

    Reward 1 for exit code 0, else 0; what callers want is the rest of the result: output, exit code and times. The
    terms are wall seconds, `compile_s` and `wall_s`; the steps, `compile` and `run`, are those that were reached. Equal
    work is run again. Source of the rule: the exit status of a process (POSIX.1-2017, 2.8.2).
    """

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "any program", "verifier": "execute"}]})

    verifier: Literal["execute"] = "execute"
    compile_wall_s: float = Field(BUILD_LIMITS.wall_s, gt=0, le=600)
    """Wall-clock seconds of the compiler."""
    fetched_bytes: int = Field(1_000_000, ge=0, le=_MOST_KEPT)
    """How many bytes the files that `fetch` names may have together; a program that leaves more is `output_exceeded`.
    They are in the result's `details`; a file that is not there is left out."""
    kept_bytes: int = Field(1_000_000, ge=0, le=_MOST_KEPT)
    """How much of each output stream results keep; with more, head and tail. With the option `keep_output`."""

    def runs_tests(self) -> bool:
        """It is one test."""
        return False

    def kept_output_bytes(self) -> int:
        """As much as the task says."""
        return self.kept_bytes

    def is_timed(self) -> bool:
        """Results tell measured times."""
        return True

    def model_post_init(self, _context: object) -> None:
        """Refuse limits of tests: there are none."""
        refuse_limits_of_tests(self)


class ExecuteVerifier:
    """Executes what completions describe."""

    name = "execute"
    version = "1"
    task_model = ExecuteTask

    def __init__(self, builder: Builder | None = None) -> None:
        self._builder = builder or Builder()

    def reward_range(self, task: ExecuteTask) -> tuple[float, float]:
        """Return 0 and 1: it failed, and it did not."""
        del task
        return 0.0, 1.0

    def judge(self, task: ExecuteTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises InfraFault and Inconclusive."""
        try:
            program = Program.model_validate(json.loads(completion))
        except (ValueError, RecursionError, ValidationError) as error:
            return refuse(Outcome.NO_ANSWER, _why(error, completion), [Mark(Outcome.NO_ANSWER)], Trace())
        ready = choose_runner(slot, self._builder, program.code, _wanted(task, program))
        files: dict[str, str] = {}
        run = _fetching(slot, ready, task, program.fetch, files)
        judged = run_cases(run, [Case(program.stdin, None)], task.limits, Comparison())
        kept = replace(judged, trace=replace(judged.trace, kept_bytes=task.kept_bytes))
        verdict = kept.verdict(Policy(pass_threshold=task.pass_threshold))
        told = _told(verdict, ready, judged.used_s)
        return told.model_copy(update={"details": Details(files=files)}) if files else told


def _wanted(task: ExecuteTask, program: Program) -> Wanted:
    limits = BUILD_LIMITS.model_copy(update={"wall_s": task.compile_wall_s, "cpu_s": task.compile_wall_s})
    return Wanted(
        program.language,
        FenceRule.NONE,
        task.limits,
        program.laid(),
        build_limits=limits,
        arguments=program.arguments,
        lends_folder=bool(program.fetch),
        brings_files=True,
    )


def _fetching(slot: Slot, ready: Ready, task: ExecuteTask, names: tuple[str, ...], files: dict[str, str]) -> Runner:
    """Return what runs the program, and puts those of the files that it leaves into `files`."""
    if not names or ready.beside is None:
        return ready.run
    launch = ready.beside({})

    def run(stdin: bytes, budget: Budget) -> Run:
        wanted = Reading(names, task.fetched_bytes)
        ran, left = run_and_read(slot, replace(launch, stdin=stdin), budget, wanted)
        files.update({name: base64.b64encode(data).decode() for name, data in left.files.items()})
        return over_room(ready.read(ran), left, task.fetched_bytes)

    return run


def _why(error: Exception, completion: str) -> str:
    if not isinstance(error, ValidationError):
        return f"the completion is no JSON: {error}"
    return f"the completion describes no program: {refusal(error, json.loads(completion), Program)}"


def _steps(ready: Ready, outcome: Outcome) -> tuple[Step, ...]:
    """Return the steps that were reached, the last of which ended so."""
    if ready.is_refused:
        return (_step("compile", outcome),)
    compiled = (_step("compile", Outcome.PASSED),) if ready.is_compiled else ()
    return (*compiled, _step("run", outcome))


def _step(name: str, outcome: Outcome) -> Step:
    return Step(name=name, outcome=outcome, reward=None)


def _told(verdict: Verdict, ready: Ready, wall_s: float) -> Verdict:
    terms = {"compile_s": round(ready.compile_s, 6), "wall_s": round(wall_s, 6)}
    steps = _steps(ready, verdict.outcome)
    return verdict.model_copy(update={"terms": terms, "steps": steps, "versions": ready.versions})
