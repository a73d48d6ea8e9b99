"""`assay check`: runs the gold of every task before anyone trains on it."""

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from assay.cli.exits import Exit
from assay.cli.inputs import Batch, gold_attempt, read_tasks
from assay.cli.local import Job, Scorer, build_jobs, builtin_registry, in_input_order, open_scorer
from assay.cli.options import Commands, add_command, add_format_option, add_sandbox_options, settings_from
from assay.cli.progress import Progress
from assay.counting import counted
from assay.outcomes import Outcome
from assay.schema import BatchOptions, Result

_ABOUT = """Run the gold of every task. Each task is then split (tests and completion in
two jails), shared (one jail), plain (a verifier without tests in Python), broken (the gold does not pass),
undecided (this side failed) or no_gold. Exit status 1 if any task is broken, 3 if any is undecided."""


class Standing(StrEnum):
    """What a task's gold says about the task."""

    SPLIT = "split"
    """The gold passes with tests and completion in two jails."""
    SHARED = "shared"
    """The gold passes, but only with tests and completion in one jail."""
    PLAIN = "plain"
    """The gold passes; the verifier knows no oracle."""
    BROKEN = "broken"
    """The gold does not pass: the task would give null rewards."""
    UNDECIDED = "undecided"
    """Nothing was learned: this side failed."""
    NO_GOLD = "no_gold"
    """The task has no gold to run."""


def add_parser(commands: Commands) -> None:
    """Add `check` to the command line."""
    parser = add_command(commands, "check", run, _ABOUT)
    parser.add_argument("tasks", type=Path, metavar="TASKS")
    add_format_option(parser)
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run golds and print a line per task and a count; return the exit status."""
    settings = settings_from(arguments)
    tasks = read_tasks(arguments.tasks, arguments.format)
    golds = [gold_attempt(task) for task in tasks]
    counts: Counter[Standing] = Counter()
    batch = Batch(tuple(tasks), tuple(gold for gold in golds if gold), tasks_name=str(arguments.tasks))
    registry = builtin_registry(settings)
    jobs = build_jobs(registry, batch, settings)
    with open_scorer(settings, registry, jobs) as scorer:
        lines = _judge(scorer, jobs)
        for task, gold in zip(tasks, golds, strict=True):
            standing, message = next(lines) if gold is not None else (Standing.NO_GOLD, "")
            counts[standing] += 1
            print(f"{task.get('id')}\t{standing}" + (f"\t{message}" if message else ""), flush=True)
        list(lines)  # nothing is left; this ends the progress bar
    print(f"{counted(counts.total(), 'task')}: " + ", ".join(f"{name} {count}" for name, count in counts.most_common()))
    return exit_status(counts)


def standing_of(result: Result) -> Standing:
    """Say what the result of a task's gold shows about the task."""
    match result.outcome:
        case Outcome.PASSED if result.verifier != "python":
            return Standing.PLAIN
        case Outcome.PASSED:
            return Standing.SHARED if "shared_oracle" in result.flags else Standing.SPLIT
        case Outcome.INFRA_ERROR | Outcome.INCONCLUSIVE | Outcome.CANCELLED:
            return Standing.UNDECIDED
        case _:
            return Standing.BROKEN


def exit_status(counts: Mapping[Standing, int]) -> Exit:
    """Say what a finished check tells its caller."""
    if counts.get(Standing.UNDECIDED):
        return Exit.OUR_FAULT
    return Exit.FOUND_FAULTS if counts.get(Standing.BROKEN) else Exit.OK


def _judge(scorer: Scorer, jobs: Sequence[Job]) -> Iterator[tuple[Standing, str]]:
    """Yield standing and message of each job in the order of `jobs`."""
    progress = Progress(len(jobs), sys.stderr)
    for result in in_input_order(scorer.score(jobs, BatchOptions())):
        standing = standing_of(result)
        progress.advance()
        yield standing, "" if standing is Standing.SPLIT else result.message
    progress.finish()
