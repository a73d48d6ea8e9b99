"""The verifier `plan`: can a plan for several workers be run, and did the chain that it made answer right?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal  # Any: a literal may be any plain value

from pydantic import ConfigDict, Field

from assay.errors import TaskFault
from assay.verifiers.extraction import without_reasoning
from assay.verifiers.rules.literal import MOST_CHARACTERS, read_literal
from assay.verifiers.rules.rule import Profile, RuleTask, Scored, Term

_LISTS = ("model_id", "subtasks", "access_list")
_ASSIGNED = re.compile(r"[\"']?[ \t]{0,100}[=:][ \t]{0,100}(?=\[)")
_BEHIND = re.compile(r"""
    [^\S\n]*                             # on the same line:
    (?: \n | \Z                           # nothing,
      | [#;})`] | </ | //                 # a comment, another statement, or the end of what the list stands in,
      | , \s* (?: [#})`] | [\w"']+ [ ]? [=:] | \Z ) | ,[^\S\n]*\n   # a comma that ends the line or leads to a name,
      | \. (?: \s | \Z )                 # the end of a sentence,
      | \*\*? [^\S\n]* (?: \n | \Z )      # or of what is emphasised
    )""", re.VERBOSE)  # fmt: skip
_MARKS = re.compile(r"[\[\]\"'\\\n]")
TERMS = (
    Term("parsed", 0, 1, "1 if the three lists are there and make a plan", weight=0.5),
    Term("correct", 0, 1, "1 if, besides, the chain's final answer is right", weight=0.5),
)


class PlanFields(RuleTask):
    """Fields of every task that is answered with a plan."""

    id_base: Literal[0, 1] = 0
    """The number of the first worker."""
    step_base: Literal[0, 1] | None = None
    """The number of the first step in access lists; default: as `id_base`."""
    checks: Literal["runnable", "parse"] = "runnable"
    """`runnable`: there is a step, every worker exists, no subtask is blank, only earlier steps are seen; `parse`: the
    lists are literals of equal length."""

    @property
    def first_step(self) -> int:
        """The number of the first step in access lists."""
        return self.id_base if self.step_base is None else self.step_base


class PlanTask(PlanFields):
    """A plan as three lists: reward = 1 if it can be run and its chain answered right, 0.5 if wrong, else 0.

    The text assigns `model_id = [...]`, `subtasks = [...]` and `access_list = [...]`, anywhere, as JSON or Python
    literals, with `:` in place of `=` or quotes around a name too, so that one JSON object of the three is a plan.
    Outside of <think> the last assignment of each counts, nothing is run. Where more follows a list on its
    line than ends it, as in `[0] * 9`, it is no literal. They are equally long: for each step the number of a worker,
    what it is told, and which earlier steps it sees: a list of their numbers, or `"all"`.
    The chain has been run elsewhere; `chain_correct` is its verdict.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"id": "chain", "verifier": "plan", "pool_size": 3, "chain_correct": True}]}
    )
    PROFILES: ClassVar = (
        Profile(
            "conductor/hardened", {}, "arXiv 2512.04388 §3.1, app. E",
            "the defaults: an empty plan, an unknown worker, a blank subtask and a look at later steps are worth 0",
        ),
        Profile(
            "conductor/paper", {"checks": "parse"}, "arXiv 2512.04388 §3.1",
            "to the letter: any three literal lists of equal length earn 0.5, empty ones too",
        ),
    )  # fmt: skip

    verifier: Literal["plan"] = "plan"
    pool_size: int = Field(ge=1)
    """Number of workers to choose from."""
    chain_correct: bool | None
    """Whether the final answer of the chain was right; null, if the chain could not be run: such an attempt is
    unscorable, unless the plan cannot be run either."""


@dataclass(frozen=True)
class Lists:
    """The three lists, equally long, of whatever values the text gives."""

    models: list[Any]
    subtasks: list[Any]
    access: list[Any]


class Unplanned(Exception):
    """The text holds no plan; `found` says whether it holds any of the lists."""

    def __init__(self, reason: str, *, found: bool = True) -> None:
        super().__init__(reason)
        self.found = found


class Plan:
    """Reads the plan and looks up the verdict of its chain."""

    name = "plan"
    version = "1"
    task_model = PlanTask

    def terms(self, task: PlanTask) -> Sequence[Term]:
        """Return parsed and correct."""
        del task
        return TERMS

    def score(self, task: PlanTask, text: str) -> Scored:
        """Return both terms. Raises TaskFault where a plan stands but its chain's verdict is missing."""
        try:
            lists = read_lists(text)
            if task.checks == "runnable":
                check_runnable(lists, task, task.pool_size)
        except Unplanned as error:
            return Scored({"parsed": 0.0, "correct": 0.0}, answered=error.found, message=str(error))
        if task.chain_correct is None:
            raise TaskFault("chain_correct is null: run the chain of this plan, and give its verdict")
        return Scored({"parsed": 1.0, "correct": float(task.chain_correct)}, message="the chain's answer is wrong")


def read_lists(text: str) -> Lists:
    """Return the plan that a text writes outside of its reasoning.

    Raises Unplanned unless three literal lists of equal length are there.
    """
    models, subtasks, access = _values(without_reasoning(text))
    if not all(isinstance(value, list) for value in (models, subtasks, access)):
        raise Unplanned("model_id, subtasks and access_list must be lists")
    if not len(models) == len(subtasks) == len(access):
        raise Unplanned(f"{len(models)} workers, {len(subtasks)} subtasks, {len(access)} access lists")
    return Lists(models, subtasks, access)


def check_runnable(lists: Lists, fields: PlanFields, pool_size: int) -> None:
    """Raise Unplanned unless there is a step, and each has a worker of the pool, a subtask, and sees earlier ones."""
    if not lists.models:
        raise Unplanned("the plan has no step")
    first = fields.first_step
    steps = zip(lists.models, lists.subtasks, lists.access, strict=True)
    for step, (model, subtask, seen) in enumerate(steps):
        if not _is_among(model, fields.id_base, fields.id_base + pool_size):
            raise Unplanned(f"step {step}: there is no such worker")
        if not isinstance(subtask, str) or not subtask.strip():
            raise Unplanned(f"step {step}: the subtask is no text")
        if seen != "all" and not _sees_earlier(seen, first, first + step):
            raise Unplanned(f"step {step}: access is neither 'all' nor a list of earlier steps")


def _values(text: str) -> list[Any]:
    sources = [_last_list(text, name) for name in _LISTS]
    if None in sources:
        missing = [name for name, source in zip(_LISTS, sources, strict=True) if source is None]
        raise Unplanned(f"no list {', '.join(missing)}", found=len(missing) < len(_LISTS))
    values = []
    for name, source in zip(_LISTS, sources, strict=True):
        try:
            values.append(read_literal(source or ""))
        except ValueError as error:
            raise Unplanned(f"{name} is no literal list: {error}") from error
    return values


def _last_list(text: str, name: str) -> str | None:
    """Return the source of the list that is last assigned to the name, brackets in strings minded; None without one."""
    end = len(text)
    while (at := text.rfind(name, 0, end)) >= 0:
        if assigned := _ASSIGNED.match(text, at + len(name)):
            return _bracketed(text, assigned.end())
        end = at
    return None


def _bracketed(text: str, start: int) -> str:
    """Return the text from the opening bracket to the one that closes it, or as far as a literal may reach.

    If the expression goes on behind it (`[0] * 9`), the rest of the line belongs to it, and so it is no literal.
    """
    depth = 0
    quote = ""
    skip = -1
    for mark in _MARKS.finditer(text, start, start + MOST_CHARACTERS):
        sign, at = mark.group(), mark.start()
        if at == skip:
            continue
        if sign == "\\":
            skip = at + 1
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "[]":
            depth += 1 if sign == "[" else -1
            if depth == 0:
                return text[start : at + 1] if _BEHIND.match(text, at + 1) else _line(text, start, at + 1)
    return text[start : start + MOST_CHARACTERS]


def _line(text: str, start: int, end: int) -> str:
    """Return the text from `start` to the end of the line that `end` is in, or as far as a literal may reach."""
    most = start + MOST_CHARACTERS
    stop = text.find("\n", end, most)
    return text[start : stop if stop >= 0 else most]


def _sees_earlier(seen: Any, first: int, end: int) -> bool:
    return isinstance(seen, list) and all(_is_among(step, first, end) for step in seen)


def _is_among(number: Any, first: int, end: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and first <= number < end
