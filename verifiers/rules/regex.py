"""The verifier `regex`: does the text match the task's regular expressions?"""

from collections.abc import Sequence
from functools import cached_property
from types import ModuleType
from typing import Annotated, Any, Literal, Self  # Any: re2 has no types

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from assay.verifiers.refusals import Place, misplaced
from assay.verifiers.rules.optional import require
from assay.verifiers.rules.rule import RuleTask, Scored, Term

Pattern = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
_TERMS = (Term("matched", 0, 1, "share of the patterns and forbidden patterns that hold"),)
_MOST_STEPS = 10**8  # characters times size of the program: 0.6 s where the engine cannot use its cache


class RegexTask(RuleTask):
    """Patterns that the text must match, and patterns that it must not: reward = the share of them that hold.

    The syntax is RE2's: no look-around and no back references, and in return the time is linear in the text. A text
    whose length times the size of the compiled pattern exceeds 10^8 is not searched: that pattern does not hold.
    A megabyte takes a pattern some milliseconds; one that counts what may begin anywhere, such as `a[ab]{40}c` on a and
    b at random, 0.3 s, and twice that near the bound.
    Needs the package extra `text`; tasks are refused without. Source of the syntax: google/re2, wiki/Syntax.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "date", "verifier": "regex", "patterns": ["\\d{4}-\\d{2}-\\d{2}"]}]}
    )

    verifier: Literal["regex"] = "regex"
    patterns: tuple[Pattern, ...] = Field((), max_length=64)
    """Each of them must match."""
    forbidden: tuple[Pattern, ...] = Field((), max_length=64)
    """None of them may match."""
    where: Literal["anywhere", "whole"] = "anywhere"
    """`anywhere`: a match somewhere in the text; `whole`: the pattern matches the whole text, trimmed."""
    ignore_case: bool = False
    """Whether capitals and small letters are one."""
    dot_all: bool = False
    """Whether `.` matches line breaks too."""
    multi_line: bool = False
    """Whether `^` and `$` match at line breaks too."""

    @model_validator(mode="after")
    def _compile(self) -> Self:
        if not self.patterns and not self.forbidden:
            raise misplaced(
                ("patterns",),
                "patterns and forbidden are both empty: nothing would be judged",
                "give a pattern in one of them",
            )
        self.compiled  # noqa: B018 - refuses what cannot be compiled
        return self

    @cached_property
    def compiled(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The compiled patterns and forbidden patterns. Raises ValidationError at the one refused."""
        re2 = require("re2", "google-re2")
        flags = "".join(flag for flag, on in zip("ism", self._flags, strict=True) if on)
        prefix = f"(?{flags})" if flags else ""
        fields = (("patterns", self.patterns), ("forbidden", self.forbidden))
        return tuple(  # type: ignore[return-value]  # two of them
            tuple(_compiled(re2, prefix, one, (name, number)) for number, one in enumerate(many))
            for name, many in fields
        )

    @property
    def _flags(self) -> tuple[bool, bool, bool]:
        return self.ignore_case, self.dot_all, self.multi_line


class Regex:
    """Matches the patterns."""

    name = "regex"
    version = "1"
    task_model = RegexTask

    def terms(self, task: RegexTask) -> Sequence[Term]:
        """Return matched."""
        del task
        return _TERMS

    def score(self, task: RegexTask, text: str) -> Scored:
        """Return the share of patterns that hold."""
        seen = text.encode("utf-8", "replace").decode("utf-8")  # the engine takes no lone surrogates
        seen = seen.strip() if task.where == "whole" else seen
        wanted, forbidden = task.compiled
        failed = [one.pattern for one in wanted if _found(one, seen, task.where) is not True]
        failed += [one.pattern for one in forbidden if _found(one, seen, task.where) is not False]
        message = f"does not hold: {failed[0][:100]}" if failed else ""
        return Scored({"matched": 1 - len(failed) / (len(wanted) + len(forbidden))}, message=message)


def _compiled(re2: ModuleType, prefix: str, pattern: str, place: Place) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(prefix + pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        why = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        what = f"the pattern {pattern[:100]!r} is refused: {why[:300]}"
        raise misplaced(place, what, "correct the pattern; its syntax is RE2's") from error


def _found(pattern: Any, text: str, where: Literal["anywhere", "whole"]) -> bool | None:
    """Return whether the pattern matches; None if the text is too long for it."""
    if len(text) * pattern.programsize > _MOST_STEPS:
        return None
    return (pattern.fullmatch(text) if where == "whole" else pattern.search(text)) is not None
