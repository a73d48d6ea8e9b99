"""What a service has judged for a run that was killed before it got the results: they are fetched, not judged again."""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from assay.cli.ledger import Handed, Ledger
from assay.cli.remarks import remark
from assay.cli.resuming import UNFINISHED
from assay.cli.spool import Spool, named
from assay.clients.calls import check_index
from assay.clients.client import Client
from assay.counting import counted
from assay.errors import NotFound
from assay.schema import Result
from assay.verifiers.groups import FLAG

SILENT_S = 5.0
"""What is waited for longer is told."""
_INDEX = "CREATE INDEX IF NOT EXISTS by_hash ON attempts (hash)"
_FIND = "SELECT idx, label FROM attempts WHERE hash = ? AND NOT is_done ORDER BY label != ?, idx LIMIT 1"
_MARK = "UPDATE attempts SET is_done = ? WHERE idx = ?"


def undelivered(client: Client, spool: Spool, ledger: Ledger) -> Iterator[Result]:
    """Yield results of an earlier run's batches for attempts of the spool that are left, and mark those as done.

    A batch that still runs is waited for; one that the service no longer knows is left to be judged again. Results
    that this side failed, and groups with group terms of which one is missing, are not taken.
    """
    fetched = 0
    spool.database.execute(_INDEX)
    for handed in ledger.handed():
        if any(_find(spool, name, label) for name, label in handed.attempts):
            try:
                with _telling(handed.batch_id):
                    results = list(client.iter_results(handed.batch_id, on_waiting=_tell))
            except NotFound:
                results = []
            for result in _taken(spool, handed, results):
                fetched += 1
                yield result
    if fetched:
        remark(f"{counted(fetched, 'attempt')} judged before and not delivered: fetched, not run again")


@contextmanager
def _telling(batch_id: str) -> Iterator[None]:
    """Say what is waited for once that has taken a while."""
    text = f"waiting: for batch {batch_id} of an earlier run, whose results are fetched and not judged again"
    timer = threading.Timer(SILENT_S, remark, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _tell(text: str) -> None:
    remark(f"waiting: {text}")


def _taken(spool: Spool, handed: Handed, results: Sequence[Result]) -> Iterator[Result]:
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.group, []).append(result)
    for name, group in groups.items():
        placed = [one for one in (_placed(spool, handed, result) for result in group) if one is not None]
        if any(FLAG in result.flags for result in group) and spool.left(name):
            for result in placed:
                spool.database.execute(_MARK, (False, result.index))
            continue
        yield from placed


def _placed(spool: Spool, handed: Handed, result: Result) -> Result | None:
    """Return a result with index and label of the attempt that it is of, which is done; None if none is left."""
    name, label = handed.attempts[check_index(result, len(handed.attempts))]
    found = _find(spool, name, label) if result.outcome not in UNFINISHED else None
    if found is None:
        return None
    index, own_label = found
    spool.database.execute(_MARK, (True, index))
    return named(result, name, index=index, attempt=json.loads(own_label))


def _find(spool: Spool, name: str, label: str) -> tuple[int, str] | None:
    """Return index and label, as the spool keeps it, of an attempt that is left, best one of the same label."""
    row: tuple[int, str] | None = spool.database.execute(_FIND, (name, json.dumps(label))).fetchone()
    return row
