"""Measures how fast answers are judged that must be run, kind by kind: what their libraries import is paid once.

1. `assay score` over files, on all cores: attempts a second once it has started
2. one HTTP batch of the same attempts through a service: from sending it to its last result, caching off

.venv/bin/python benchmarks/executed.py [--attempts 400] [--rounds 3] [--kinds lp sql_sqlite …] [--json FILE]
"""

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from executed_pairs import small_programmes
from executed_sql import queries
from executed_worlds import laps, models, walks, words
from rule_pairs import Pairs
from rules import CORES, asked, http_figures, measure_local
from running_service import running_service

from assay.clients.client import Client


@dataclass(frozen=True)
class Kind:
    """Attempts of one kind, and the rate that they are to have on two cores; None: it is only reported."""

    name: str
    make: Callable[[int], Pairs]
    per_s: int | None


KINDS = (
    Kind("lp", small_programmes, 40),
    Kind("sql_sqlite", partial(queries, "sqlite"), 150),
    Kind("sql_duckdb", partial(queries, "duckdb"), 150),
    Kind("optimum", models, None),
    Kind("simulator", laps, None),
    Kind("environment", walks, None),
    Kind("program", words, None),
)
"""Every kind; one more is one line here."""


def main() -> None:
    """Measure and print every kind asked for."""
    arguments = _arguments()
    kinds = [kind for kind in KINDS if kind.name in arguments.kinds]
    figures: dict[str, float] = {}
    for kind in kinds:
        figures[f"{kind.name}_local_per_s"] = local_rate(kind, arguments.attempts, arguments.rounds)
    with running_service() as service, Client(service.url) as client:
        for kind in kinds:
            figures |= http_figures(service, client, kind.make(arguments.attempts), kind.per_s, arguments.rounds)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def local_rate(kind: Kind, attempts: int, rounds: int) -> float:
    """Measure `assay score`; print a line and return attempts a second. The CPU of jails is told by HTTP alone."""
    pairs = kind.make(attempts)
    with TemporaryDirectory(prefix="assay-bench-") as name:
        measured = [measure_local(Path(name), pairs, CORES, attempts // 4) for _ in range(rounds)]
    rate = statistics.median(one.per_s for one, _ in measured)
    start_s = statistics.median(few_s for _, few_s in measured)
    print(
        f"{kind.name}: assay score {rate:,.0f}/s{asked(kind.per_s, ' on 2 cores')}; {attempts} attempts, of which "
        f"{attempts // 4} and the start take {start_s:.1f} s",
        flush=True,
    )
    return rate


def _arguments() -> argparse.Namespace:
    names = [kind.name for kind in KINDS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=400, help="attempts of each kind, either way")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kinds", nargs="+", choices=names, default=names)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
