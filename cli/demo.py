"""`assay demo`: the whole path on this machine in one command, from HTTP to rewards and advantages."""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.canonical import dump_line
from assay.cli.exits import Exit
from assay.cli.inputs import Batch, read_batch
from assay.cli.options import Commands, add_command, add_sandbox_options, settings_from
from assay.cli.records.entries import Reading
from assay.cli.tally import Tally
from assay.clients.advantages import grpo, rewards_and_groups
from assay.clients.client import Client
from assay.clients.formats import Format
from assay.counting import counted
from assay.errors import InvalidRequest
from assay.schema import Result
from assay.settings import override

_ABOUT = """Show the whole path in one go. Starts the embedded service, scores the worked example and, where
the file is given, HumanEval's own solutions; prints results, rewards and advantages; stops everything."""

WORKED_EXAMPLE = Batch(
    tasks=(
        {
            "id": "code-0017",
            "prompt": "Write is_even(n): return True if n is even, otherwise False.",
            "tests": [
                "is_even(2) == True",
                "is_even(7) == False",
                "is_even(0) == True",
                "is_even(-3) == False",
            ],
        },
    ),
    attempts=(
        {"id": "code-0017", "attempt": "A", "completion": "return n % 2 == 1"},
        {"id": "code-0017", "attempt": "B", "completion": "return n > 0"},
        {"id": "code-0017", "attempt": "C", "completion": "return n % 2 == 0"},
        {"id": "code-0017", "attempt": "D", "completion": "return n < 1"},
    ),
)
"""One task and the four attempts of one group: rewards 0, 0.5, 1, 0.5."""


def add_parser(commands: Commands) -> None:
    """Add `demo` to the command line."""
    parser = add_command(commands, "demo", run, _ABOUT)
    parser.add_argument("--humaneval", type=Path, metavar="FILE", help="HumanEval.jsonl.gz, scored as well")
    parser.add_argument("--humaneval-if-present", type=Path, metavar="FILE", help="the same, skipped where it is not")
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show the whole path; return the exit status."""
    # Here, not at the top: the service's libraries are an extra that the other commands do without.
    from assay.service.serve import embedded

    humaneval = _humaneval(arguments.humaneval, arguments.humaneval_if_present)
    with TemporaryDirectory(prefix="assay-demo-") as folder:
        settings = override(
            settings_from(arguments),
            {"port": 0, "data_dir": Path(folder), "redis_url": None, "log_level": "warning"},
        )
        with embedded(settings) as url, Client(url) as client:
            print(f"service: {url}")
            tally = _show_worked_example(client)
            if humaneval is not None:
                _show_humaneval(client, humaneval, tally)
    print("service: stopped")
    return Exit.OUR_FAULT if tally.our_faults else Exit.OK


def _humaneval(demanded: Path | None, offered: Path | None) -> Path | None:
    """Return the file to score, if any. Raises InvalidRequest if it was demanded and is not there."""
    if demanded is not None:
        if not demanded.is_file():
            raise InvalidRequest("no such file", path=str(demanded), fix="correct --humaneval")
        return demanded
    if offered is not None and not offered.is_file():
        print(f"HumanEval: skipped, no file at {offered} (set HUMANEVAL=PATH)")
        return None
    return offered


def advantage_lines(results: Sequence[Result]) -> list[str]:
    """Return a table of attempts with rewards and advantages, both deviations beside each other."""
    rewards, groups = rewards_and_groups(results)
    sample, population = grpo(rewards, groups), grpo(rewards, groups, ddof=0)
    lines = ["group        attempt  outcome         reward  advantage (sample)  advantage (population)"]
    for result, first, second in zip(results, sample, population, strict=True):
        reward = "null" if result.reward is None else f"{result.reward:.2f}"
        lines.append(
            f"{result.group:<12} {result.attempt:<8} {result.outcome:<15} {reward:>6}  {first:>18.2f}  {second:>22.2f}"
        )
    return lines


def _show_worked_example(client: Client) -> Tally:
    print("\nworked example: one task, four attempts, result lines as they finish")
    accepted = client.submit(WORKED_EXAMPLE.tasks, WORKED_EXAMPLE.attempts)
    tally = Tally()
    results = []
    for result in client.iter_results(accepted.batch_id):
        print(dump_line(result.model_dump(mode="json")))
        tally.add(result)
        results.append(result)
    results.sort(key=lambda result: result.index)
    print("\nrewards per group and their advantages (GRPO)")
    print(*advantage_lines(results), sep="\n")
    return tally


def _show_humaneval(client: Client, path: Path, tally: Tally) -> None:
    print(f"\n{path.name}: every task with its own solution")
    batch = read_batch(path, None, Reading(Format.HUMANEVAL))
    started = time.monotonic()
    own = Tally()
    for result in client.iter_results(client.submit(batch.tasks, batch.attempts).batch_id):
        own.add(result)
        tally.add(result)
    took_s = time.monotonic() - started
    print(*own.lines(), sep="\n")
    print(f"{counted(own.outcomes.total(), 'attempt')} in {took_s:.1f} s: {own.outcomes.total() / took_s:.0f} a second")
