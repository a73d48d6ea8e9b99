"""Runs conformity files: lines side by side, failures reported in file order."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from assay.cli.conformity.families import check_family
from assay.cli.conformity.hacks import check_hack
from assay.cli.conformity.honest import check_honest
from assay.cli.conformity.judging import Judge
from assay.cli.conformity.lines import FamilyLine, HackLine, HonestLine, Line, read_line
from assay.cli.inputs import read_objects
from assay.cli.records.entries import Document
from assay.errors import InvalidRequest


@dataclass(frozen=True)
class Entry:
    """One line of a file: typed, or with the reason why it cannot be."""

    id: str
    line: Line | None
    fault: str = ""


@dataclass(frozen=True)
class CaseReport:
    """What one line came to; no problems means that it passed."""

    id: str
    problems: Sequence[str]


def read_entries(paths: Sequence[Path]) -> list[Entry]:
    """Read all lines of all files. Raises InvalidRequest if a file cannot be read at all."""
    return [
        _entry(document, f"{path.name}:{number}")
        for path in paths
        for number, document in enumerate(read_objects(path), 1)
    ]


def run_entries(entries: Sequence[Entry], judge: Judge) -> Iterator[CaseReport]:
    """Check lines side by side and yield their reports in order."""
    with ThreadPoolExecutor(judge.threads) as threads:
        futures: list[Future[CaseReport]] = [threads.submit(_run, entry, judge) for entry in entries]
        try:
            for future in futures:
                yield future.result()
        finally:
            threads.shutdown(wait=True, cancel_futures=True)


def check_line(line: Line, judge: Judge) -> list[str]:
    """Return what deviates in one line."""
    match line:
        case HonestLine():
            return check_honest(line, judge)
        case HackLine():
            return check_hack(line, judge)
        case FamilyLine():
            return check_family(line, judge)
        case _:
            assert_never(line)


def _entry(document: Document, path: str) -> Entry:
    try:
        line = read_line(document, path=path)
    except InvalidRequest as error:
        return Entry(path, None, f"{error.path}: {error.detail}")
    return Entry(line.id, line)


def _run(entry: Entry, judge: Judge) -> CaseReport:
    if entry.line is None:
        return CaseReport(entry.id, [entry.fault])
    try:
        return CaseReport(entry.id, check_line(entry.line, judge))
    except (KeyError, TypeError, ValueError) as error:  # a family's task and expectation are untyped JSON
        return CaseReport(entry.id, [f"the line cannot be read: {type(error).__name__}: {error}"])
