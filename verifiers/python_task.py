"""The task model of the `python` verifier."""

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self  # Any: arguments and expected values are JSON of any shape

from pydantic import AfterValidator, AliasChoices, ConfigDict, Field, model_validator

from assay.schema import Scoring, TaskBase, Wire
from assay.spelling import shown
from assay.verifiers.comparison import parse_comparison
from assay.verifiers.entry import derive_entry, imported_names
from assay.verifiers.refusals import misplaced


class Style(StrEnum):
    """How the tests of a Python task are written."""

    EXPR = "expr"
    """`tests`: expressions that must be true."""
    ASSERT = "assert"
    """`tests`: statements that must not raise."""
    CHECK = "check"
    """`test_code` defines `check(candidate)`."""
    CALLS = "calls"
    """`cases` of `args`, `kwargs` and `expected`."""
    STDIO = "stdio"
    """`cases` of `stdin` and `stdout`."""
    PYTEST = "pytest"
    """`test_file` imports `module`."""


class OracleMode(StrEnum):
    """Where the tests run."""

    AUTO = "auto"
    """In a process of their own, unless they show that they need to share the completion's."""
    SPLIT = "split"
    """In a process of their own."""
    SHARED = "shared"
    """In the completion's process; the result has the flag `shared_oracle`."""


class FenceRule(StrEnum):
    """Whether a completion must put its code in a fenced block."""

    OPTIONAL = "optional"
    """Bare code is read too."""
    REQUIRED = "required"
    """Without a fenced block there is no answer."""
    NONE = "none"
    """The completion is the program, to the letter: fences and reasoning in it are not looked for."""


_LONGEST_NAME = 240  # bytes: with `.py` or its cache's ending after it, it is still a file's name


def _check_dotted(text: str) -> str:
    if text and not all(part.isidentifier() for part in text.split(".")):
        raise ValueError(f"{shown(text)} is not a dotted name")
    if any(len(part.encode("utf-8", "surrogatepass")) > _LONGEST_NAME for part in text.split(".")):
        raise ValueError(f"no part of a dotted name may have more than {_LONGEST_NAME} bytes: it names a file")
    return text


def _check_compare(text: str) -> str:
    parse_comparison(text)
    return text


ComparisonText = Annotated[str, AfterValidator(_check_compare)]
Dotted = Annotated[str, AfterValidator(_check_dotted)]


def agree_on_weights(scoring: Scoring, weights: Sequence[float], count: int | None, what: str) -> None:
    """Raise ValidationError unless weights go with their scoring, and with so many tests; None: nobody knows yet.

    `what` is one test's name in messages.
    """
    if (scoring is Scoring.WEIGHTED) != bool(weights):
        raise misplaced(("weights",), "weights and scoring 'weighted' go together", "give both or neither")
    if any(not math.isfinite(weight) or weight < 0 for weight in weights):
        raise misplaced(("weights",), "weights are finite numbers at or above 0")
    if weights and sum(weights) <= 0:
        raise misplaced(("weights",), "all weights are 0", f"give a {what} a weight above 0")
    if weights and count is not None and count != len(weights):
        raise misplaced(("weights",), f"{len(weights)} weights for {count} {what}s", "give one for each")


class PythonCase(Wire):
    """One case of a `calls` task (`args`, `kwargs`, `expected`) or of a `stdio` task (`stdin`, `stdout`)."""

    args: list[Any] | None = None
    """Positional arguments of the call."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Named arguments of the call."""
    expected: Any = None
    """What the call must return."""
    stdin: str | None = Field(None, validation_alias=AliasChoices("stdin", "input"))
    """What the program reads."""
    stdout: str | None = Field(None, validation_alias=AliasChoices("stdout", "output"))
    """What the program must write, as `compare` compares it."""

    @property
    def is_stdio(self) -> bool:
        """Whether this is a case for a program rather than for a function."""
        return self.stdin is not None or self.stdout is not None


class PythonTask(TaskBase):
    """A Python function, class or program to write: reward = tests that pass / tests, or as `scoring` says.

    One of `tests`, `test_code`, `cases` and `test_file` holds the tests. They run in a process that the completion
    cannot reach; what crosses and how, and the rules of extraction, are told in docs/python-verifier.md.
    Sources of the styles: HumanEval, arXiv 2107.03374 (`check`); MBPP, arXiv 2108.07732 (asserts); APPS, arXiv
    2105.09938 (stdin and stdout); huggingface/open-r1@1416fa0 rewards.py (`fence: required`).
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "add", "entry_point": "add", "tests": ["add(1, 2) == 3"]}]}
    )

    verifier: Literal["python"] = "python"
    prompt: str = ""
    """Shown to the model. Where it is code, its imports, helpers and classes are run, on the oracle's side too."""
    entry_point: Dotted | None = None
    """The function or class asked for, or `Class.method`; default: derived from the prompt and the tests."""
    signature: str | None = None
    """`name(arguments)`: what a bare function body is put under; default: derived from the prompt."""
    style: Style | None = None
    """Default: told by which of the fields below is given."""
    tests: tuple[str, ...] | None = None
    """Expressions that must be true, or statements that must not raise; one test each."""
    test_code: str | None = None
    """Python source that defines `check(candidate)`; one test."""
    cases: tuple[PythonCase, ...] | None = None
    """Calls with the values they must return, or inputs with the outputs they must lead to; one test each."""
    test_file: str | None = None
    """A pytest file that imports `module`; as many tests as pytest collects."""
    module: Dotted = "solution"
    """The name under which tests import the completion."""
    compare: ComparisonText | None = None
    """Of stdin/stdout cases: exact, trailing_whitespace (default), tokens, lines_unordered or float(TOL)."""
    checker: str | None = None
    """Python source of `check(stdin, expected, output)` for stdin/stdout problems with several right answers."""
    oracle: OracleMode = OracleMode.AUTO
    """Where the tests run."""
    weights: tuple[float, ...] = ()
    """One per test, for `scoring: weighted`."""
    forbid: tuple[Dotted, ...] = ()
    """Modules and names whose use in the completion is a `violation`."""
    fence: FenceRule = FenceRule.OPTIONAL
    """Whether the code must stand in a fenced block."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        given = [name for name in ("tests", "test_code", "cases", "test_file") if getattr(self, name) is not None]
        if len(given) != 1:
            raise misplaced(
                (given[1] if given else "tests",),
                f"there are {' and '.join(given)}" if given else "there is nothing to test by",
                "give exactly one of tests, test_code, cases and test_file",
            )
        allowed = {
            "tests": (Style.EXPR, Style.ASSERT),
            "test_code": (Style.CHECK,),
            "cases": (Style.CALLS, Style.STDIO),
            "test_file": (Style.PYTEST,),
        }[given[0]]
        if self.style is not None and self.style not in allowed:
            raise misplaced(
                ("style",), f"{self.style} does not go with {given[0]}", f"use {' or '.join(allowed)}, or leave it out"
            )
        self._agree_on_cases()
        agree_on_weights(self.scoring, self.weights, self.test_count, "test")
        return self

    def _agree_on_cases(self) -> None:
        kinds = {case.is_stdio for case in self.cases or ()}
        if len(kinds) > 1 or (kinds and self.style and kinds != {self.style is Style.STDIO}):
            raise misplaced(("cases",), "cases have either args and expected, or stdin and stdout, as the style says")
        stdio = self.resolved_style is Style.STDIO
        if self.checker is not None and not stdio:
            raise misplaced(("checker",), "it goes with stdin/stdout cases only", "leave it out")
        if self.compare is not None and not stdio:
            raise misplaced(("compare",), "it goes with stdin/stdout cases only", "leave it out")
        if self.checker is not None and self.compare is not None:
            raise misplaced(("compare",), "the checker compares", "give one of the two")
        if self.resolved_style is Style.CALLS and self.cases and not self.entry:
            raise misplaced(("entry_point",), "neither prompt nor tests name a function", "name it here")

    @property
    def resolved_style(self) -> Style | None:
        """The style, given or told by the fields; None for `tests`, which may be expressions or statements."""
        if self.style is not None:
            return self.style
        if self.test_code is not None:
            return Style.CHECK
        if self.test_file is not None:
            return Style.PYTEST
        if self.cases is not None:
            return Style.CALLS if self.cases and not self.cases[0].is_stdio else Style.STDIO
        return None

    @property
    def test_count(self) -> int | None:
        """How many tests there are; None where only collecting them can tell."""
        if self.tests is not None:
            return len(self.tests)
        if self.cases is not None:
            return len(self.cases)
        return 1 if self.test_code is not None else None

    @property
    def entry(self) -> str:
        """The entry point, given or derived; empty if there is none."""
        if self.entry_point is not None:
            return self.entry_point
        if self.resolved_style in (Style.STDIO, Style.PYTEST):
            return ""
        return derive_entry(self.prompt, self.test_texts, self.signature or "")

    @property
    def test_texts(self) -> Sequence[str]:
        """The tests that are Python source."""
        return self.tests or tuple(filter(None, (self.test_code, self.test_file)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a pytest file imports from the module."""
        return imported_names(self.test_file, self.module) if self.test_file is not None else ()

    @property
    def all_texts(self) -> tuple[str, ...]:
        """Every text of the task that is or may hold Python source."""
        return (self.prompt, *self.test_texts, *filter(None, (self.checker,)))
