"""Which line of one file and which of another are results of one attempt, in whatever order they come.

Both files are put into a database on disk, so memory does not grow with them. Attempts are told apart by task, by what
`versions.attempt` says was judged, and by label. The strongest sign counts first: a file whose attempts were sorted
otherwise, and so have other default labels, is joined by content; one whose tasks were mended, by label. Of several
lines that no sign tells apart, equal verdicts are joined first and the rest by place in the input.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any  # Any: a row of the database

from assay.canonical import content_hash
from assay.cli.results.lines import ResultLine
from assay.outcomes import Outcome

_TABLE = """
CREATE TABLE lines (
    no INTEGER PRIMARY KEY, is_new INTEGER, task TEXT, label TEXT, content TEXT, verdict TEXT, place INTEGER, line TEXT,
    mate INTEGER
);
"""
_MOST_PLACES = 2**63
_SIGNS = (
    ("task", "content", "label", "verdict"),
    ("task", "content", "label"),
    ("task", "content", "verdict"),
    ("task", "content"),
    ("task", "label", "verdict"),
    ("task", "label"),
)
_MATCH = """
CREATE TEMP TABLE ranked AS SELECT no, is_new, {names},
    row_number() OVER (PARTITION BY is_new, {names} ORDER BY place, verdict, no) AS turn
    FROM lines WHERE mate IS NULL AND content IS NOT NULL OR mate IS NULL AND {is_by_label};
CREATE INDEX temp.by_sign ON ranked (is_new, {names}, turn);
CREATE TEMP TABLE pairs AS SELECT old.no AS old, new.no AS new FROM ranked AS old JOIN ranked AS new
    USING ({names}, turn) WHERE old.is_new = 0 AND new.is_new = 1;
CREATE INDEX temp.by_old ON pairs (old);
CREATE INDEX temp.by_new ON pairs (new);
UPDATE lines SET mate = (SELECT new FROM pairs WHERE old = lines.no) WHERE no IN (SELECT old FROM pairs);
UPDATE lines SET mate = (SELECT old FROM pairs WHERE new = lines.no) WHERE no IN (SELECT new FROM pairs);
DROP TABLE pairs;
DROP TABLE ranked;
"""
_READ = """
SELECT old.line, new.line FROM lines AS old LEFT JOIN lines AS new ON new.no = old.mate WHERE NOT old.is_new
UNION ALL SELECT NULL, line FROM lines WHERE is_new AND mate IS NULL
"""

Pair = tuple[ResultLine | None, ResultLine | None]
"""An old and a new line of one attempt, None where a file does not have it."""


def pair_up(old: Iterable[ResultLine], new: Iterable[ResultLine]) -> Iterator[Pair]:
    """Yield the pairs: first in the order of the old lines, then what only the new ones hold."""
    with closing(sqlite3.connect("", isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.executescript(_TABLE)
        database.execute("BEGIN")
        database.executemany(
            "INSERT INTO lines (is_new, task, label, content, verdict, place, line) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (_row(line, is_new) for is_new, lines in ((0, old), (1, new)) for line in lines),
        )
        database.execute("COMMIT")
        for signs in _SIGNS:
            database.executescript(_MATCH.format(names=", ".join(signs), is_by_label=int("content" not in signs)))
        for before, after in database.execute(_READ):
            yield _line(before), _line(after)


def _row(line: ResultLine, is_new: int) -> tuple[Any, ...]:
    verdict = content_hash([line.outcome, line.reward, line.passed, line.terms, line.message])
    index = line.fields.get("index")
    place = index if isinstance(index, int) and 0 <= index < _MOST_PLACES else 0
    content = None if line.content is None else json.dumps(line.content)  # it may hold half a surrogate pair
    text = json.dumps([line.task, line.label, line.group, line.outcome, line.reward, line.fields])
    return is_new, json.dumps(line.task), json.dumps(line.label), content, verdict, place, text


def _line(text: str | None) -> ResultLine | None:
    if text is None:
        return None
    task, label, group, outcome, reward, fields = json.loads(text)
    return ResultLine(task, label, group, Outcome(outcome), reward, fields)
