"""`assay diff`: which verdicts changed between two runs, and what in their lines explains it."""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any  # Any: a line of JSON

from assay.canonical import dump_line
from assay.cli.exits import Exit
from assay.cli.numbers import nonnegative, whole_number
from assay.cli.options import Commands, add_command
from assay.cli.records.opening import STDIN
from assay.cli.results.changes import Change, Kind, compare
from assay.cli.results.lines import ResultLine, read_result_lines
from assay.cli.results.pairs import Pair, pair_up
from assay.cli.results.telling import number, on_a_line
from assay.counting import counted
from assay.errors import InvalidRequest

_SHOWN = 20
_ABOUT = """Compare two files of results. Attempts are joined by task, content and label, in whatever order they come;
verdicts that changed are listed by what changed of them, each with what its lines hold that may explain it. Exit
status 0 if none changed, 1 if some did."""


@dataclass
class Comparison:
    """What two files come to: changes by kind, and the rewards of attempts that have one in both."""

    changes: dict[Kind, list[Change]] = field(default_factory=lambda: {kind: [] for kind in Kind})
    """The first ones of each kind."""
    counts: Counter[Kind] = field(default_factory=Counter)
    same: int = 0
    both: int = 0
    """Attempts with a reward in both files."""
    old_sum: float = 0.0
    new_sum: float = 0.0

    def add(self, old: ResultLine | None, new: ResultLine | None, change: Change | None, shown: int) -> None:
        """Count a pair; keep its change if fewer than `shown` of its kind are kept."""
        if old is not None and new is not None and old.reward is not None and new.reward is not None:
            self.both += 1
            self.old_sum += old.reward
            self.new_sum += new.reward
        if change is None:
            self.same += 1
            return
        self.counts[change.kind] += 1
        if len(self.changes[change.kind]) < shown:
            self.changes[change.kind].append(change)

    def summary(self) -> dict[str, Any]:
        """Return the figures, as the last line of `--json` has them."""
        means = (self.old_sum / self.both, self.new_sum / self.both) if self.both else (None, None)
        return {
            "attempts": self.same + self.counts.total(),
            "same": self.same,
            "changed": {kind: self.counts[kind] for kind in Kind if self.counts[kind]},
            "mean_reward": {"attempts": self.both, "old": means[0], "new": means[1]},
        }


def add_parser(commands: Commands) -> None:
    """Add `diff` to the command line."""
    parser = add_command(commands, "diff", run, _ABOUT)
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--json", action="store_true", help="a JSON line for each change, and one with the figures")
    parser.add_argument(
        "--tolerance", type=nonnegative, default=0.0, metavar="X", help="rewards and terms this close are equal"
    )
    parser.add_argument(
        "--ignore", action="append", default=[], type=Kind, choices=list(Kind), metavar="KIND",
        help=f"count this kind of change as none; again for each of: {', '.join(Kind)}",
    )  # fmt: skip
    parser.add_argument(
        "--show", type=whole_number, default=_SHOWN, metavar="N", help=f"changes told of each kind; default: {_SHOWN}"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare, print what changed; return the exit status."""
    if arguments.old == arguments.new == STDIN:
        raise InvalidRequest("both files cannot be standard input", path="-", fix="name a file for one")
    comparison = Comparison()
    ignored = frozenset(arguments.ignore)
    for old, new in pair_up(read_result_lines(arguments.old), read_result_lines(arguments.new)):
        change = change_of((old, new), arguments.tolerance)
        change = None if change is not None and change.kind in ignored else change
        comparison.add(old, new, change, 0 if arguments.json else arguments.show)
        if arguments.json and change is not None:
            print(dump_line(as_json(change)))
    print(*([dump_line({"summary": comparison.summary()})] if arguments.json else lines(comparison)), sep="\n")
    return Exit.FOUND_FAULTS if comparison.counts else Exit.OK


def change_of(pair: Pair, tolerance: float) -> Change | None:
    """Return what changed of an attempt, None if nothing did."""
    match pair:
        case ResultLine() as old, ResultLine() as new:
            return compare(old, new, tolerance)
        case ResultLine() as old, None:
            return Change(Kind.GONE, old, None)
        case _, new:
            return Change(Kind.NEW, None, new)


def as_json(change: Change) -> dict[str, Any]:
    """Return a change as a line of `--json`."""
    return {
        "change": change.kind,
        "task_id": change.line.task,
        "attempt": change.line.label,
        "old": _verdict(change.old),
        "new": _verdict(change.new),
        "effects": list(change.effects),
        "causes": list(change.causes),
    }


def lines(comparison: Comparison) -> Iterator[str]:
    """Yield what a person reads."""
    told = comparison.summary()
    changed = told["attempts"] - told["same"]
    yield f"{counted(told['attempts'], 'attempt')}: {changed} changed, {told['same']} as before"
    for kind, changes in comparison.changes.items():
        if not comparison.counts[kind]:
            continue
        yield f"{kind.replace('_', ' ')}: {comparison.counts[kind]}"
        for change in changes:
            yield from _change_lines(change)
        if comparison.counts[kind] > len(changes):
            yield f"  and {comparison.counts[kind] - len(changes)} more (--show, --json)"
    if comparison.both:
        means = told["mean_reward"]
        with_reward = counted(comparison.both, "attempt")
        yield f"mean reward {means['old']:.4f} -> {means['new']:.4f} over {with_reward} with a reward in both"


def _change_lines(change: Change) -> Iterator[str]:
    verdicts = " -> ".join(_short(line) for line in (change.old, change.new) if line is not None)
    yield f"  {on_a_line(change.line.task)} attempt {on_a_line(change.line.label)}: {verdicts}"
    yield from (f"    {effect}" for effect in change.effects)
    yield from (f"    because: {cause}" for cause in change.causes)


def _short(line: ResultLine) -> str:
    return f"{line.outcome} {number(line.reward)}"


def _verdict(line: ResultLine | None) -> dict[str, Any] | None:
    return None if line is None else {"outcome": line.outcome, "reward": line.reward, "message": line.message}
