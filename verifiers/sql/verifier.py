"""The verifier `sql`: does the completion's query give the rows that the gold query gives?"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Role, Slot
from assay.schema import Usage, Verdict
from assay.verifiers.rules.rule import Scored, Term, conclude, lowest_terms
from assay.verifiers.sql.asking import Ran
from assay.verifiers.sql.choices import Refused
from assay.verifiers.sql.comparison import TooMuch, are_same, may_be_too_much
from assay.verifiers.sql.differences import difference
from assay.verifiers.sql.extraction import Found, find_query, has_layout
from assay.verifiers.sql.golds import Gold, Golds
from assay.verifiers.sql.lexing import is_blank
from assay.verifiers.sql.results import Table
from assay.verifiers.sql.task import SqlTask

_LENGTH_CHARACTERS = 2048  # SQL-R1: the bonus for length grows up to here
_MOST_LENGTH = 0.5
_SIGNED = (
    Term("format", -1, 1, "1 if the completion has the `layout`, else -1", 0.0),
    Term("execution", -1, 1, "1 if the query gives rows, -1 if not; 0 where nothing is run", 0.1),
    Term("match", -1, 1, "1 if they are the right rows, -1 if not; without rows 0, or -1 (`signed`)", 0.9),
)
_UNSIGNED = (
    Term("format", 0, 1, "1 if the completion has the `layout`", 0.0),
    Term("execution", 0, 1, "1 if the query gives rows, right or wrong", 0.1),
    Term("match", 0, 1, "1 if they are the right rows", 0.9),
)
_LENGTH = Term(
    "length", 0, 1.5, "for the right rows: 0.5 x min(1, characters / 2048), and the query's share of the answer", 0.0
)


@dataclass(frozen=True)
class _Judged:
    """How far a completion got."""

    formed: bool
    executed: bool = False
    matched: bool = False
    length: float = 0.0
    outcome: Outcome | None = None
    message: str = ""
    usage: Usage = field(default_factory=Usage)


class SqlVerifier:
    """Runs queries on copies of databases. Thread-safe: it keeps databases, and what the gold queries gave."""

    name = "sql"
    version = "1"
    task_model = SqlTask

    def __init__(self, databases: Path | None = None) -> None:
        """`databases` is the operator's folder, for tasks that name a file in it."""
        self._golds = Golds(databases)

    def terms(self, task: SqlTask) -> Sequence[Term]:
        """Return the terms: layout, execution, match and the bonus for length."""
        return (*(_SIGNED if task.signed else _UNSIGNED), _LENGTH)

    def judge(self, task: SqlTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        gold = self._golds.find(task, slot)
        judged = self._judge(task, gold, completion, slot)
        answered = judged.outcome is not Outcome.NO_ANSWER
        terms = self.terms(task)
        verdict = conclude(task, terms, Scored(_terms(task, terms, judged), answered, judged.message))
        changed: dict[str, object] = {"usage": judged.usage, "versions": {task.dialect: gold.table.engine}}
        if judged.outcome is not None:
            changed |= {"outcome": judged.outcome, "message": judged.message}
        return verdict.model_copy(update=changed)

    def _judge(self, task: SqlTask, gold: Gold, completion: str, slot: Slot) -> _Judged:
        formed = has_layout(completion, task.places, task.layout)
        found = find_query(completion, task.places)
        if task.format_gate and not formed:
            found = None
        if found is None or is_blank(found.sql):
            return _Judged(formed, outcome=Outcome.NO_ANSWER, message="there is no query where the task looks for it")
        ran = self._golds.run(task, found.sql, Role.CANDIDATE, slot)
        if ran.table is None:
            return _not_run(task, formed, ran)
        matched, message = _compare(gold, ran.table)
        length = _length_of(completion, found) if matched else 0.0
        return _Judged(formed, True, matched, length, message=message, usage=ran.usage)


def _not_run(task: SqlTask, formed: bool, ran: Ran) -> _Judged:
    if ran.outcome is not Outcome.VIOLATION:
        return _Judged(formed, False, outcome=ran.outcome, message=ran.message, usage=ran.usage)
    if task.refused is Refused.MISMATCH:
        return _Judged(formed, True, False, message=ran.message, usage=ran.usage)
    return _Judged(formed, outcome=ran.outcome, message=ran.message, usage=ran.usage)


def _compare(gold: Gold, found: Table) -> tuple[bool, str]:
    """Return whether the rows are right; the message tells how they differ, and nothing of what the gold holds.

    Raises TaskFault where nobody can tell because of the gold's own shape.
    """
    try:
        is_right = are_same(gold.table, found, gold.rules)
    except TooMuch as error:
        if may_be_too_much(gold.table, gold.rules):
            raise TaskFault(f"the gold's own rows are why: {error}") from error
        return False, str(error)
    return is_right, "" if is_right else difference(gold.table, found, gold.rules)


def _terms(task: SqlTask, terms: Sequence[Term], judged: _Judged) -> Mapping[str, float]:
    """Return the raw terms: what gives no rows never earns more than wrong rows do, and what must not be the least."""
    low = -float(task.signed)
    lowest = lowest_terms(terms, task.weights)
    wrong = {"format": 1.0 if task.format_gate or judged.formed else low, "execution": 1.0, "match": low, "length": 0.0}

    def unless_above_wrong(found: Mapping[str, float], otherwise: Mapping[str, float]) -> Mapping[str, float]:
        weights = {term.name: task.weights.get(term.name, term.weight) for term in terms}
        gain = math.fsum(weights[name] * (found[name] - wrong[name]) for name in found)
        return otherwise if gain > 0 else found

    if judged.outcome is Outcome.VIOLATION:
        return lowest
    if judged.outcome is Outcome.NO_ANSWER:
        gated = {"format": low, "execution": 0.0, "match": 0.0, "length": 0.0}
        return unless_above_wrong(gated, lowest) if task.format_gate else lowest
    if not judged.executed:
        not_run = {"format": wrong["format"], "execution": low, "match": 0.0, "length": 0.0}
        return unless_above_wrong(not_run, not_run | {"match": lowest["match"]})
    matched = 1.0 if judged.matched else low
    return wrong | {"match": matched, "length": judged.length}


def _length_of(completion: str, found: Found) -> float:
    share = len(found.sql) / max(1, len(found.within.strip()))
    return _MOST_LENGTH * min(1.0, len(completion) / _LENGTH_CHARACTERS) + min(1.0, share)
