"""The verifier `sql`: does the completion's query give the rows that the gold query gives?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.outcomes import Outcome
from assay.sandboxes.interface import Role, Slot
from assay.schema import Usage, Verdict
from assay.verifiers.rules.rule import Scored, Term, conclude
from assay.verifiers.sql.asking import Ran
from assay.verifiers.sql.comparison import TooMuch, are_same
from assay.verifiers.sql.extraction import Found, find_query, has_layout
from assay.verifiers.sql.golds import Golds
from assay.verifiers.sql.lexing import is_blank
from assay.verifiers.sql.results import Table
from assay.verifiers.sql.task import Refused, SqlTask

_LENGTH_CHARACTERS = 2048  # SQL-R1: the bonus for length grows up to here
_MOST_LENGTH = 0.5
_SIGNED = (
    Term("format", -1, 1, "1 if the completion has the `layout`, else -1", 0.0),
    Term("execution", -1, 1, "1 if the query gives rows, -1 if not; 0 where nothing is run", 0.1),
    Term("match", -1, 1, "1 if they are the right rows, -1 if not; 0 where the query gives none", 0.9),
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
    """How far a completion got: each None where it did not get there."""

    formed: bool
    executed: bool | None = None
    matched: bool | None = None
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
        scored = Scored(_terms(task, judged), answered, judged.message)
        verdict = conclude(task, self.terms(task), scored)
        changed: dict[str, object] = {"usage": judged.usage}
        if judged.outcome is not None:
            changed |= {"outcome": judged.outcome, "message": judged.message}
        return verdict.model_copy(update=changed)

    def _judge(self, task: SqlTask, gold: Table, completion: str, slot: Slot) -> _Judged:
        formed = has_layout(completion, task.places, task.layout)
        found = find_query(completion, task.places)
        if task.format_gate and not formed:
            found = None
        if found is None or is_blank(found.sql):
            return _Judged(formed, outcome=Outcome.NO_ANSWER, message="there is no query where the task looks for it")
        ran = self._golds.run(task, found.sql, Role.CANDIDATE, slot)
        if ran.table is None:
            return _not_run(task, formed, ran)
        matched, message = _compare(task, gold, ran.table)
        length = _length_of(completion, found) if matched else 0.0
        return _Judged(formed, True, matched, length, message=message, usage=ran.usage)


def _not_run(task: SqlTask, formed: bool, ran: Ran) -> _Judged:
    if ran.outcome is not Outcome.VIOLATION:
        return _Judged(formed, False, outcome=ran.outcome, message=ran.message, usage=ran.usage)
    if task.refused is Refused.MISMATCH:
        return _Judged(formed, True, False, message=ran.message, usage=ran.usage)
    return _Judged(False, False, outcome=ran.outcome, message=ran.message, usage=ran.usage)  # the lowest reward


def _compare(task: SqlTask, gold: Table, found: Table) -> tuple[bool, str]:
    """Return whether the rows are right; the message tells what was found, and nothing of the gold."""
    try:
        if are_same(gold, found, task.rules):
            return True, ""
    except TooMuch as error:
        return False, str(error)
    return False, f"the query gives other rows: {len(found.rows)} with {len(found.columns)} columns each"


def _terms(task: SqlTask, judged: _Judged) -> Mapping[str, float]:
    def paid(is_met: bool | None) -> float:
        if is_met is None:
            return 0.0
        return 1.0 if is_met else -float(task.signed)

    return {
        "format": paid(judged.formed),
        "execution": paid(judged.executed),
        "match": paid(judged.matched),
        "length": judged.length,
    }


def _length_of(completion: str, found: Found) -> float:
    share = len(found.sql) / max(1, len(found.within.strip()))
    return _MOST_LENGTH * min(1.0, len(completion) / _LENGTH_CHARACTERS) + min(1.0, share)
