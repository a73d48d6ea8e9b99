"""`assay check`: judges the gold of every task, and completions that must not pass, before anyone trains on it."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any  # Any: documents of tasks, and a line of JSON

from assay.canonical import dump_line
from assay.cli.checks.mutants import mutants
from assay.cli.checks.standings import PASSING, Counts, Fault, Finding, exit_status
from assay.cli.checks.stored import StoredTask, TaskStore
from assay.cli.checks.tests_of_tasks import look_at
from assay.cli.local import Job, Scorer, TaskReader, builtin_registry, in_input_order, open_scorer
from assay.cli.numbers import positive_number, whole_number
from assay.cli.options import (
    Commands,
    add_command,
    add_reading_options,
    add_sandbox_options,
    reading_from,
    settings_from,
)
from assay.cli.progress import Progress
from assay.cli.records.entries import read_task_entries
from assay.cli.remarks import remark
from assay.cli.results.telling import on_a_line
from assay.counting import counted
from assay.outcomes import has_null_reward
from assay.schema import Attempt, BatchOptions, Result, TaskBase
from assay.verifiers.results import Place

_MUTANTS = 3
_ABOUT = """Run the gold of every task, then completions that must not pass. Each task is then split (tests and
completion in two jails), shared (one jail), plain (a verifier without tests in Python), broken (the gold does not
pass), undecided (this side failed) or no_gold. Beside that it may be flaky, empty_passes, mutants_pass,
duplicate_tests or leaked_tests. Exit status 1 if any task is broken or has one of the first three faults, 3 if any
is undecided."""


@dataclass(frozen=True)
class _Probe:
    """A completion of a task, whose finding it adds to, and as what: the gold, an empty one, or a mutant."""

    task: TaskBase
    completion: str
    finding: Finding
    kind: str


def add_parser(commands: Commands) -> None:
    """Add `check` to the command line."""
    parser = add_command(commands, "check", run, _ABOUT)
    parser.add_argument("tasks", type=Path, metavar="TASKS")
    parser.add_argument(
        "--repeat", type=positive_number, default=1, metavar="N", help="judge each gold N times: verdicts must be alike"
    )
    parser.add_argument(
        "--mutants",
        type=whole_number,
        default=_MUTANTS,
        metavar="N",
        help=f"spoil each gold in up to N ways; 0: only golds are run; default: {_MUTANTS}",
    )
    parser.add_argument("--strict", action="store_true", help="duplicate and leaked tests make the status 1 too")
    parser.add_argument("--json", action="store_true", help="print a JSON line for each task, and one with the counts")
    add_reading_options(parser)
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check, print a line for each task, in the order of the file, and a count; return the exit status."""
    settings = settings_from(arguments)
    registry = builtin_registry(settings)
    counts = Counts()
    with closing(TaskStore(TaskReader(registry, settings, None))) as store:
        needs = store.fill(read_task_entries(arguments.tasks, reading_from(arguments), remark))
        progress = Progress(store.golds, sys.stderr)
        with open_scorer(settings, registry, needs) as scorer:
            for window in store.windows():
                for finding in _checked(scorer, window, arguments, progress):
                    counts.add(finding)
                    print(dump_line(_as_json(finding)) if arguments.json else _line(finding))
        progress.finish()
    print(dump_line(_counts_as_json(counts)) if arguments.json else _summary(counts))
    return exit_status(counts.standings, tuple(counts.faults), is_strict=arguments.strict)


def _checked(
    scorer: Scorer, window: Sequence[StoredTask], arguments: argparse.Namespace, progress: Progress
) -> list[Finding]:
    """Judge the golds of some tasks, then what must not pass; return what was found, in the order of the tasks."""
    findings = [Finding(stored.task.id, seen=look_at(stored.document)) for stored in window]
    golds = [
        _Probe(stored.task, stored.task.gold, finding, "gold")
        for stored, finding in zip(window, findings, strict=True)
        if stored.task.gold is not None
    ]
    wrong: list[_Probe] = []
    _judge(scorer, [probe for probe in golds for _ in range(arguments.repeat)])
    if arguments.mutants:
        wrong = [probe for gold in golds for probe in _wrong(gold, arguments.mutants)]
    progress.advance(count=len(golds) - len({id(probe.finding) for probe in wrong}))
    _judge(scorer, wrong, progress)
    return findings


def _judge(scorer: Scorer, probes: Sequence[_Probe], progress: Progress | None = None) -> None:
    """Judge completions, each a group of its own, and add what comes of them to their findings.

    Those of one task follow each other: with the last of them, `progress` counts it as done.
    """
    jobs = [_alone(probe, index) for index, probe in enumerate(probes)]
    for result in in_input_order(scorer.score(jobs, BatchOptions())):
        probe, following = probes[result.index], probes[result.index + 1 : result.index + 2]
        _add(probe, result)
        if progress is not None and not (following and following[0].finding is probe.finding):
            progress.advance()


def _alone(probe: _Probe, index: int) -> Job:
    """Return the job at its place, compared with no other."""
    attempt = Attempt(task_id=probe.task.id, completion=probe.completion, attempt=probe.kind, group=str(index))
    return Job(Place("local", index, probe.kind), probe.task, attempt)


def _add(probe: _Probe, result: Result) -> None:
    match probe.kind:
        case "gold":
            probe.finding.add_gold(result)
        case "mutant":
            probe.finding.add_mutant(result.outcome)
        case _ if not has_null_reward(result.outcome):
            probe.finding.empty = result.outcome


def _wrong(gold: _Probe, most: int) -> Iterator[_Probe]:
    """Yield completions that must not pass, of a task whose gold does."""
    if gold.finding.standing not in PASSING:
        return
    if gold.completion.strip():
        yield replace(gold, completion="", kind="empty")
    for spoilt in mutants(gold.completion, gold.task.verifier, most):
        yield replace(gold, completion=spoilt, kind="mutant")


def _line(finding: Finding) -> str:
    cells = [on_a_line(finding.task), finding.standing, ",".join(finding.faults), on_a_line(finding.message)]
    return "\t".join(cells).rstrip("\t")


def _summary(counts: Counts) -> str:
    parts = [", ".join(f"{name} {count}" for name, count in counts.standings.most_common())]
    if counts.faults:
        parts.append(", ".join(f"{fault} {counts.faults[fault]}" for fault in Fault if counts.faults[fault]))
    if counts.mutants:
        parts.append(f"{counted(counts.mutants.total(), 'mutant')}, {counts.mutants[True]} passed")
    return f"{counted(counts.standings.total(), 'task')}: {'; '.join(parts)}"


def _counts_as_json(counts: Counts) -> Mapping[str, Any]:
    return {
        "tasks": counts.standings.total(),
        "standings": dict(counts.standings),
        "faults": dict(counts.faults),
        "mutants": _mutants_of(counts.mutants),
    }


def _as_json(finding: Finding) -> Mapping[str, Any]:
    return {
        "task_id": finding.task,
        "standing": finding.standing,
        "faults": list(finding.faults),
        "message": finding.message,
        "empty": finding.empty,
        "mutants": _mutants_of(finding.judged_mutants),
        "tests": {
            "duplicate": finding.seen.duplicates, "read": finding.seen.examples, "leaked": finding.seen.leaked
        },
    }  # fmt: skip


def _mutants_of(judged: Counter[bool]) -> Mapping[str, int]:
    return {"judged": judged.total(), "passed": judged[True]}
