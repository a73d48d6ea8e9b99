"""`assay bench`: how many attempts a second this host judges, beside the same program with no isolation."""

import argparse
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from assay.canonical import dump_line
from assay.cli.demo import WORKED_EXAMPLE
from assay.cli.exits import Exit
from assay.cli.inputs import Batch, read_tasks
from assay.cli.local import Job, Needs, Scorer, build_jobs, builtin_registry, open_scorer
from assay.cli.numbers import positive_number
from assay.cli.options import (
    Commands,
    add_command,
    add_reading_options,
    add_sandbox_options,
    reading_from,
    settings_from,
)
from assay.cli.records.entries import Document, gold_attempt
from assay.counting import counted
from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.schema import BatchOptions

_ATTEMPTS = 200
_ROUNDS = 3
_ABOUT = """Measure how many attempts a second this host judges. Judges the golds of TASKS (default: a small function
in Python with four tests) over and over in the sandbox that `assay score` would use, in rounds. The small function runs
as a plain `python -c PROGRAM` too, by turns, with as many at once and without isolation: the ratio of the two says what
isolation costs here. Exit status 1 if a gold does not pass, 3 if attempts could not be judged."""

_RIGHT = "return n % 2 == 0"


@dataclass(frozen=True)
class Round:
    """What one round came to: attempts and plain programs a second (None where none were run), and outcomes."""

    isolated_per_s: float
    plain_per_s: float | None
    outcomes: Counter[Outcome]


def add_parser(commands: Commands) -> None:
    """Add `bench` to the command line."""
    parser = add_command(commands, "bench", run, _ABOUT)
    parser.add_argument("tasks", type=Path, nargs="?", metavar="TASKS", help="tasks with golds; those without are left")
    parser.add_argument(
        "--attempts", type=positive_number, default=_ATTEMPTS, metavar="N", help=f"a round; default: {_ATTEMPTS}"
    )
    parser.add_argument(
        "--rounds", type=positive_number, default=_ROUNDS, metavar="N", help=f"default: {_ROUNDS}; the median is told"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON line instead")
    add_reading_options(parser)
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Measure, print rates; return the exit status."""
    settings = settings_from(arguments)
    own = arguments.tasks is None
    tasks = [*WORKED_EXAMPLE.tasks] if own else read_tasks(arguments.tasks, reading_from(arguments))
    golds = [{"task_id": str(tasks[0]["id"]), "completion": _RIGHT}] if own else _golds(tasks, arguments.tasks)
    registry = builtin_registry(settings)
    jobs = build_jobs(registry, _batch(tasks, golds, arguments.attempts, str(arguments.tasks)), settings)
    with open_scorer(settings, registry, Needs.of(job.task for job in jobs)) as scorer:
        _judge(scorer, jobs[: scorer.threads])  # whatever is started once is started before the clock
        rounds = [_round(scorer, jobs, plain=own) for _ in range(arguments.rounds)]
        slots = scorer.threads
    print(dump_line(_report(rounds, slots)) if arguments.json else "\n".join(lines(rounds, slots)))
    return exit_status(rounds)


def lines(rounds: Sequence[Round], slots: int) -> list[str]:
    """Return what is printed: outcomes, rates with their ranges, and their ratio."""
    outcomes = _outcomes(rounds)
    told = [
        f"outcomes    {', '.join(f'{outcome} {count}' for outcome, count in sorted(outcomes.items()))}",
        f"isolated    {_rate([one.isolated_per_s for one in rounds])}, {counted(slots, 'slot')}",
    ]
    plain = [one.plain_per_s for one in rounds if one.plain_per_s is not None]
    if plain:
        ratio = statistics.median(one.isolated_per_s for one in rounds) / statistics.median(plain)
        told += [f"unisolated  {_rate(plain)}, python -c PROGRAM, {slots} at once", f"ratio       {ratio:.2f}"]
    return told


def _golds(tasks: Sequence[Document], path: Path) -> list[Document]:
    golds = [gold for gold in map(gold_attempt, tasks) if gold is not None]
    if not golds:
        raise InvalidRequest("no task has a gold to judge", path=str(path), fix="give tasks with `gold`")
    return golds


def _batch(tasks: Sequence[Document], golds: Sequence[Document], count: int, name: str) -> Batch:
    """Return `count` attempts that go round the golds; the tasks have none any more, or each would be judged twice."""
    bare = [{key: value for key, value in task.items() if key not in ("gold", "canonical_solution")} for task in tasks]
    attempts = [{**golds[number % len(golds)], "attempt": str(number)} for number in range(count)]
    return Batch(tuple(bare), tuple(attempts), tasks_name=name)


def _round(scorer: Scorer, jobs: Sequence[Job], *, plain: bool) -> Round:
    started = time.perf_counter()
    outcomes = _judge(scorer, jobs)
    isolated_per_s = len(jobs) / (time.perf_counter() - started)
    return Round(isolated_per_s, _plain_rate(len(jobs), scorer.threads) if plain else None, outcomes)


def _judge(scorer: Scorer, jobs: Sequence[Job]) -> Counter[Outcome]:
    return Counter(result.outcome for result in scorer.score(jobs, BatchOptions(cache=False)))


def _plain_rate(count: int, at_once: int) -> float:
    """Return how many plain processes a second run the worked example's right answer and its tests."""
    asserts = "\n".join(f"assert {test}" for test in WORKED_EXAMPLE.tasks[0]["tests"])
    command = [sys.executable, "-I", "-c", f"def is_even(n):\n    {_RIGHT}\n{asserts}\n"]

    def run_one(_: int) -> None:
        subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True)

    started = time.perf_counter()
    with ThreadPoolExecutor(at_once) as threads:
        for _ in threads.map(run_one, range(count)):
            pass
    return count / (time.perf_counter() - started)


def _outcomes(rounds: Sequence[Round]) -> Counter[Outcome]:
    return sum((one.outcomes for one in rounds), Counter[Outcome]())


def _rate(rates: Sequence[float]) -> str:
    return f"{statistics.median(rates):.0f}/s ({counted(len(rates), 'round')}: {min(rates):.0f} to {max(rates):.0f})"


def _report(rounds: Sequence[Round], slots: int) -> dict[str, object]:
    plain = [one.plain_per_s for one in rounds if one.plain_per_s is not None]
    isolated = [one.isolated_per_s for one in rounds]
    return {
        "slots": slots,
        "isolated_per_s": isolated,
        "unisolated_per_s": plain or None,
        "ratio": statistics.median(isolated) / statistics.median(plain) if plain else None,
        "outcomes": dict(_outcomes(rounds)),
    }


def exit_status(rounds: Sequence[Round]) -> Exit:
    """Return OK where every gold passed, OUR_FAULT where one could not be judged."""
    outcomes = _outcomes(rounds).keys()
    if outcomes & {Outcome.INFRA_ERROR, Outcome.INCONCLUSIVE}:
        return Exit.OUR_FAULT
    return Exit.OK if outcomes <= {Outcome.PASSED} else Exit.FOUND_FAULTS
