"""`--resume`: which results of an earlier run stand, whatever ended it and in whatever order the input comes now.

A line stands if it judges the content of an attempt of the input, and this side did not fail it. What names content is
`versions.attempt` (see `assay.cli.spool`); labels decide between attempts of one content. Lines of a group with group
terms stand only if all of the group stand. A torn last line is cut off.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO  # Any: lines are unparsed JSON

from pydantic import ValidationError

from assay.canonical import check_plain, dump_line, load
from assay.cli.output import is_stream, replacing, written_table
from assay.cli.results.lines import CONTENT
from assay.cli.spool import Spool
from assay.cli.tally import Tally
from assay.counting import counted
from assay.errors import InvalidRequest, plain
from assay.outcomes import Outcome
from assay.schema import Result
from assay.verifiers.groups import FLAG

_TABLE = """
CREATE TABLE lines (
    no INTEGER PRIMARY KEY, offset INTEGER, length INTEGER, task TEXT, label TEXT, hash TEXT,
    is_failed INTEGER, has_group_terms INTEGER, idx INTEGER
);
CREATE INDEX IF NOT EXISTS by_hash ON attempts (hash);
CREATE INDEX by_label ON attempts (task, label);
"""
UNFINISHED = (Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE, Outcome.CANCELLED)
"""Outcomes with which an attempt is run again: this side, or whoever stopped it, is why it has no reward."""
_WHOLE_GROUPS = """
UPDATE lines SET idx = NULL WHERE idx IS NOT NULL AND has_group_terms AND idx IN (
    SELECT idx FROM attempts WHERE grp IN (SELECT grp FROM attempts WHERE NOT is_done)
)
"""


@dataclass
class Kept:
    """What became of the lines of an earlier run."""

    finished: int = 0
    changed: int = 0
    failed: int = 0
    regrouped: int = 0
    is_torn: bool = False
    last_seq: int = 0

    def lines(self) -> Iterator[str]:
        """Yield what a person should know, a line each."""
        yield f"{counted(self.finished, 'attempt')} finished before, not run again"
        if self.is_torn:
            yield "the last line was torn, and is cut off"
        if self.changed:
            yield f"{counted(self.changed, 'result')} of another task or completion: what has changed is run again"
        if self.failed:
            yield f"{counted(self.failed, 'attempt')} without a reward for what this side did: run again"
        if self.regrouped:
            yield f"{counted(self.regrouped, 'result')} whose reward depends on others of the group: run again"


def take_over(path: Path, spool: Spool, tally: Tally) -> Kept:
    """Mark as done what stands in the output, count it, and leave nothing else in the file.

    Raises InvalidRequest, and changes nothing, where the file holds other things than results of this input.
    """
    kept = Kept()
    if is_stream(path):
        raise InvalidRequest("this is no file to go on with", path=str(path), fix="name a file with -o")
    if not path.exists():
        return kept
    database = spool.database
    database.executescript(_TABLE)
    try:
        with path.open("rb") as file:
            kept.is_torn = _scan(file, path, spool)
            _match(path, spool, kept)
            kept.regrouped = database.execute(_WHOLE_GROUPS).rowcount
            database.execute(
                "UPDATE attempts SET is_done = 0 WHERE idx NOT IN (SELECT idx FROM lines WHERE idx NOT NULL)"
            )
            _keep(file, path, spool, kept, tally)
    except OSError as error:
        raise InvalidRequest(f"cannot be read: {error}", path=str(path), fix="check the path") from error
    return kept


def _scan(file: BinaryIO, path: Path, spool: Spool) -> bool:
    """List the lines; say whether the last one is torn."""
    offset = 0
    for number, line in enumerate(file, 1):
        if not line.endswith(b"\n"):
            return True
        found = _told(line, f"{path}:{number}")
        row = (
            number, offset, len(line), json.dumps(found["task_id"]), json.dumps(found["attempt"]),
            found["versions"].get(CONTENT), found["outcome"] in UNFINISHED, FLAG in found["flags"], None,
        )  # fmt: skip
        spool.database.execute("INSERT INTO lines VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        offset += len(line)
    return False


def _told(line: bytes, path: str) -> Mapping[str, Any]:
    try:
        found = load(line)
        check_plain(found)
        if not isinstance(found, dict) or not isinstance(found["versions"], dict):
            raise TypeError("no object")
        if not isinstance(found["flags"], list) or not str.isascii(found["versions"].get(CONTENT) or ""):
            raise TypeError("fields of other types")
        return {name: found[name] for name in ("task_id", "attempt", "versions", "outcome", "flags")}
    except (InvalidRequest, TypeError, KeyError) as error:
        raise InvalidRequest("this is no result line", path=path, fix="name another output file") from error


def _match(path: Path, spool: Spool, kept: Kept) -> None:
    """Give each line its attempt: by content and label, then by content alone."""
    database = spool.database
    for same_label in (True, False):
        for number, name, label in _unmatched(spool):
            _match_one(spool, number, name, label if same_label else None)
    unmatched = "SELECT no, task, label, hash, is_failed FROM lines WHERE idx IS NULL ORDER BY no"
    for number, task, label, name, is_failed in database.execute(unmatched):
        known = "SELECT 1 FROM attempts WHERE (task = ? AND label = ?) OR hash = ? LIMIT 1"
        if database.execute(known, (task, label, name)).fetchone() is None:
            raise InvalidRequest(
                f"attempt {json.loads(label)!r} of task {json.loads(task)!r} is not in the input",
                path=f"{path}:{number}",
                fix="name the output of this very input, or another one",
            )
        if is_failed:
            kept.failed += 1
        else:
            kept.changed += 1


def _unmatched(spool: Spool) -> Iterator[tuple[int, str, str]]:
    """Yield number, hash and label of lines without an attempt, a few at a time, for they get one meanwhile."""
    query = (
        "SELECT no, hash, label FROM lines WHERE no > ? AND idx IS NULL AND NOT is_failed AND hash IS NOT NULL "
        "ORDER BY no LIMIT 500"
    )
    last = 0
    while rows := spool.database.execute(query, (last,)).fetchall():
        last = rows[-1][0]
        yield from rows


def _match_one(spool: Spool, number: int, name: str, label: str | None) -> None:
    database = spool.database
    same = "AND label = ?" if label is not None else ""
    query = f"SELECT idx FROM attempts WHERE hash = ? AND NOT is_done {same} ORDER BY idx LIMIT 1"
    found = database.execute(query, (name,) if label is None else (name, label)).fetchone()
    if found is not None:
        database.execute("UPDATE attempts SET is_done = 1 WHERE idx = ?", found)
        database.execute("UPDATE lines SET idx = ? WHERE no = ?", (found[0], number))


def _keep(file: BinaryIO, path: Path, spool: Spool, kept: Kept, tally: Tally) -> None:
    """Count the lines that stand; where others are in the file, or some are out of date, write it anew."""
    written_table(spool)
    database = spool.database
    query = (
        "SELECT no, lines.idx, offset, length, attempts.label FROM lines JOIN attempts ON attempts.idx = lines.idx "
        "ORDER BY lines.idx"
    )
    is_whole = not kept.is_torn
    for number, index, offset, length, label in database.execute(query):
        file.seek(offset)
        result = _result(file.read(length), f"{path}:{number}")
        is_whole = is_whole and (result.index, result.attempt) == (index, json.loads(label))
        database.execute("INSERT INTO written VALUES (?, ?, ?)", (index, offset, length))
        tally.add(result.model_copy(update={"index": index}))
        kept.finished += 1
        kept.last_seq = max(kept.last_seq, result.seq)
    if not is_whole or database.execute("SELECT count(*) FROM lines WHERE idx IS NULL").fetchone()[0]:
        _rewrite(file, path, spool, query)


def _result(line: bytes, path: str) -> Result:
    try:
        return Result.model_validate(json.loads(line))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InvalidRequest(
            f"no result of this version of Assay: {plain(first['msg'])}",
            path=".".join((path, *map(str, first["loc"]))),
            fix="name another output file",
        ) from error


def _rewrite(file: BinaryIO, path: Path, spool: Spool, query: str) -> None:
    """Write the lines that stand, with index and label of the input as it is now."""
    end = 0
    with replacing(path) as new:
        for _, index, offset, length, label in spool.database.execute(query):
            file.seek(offset)
            found = json.loads(file.read(length))
            data = f"{dump_line({**found, 'index': index, 'attempt': json.loads(label)})}\n".encode("ascii")
            new.write(data)
            spool.database.execute("UPDATE written SET offset = ?, length = ? WHERE idx = ?", (end, len(data), index))
            end += len(data)
