"""The task model of the verifier `stdio`."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, model_validator

from assay.schema import TaskBase, Wire
from assay.spelling import choices, shown
from assay.verifiers.languages.table import LANGUAGES, PYTHON, find_language
from assay.verifiers.python_task import ComparisonText, FenceRule, agree_on_weights
from assay.verifiers.refusals import misplaced

_LONGEST_PATH = 240  # characters
_LONGEST_NAME = 255  # bytes of one between two slashes: no file system takes more


def _check_language(name: str) -> str:
    """Return the name that the table has for a language: it may be written as other services call it."""
    found = find_language(name)
    if found is None:
        raise ValueError(f"unknown language {shown(name)}: {choices(name, LANGUAGES)}")
    return found.name


def _check_path(name: str) -> str:
    path = PurePosixPath(name)
    if not path.parts or len(name) > _LONGEST_PATH or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise ValueError(f"{shown(name)} is not a path below the program's folder")
    _check_argument(name)
    if any(len(part.encode()) > _LONGEST_NAME for part in path.parts):
        raise ValueError(f"{shown(name)} has a part of more than {_LONGEST_NAME} bytes")
    return str(path)


def _check_argument(text: str) -> str:
    """Return a text that can be handed to the system: an argument, or a path."""
    if "\0" in text or any("\ud800" <= one <= "\udfff" for one in text):
        raise ValueError(f"{shown(text)} holds NUL or half a character")
    return text


def _folder_among(names: Iterable[str]) -> str | None:
    """Return the name of a file that would have to be a folder too, for another to lie in it; None if none has."""
    files = dict.fromkeys(names)
    folders = {str(folder) for name in files for folder in PurePosixPath(name).parents}
    return next((name for name in files if name in folders), None)


def _check_files(files: dict[str, str]) -> dict[str, str]:
    """Return texts that can lie beside each other."""
    folder = _folder_among(files)
    if folder is not None:
        raise ValueError(f"{shown(folder)} is both a file and the folder of another")
    return files


LanguageName = Annotated[str, AfterValidator(_check_language)]
FilePath = Annotated[str, AfterValidator(_check_path)]
Argument = Annotated[str, AfterValidator(_check_argument)]
Files = Annotated[dict[FilePath, str], AfterValidator(_check_files)]


INPUT, OUTPUT, ANSWER = "input.txt", "output.txt", "answer.txt"
"""The files that programs of the task's find beside them."""


def refuse_taken(language: str, named: Iterable[tuple[tuple[str, ...], str]]) -> None:
    """Raise ValidationError for a file of the task's in the place of one of the program's own, by its field.

    `named` holds fields and names. One of `files` may tell what kind of program a source is.
    """
    settled_in = LANGUAGES[language].settled_in
    own = {*LANGUAGES[language].own_files, settled_in}
    for place, name in named:
        may_settle = "files" in place and name == settled_in
        if not may_settle and not own.isdisjoint((name, *map(str, PurePosixPath(name).parents))):
            raise misplaced(place, f"{shown(name)} is the program's own in {language}", "call it something else")


def _refuse_beside(field: str, program: "CheckerProgram") -> None:
    """Raise ValidationError for a file of a program of the task's in the place of its source, or of what it is given.

    `field` is the program's.
    """
    refuse_taken(program.language, [((field, *place), name) for place, name in named_files(program.files)])
    given = {INPUT, OUTPUT, ANSWER}
    for name in program.files:
        if not given.isdisjoint((name, *map(str, PurePosixPath(name).parents))):
            what = f"{shown(name)} is what the {field} is given"
            raise misplaced((field, "files", name), what, "call it something else")


def named_files(files: Iterable[str]) -> list[tuple[tuple[str, ...], str]]:
    """Return the names of `files` with their fields."""
    return [(("files", name), name) for name in files]


class ProgramCase(Wire):
    """What a program reads, and what it must write."""

    stdin: str = Field("", validation_alias=AliasChoices("stdin", "input"))
    """What the program reads."""
    stdout: str = Field("", validation_alias=AliasChoices("stdout", "output"))
    """What it must write, as `compare` compares it or as the checker sees it."""


class Protocol(StrEnum):
    """How a checker that is a program of its own says what it found."""

    TESTLIB = "testlib"
    """`checker INPUT OUTPUT ANSWER`; exit code 0 accepts, 1, 2, 4 and 8 refuse, 3 is the task's fault. With 7 it prints
    `points N`, of `full_points`; what prints `partially correct (N)` gives N percent. Source: testlib.h,
    MikeMirzayanov/testlib."""
    SCORE = "score"
    """`checker INPUT ANSWER OUTPUT`; it ends with exit code 0 and prints a number alone, 0 to `full_points`; all else
    refuses. Source: the checkers of the data set open-r1/codeforces."""


class CheckerProgram(Wire):
    """A checker in any language, compiled once and run where the completion's code never is."""

    language: LanguageName
    """Of the source."""
    source: str
    """The program."""
    protocol: Protocol = Protocol.TESTLIB
    """How it is called and answers."""
    full_points: float = Field(1.0, gt=0, le=1e9, allow_inf_nan=False)
    """The points that are full marks, where it gives points."""
    files: Files = Field(default_factory=dict)
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
    prompt: str = ""
    """What the model was asked; it does not take part in judging. `assay check` looks in it for the tests."""
    language: LanguageName = PYTHON
    """Of the completion; which there are is listed by `assay doctor`."""
    cases: tuple[ProgramCase, ...]
    """Inputs with the outputs they must lead to; one test each."""
    files: Files = Field(default_factory=dict)
    """Texts that lie beside the program, by their paths."""
    link: tuple[FilePath, ...] = ()
    """Names of those files that are compiled with the program, in C and C++: a grader with the main function."""
    input_file: FilePath | None = None
    """The file in which the program finds what it reads; default: standard input. With `output_file` alone."""
    output_file: FilePath | None = None
    """The file to which it must write; default: standard output. Links are not followed, and none is no output."""
    compare: ComparisonText | None = None
    """exact, trailing_whitespace (default), tokens, lines_unordered or float(TOL)."""
    checker: str | CheckerProgram | None = None
    """Python source of `check(stdin, expected, output)`, or a program: where there are several right answers."""
    interactor: CheckerProgram | None = None
    """A program that talks with the completion's: each reads what the other writes. Called and read as testlib's
    checkers are, but for the output that it may write; a case's `stdin` and `stdout` are its input and its answer."""
    weights: tuple[float, ...] = ()
    """One per case, for `scoring: weighted`."""
    fence: FenceRule = FenceRule.OPTIONAL
    """Whether the code must stand in a fenced block."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.checker is not None and self.compare is not None:
            raise misplaced(("compare",), "the checker compares", "give one of the two")
        self._agree_on_files()
        for field, program in (("checker", self.checker), ("interactor", self.interactor)):
            if isinstance(program, CheckerProgram):
                _refuse_beside(field, program)
        if self.interactor is not None:
            self._agree_on_interactor(self.interactor)
        agree_on_weights(self.scoring, self.weights, len(self.cases), "case")
        return self

    def _agree_on_files(self) -> None:
        if (self.input_file is None) is not (self.output_file is None):
            lacking = "output_file" if self.output_file is None else "input_file"
            raise misplaced((lacking,), "input and output are both files, or none is", "give both, or none")
        if self.input_file is not None and self.interactor is not None:
            raise misplaced(("input_file",), "an interactor talks over standard streams", "leave it out")
        if self.link and not LANGUAGES[self.language].links:
            raise misplaced(("link",), f"{self.language} has no sources beside the program", "leave it out")
        unknown = [name for name in self.link if name not in self.files]
        if unknown:
            raise misplaced(("link",), f"{shown(unknown[0])} is none of the files", "name files of the task")
        self._agree_on_names()

    def _agree_on_names(self) -> None:
        """Refuse files that would lie in each other's places, or in the program's."""
        streams = {"input_file": self.input_file, "output_file": self.output_file}
        given = [((field,), name) for field, name in streams.items() if name is not None]
        refuse_taken(self.language, [*named_files(self.files), *given])
        if self.output_file is not None and self.output_file in (self.input_file, *self.files):
            raise misplaced(("output_file",), "it would be there before the program runs", "call it something else")
        folder = _folder_among([*self.files, *(name for _, name in given)])
        if folder is not None:
            raise misplaced(given[-1][0], f"{shown(folder)} is both a file and a folder", "call it something else")

    def _agree_on_interactor(self, interactor: CheckerProgram) -> None:
        for name in ("compare", "checker"):
            if getattr(self, name) is not None:
                raise misplaced((name,), "the interactor decides", "give one of the two")
        if interactor.protocol is not Protocol.TESTLIB:
            raise misplaced(("interactor", "protocol"), "what an interactor prints goes to the program", "leave it out")
        if "output_bytes" in self.limits.model_fields_set:
            raise misplaced(("limits", "output_bytes"), "what goes to an interactor is not counted", "leave it out")
