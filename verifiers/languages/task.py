"""The task model of the verifier `stdio`."""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, model_validator

from assay.schema import TaskBase, Wire
from assay.spelling import choices, shown
from assay.verifiers.languages.table import LANGUAGES, PYTHON, Language, find_language
from assay.verifiers.python_task import ComparisonText, FenceRule, agree_on_weights
from assay.verifiers.refusals import misplaced

_LONGEST_PATH = 240  # characters


def _check_language(name: str) -> str:
    """Return the name that the table has for a language: it may be written as other services call it."""
    found = find_language(name)
    if found is None:
        raise ValueError(f"unknown language {shown(name)}: {choices(name, LANGUAGES)}")
    return found.name


def _check_path(name: str) -> str:
    path = PurePosixPath(name)
    if not name or len(name) > _LONGEST_PATH or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError(f"{shown(name)} is not a path below the program's folder")
    return str(path)


LanguageName = Annotated[str, AfterValidator(_check_language)]
FilePath = Annotated[str, AfterValidator(_check_path)]


class ProgramCase(Wire):
    """What a program reads, and what it must write."""

    stdin: str = Field("", validation_alias=AliasChoices("stdin", "input"))
    """What the program reads."""
    stdout: str = Field("", validation_alias=AliasChoices("stdout", "output"))
    """What it must write, as `compare` compares it or as the checker sees it."""


class Protocol(StrEnum):
    """How a checker that is a program of its own says what it found."""

    TESTLIB = "testlib"
    """`checker INPUT OUTPUT ANSWER`; exit code 0 accepts, 3 is the task's fault, as is 7 (points,
    which are not read), others refuse. Source: testlib.h, MikeMirzayanov/testlib."""


class CheckerProgram(Wire):
    """A checker in any language, compiled once and run where the completion's code never is."""

    language: LanguageName
    """Of the source."""
    source: str
    """The program."""
    protocol: Protocol = Protocol.TESTLIB
    """How it is called and answers."""
    files: dict[FilePath, str] = Field(default_factory=dict)
    """What lies beside it: `testlib.h`."""


def as_bytes(files: Mapping[str, str]) -> dict[str, bytes]:
    """Return texts as files hold them."""
    return {name: text.encode("utf-8", "surrogatepass") for name, text in files.items()}


class StdioTask(TaskBase):
    """A program in any language, judged by what it writes: reward = cases passed / cases, or as `scoring` says.

    Source of the task's form: APPS, arXiv 2105.09938; CodeContests, arXiv 2203.07814.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"id": "sum", "verifier": "stdio", "language": "cpp", "cases": [{"stdin": "1 2\n", "stdout": "3\n"}]}
            ]
        }
    )

    verifier: Literal["stdio"] = "stdio"
    language: LanguageName = PYTHON
    """Of the completion; which there are is listed by `assay doctor`."""
    cases: tuple[ProgramCase, ...]
    """Inputs with the outputs they must lead to; one test each."""
    files: dict[FilePath, str] = Field(default_factory=dict)
    """Texts that lie beside the program, by their paths."""
    compare: ComparisonText | None = None
    """exact, trailing_whitespace (default), tokens, lines_unordered or float(TOL)."""
    checker: str | CheckerProgram | None = None
    """Python source of `check(stdin, expected, output)`, or a program: where there are several right answers."""
    weights: tuple[float, ...] = ()
    """One per case, for `scoring: weighted`."""
    fence: FenceRule = FenceRule.OPTIONAL
    """Whether the code must stand in a fenced block."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.checker is not None and self.compare is not None:
            raise misplaced(("compare",), "the checker compares", "give one of the two")
        agree_on_weights(self.scoring, self.weights, len(self.cases), "case")
        return self

    @property
    def spoken(self) -> Language:
        """The language, as the table has it."""
        return LANGUAGES[self.language]
