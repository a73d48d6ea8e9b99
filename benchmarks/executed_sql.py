"""Measures how fast queries are judged: each in a jailed process of its own, on its own copy of a database.

1. `assay score` over files: attempts a second once it has started, for SQLite and for DuckDB
2. one HTTP batch of the same attempts through a service; caching off

.venv/bin/python benchmarks/executed_sql.py [--attempts 1500] [--rounds 3] [--json FILE]
"""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from rule_pairs import Pairs
from rules import CORES, http_figures, local_figures
from running_service import running_service

from assay.clients.client import Client

SQL_PER_S = 150
_TASKS = 50
_ROWS = 200
_SCHEMA = (
    "CREATE TABLE crew(id INTEGER PRIMARY KEY, name VARCHAR, ship INTEGER, pay DOUBLE);"
    "CREATE TABLE ship(id INTEGER PRIMARY KEY, name VARCHAR, port VARCHAR);"
)
_PORTS = ("Oslo", "Kiel", "Riga")


def main() -> None:
    """Measure and print everything."""
    arguments = _arguments()
    figures: dict[str, float] = {}
    pairs = [queries(dialect, arguments.attempts) for dialect in ("sqlite", "duckdb")]
    for one in pairs:
        figures |= local_figures(one, CORES, SQL_PER_S, arguments.rounds)
    with running_service() as service, Client(service.url) as client:
        for one in pairs:
            figures |= http_figures(service, client, one, SQL_PER_S, arguments.rounds)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def queries(dialect: str, count: int) -> Pairs:
    """Return tasks on one database of 220 rows, and attempts at them: right, wrong and refused ones."""
    tasks = [_task(dialect, number) for number in range(_TASKS)]
    attempts = [
        {"task_id": tasks[number % _TASKS]["id"], "completion": _completion(number % _TASKS, number // _TASKS % 4)}
        for number in range(count)
    ]
    return Pairs(f"sql_{dialect}", tasks, attempts)


def _task(dialect: str, number: int) -> Mapping[str, object]:
    crew = [[n, f"name {n}", n % 20, 10.0 + n * 7 % 90] for n in range(_ROWS)]
    ships = [[n, f"ship {n}", _PORTS[n % 3]] for n in range(20)]
    return {
        "id": f"{dialect}-{number}",
        "verifier": "sql",
        "dialect": dialect,
        "schema": _SCHEMA,
        "rows": {"crew": crew, "ship": ships},
        "gold_sql": _right(number),
    }


def _right(number: int) -> str:
    return (
        "SELECT s.port, count(*), avg(c.pay) FROM crew c JOIN ship s ON c.ship = s.id "
        f"WHERE c.pay > {number} GROUP BY s.port ORDER BY 2 DESC, 1"
    )


def _completion(number: int, kind: int) -> str:
    sql = (_right(number), f"SELECT name FROM crew WHERE pay > {number}", _right(number) + ", 3", "DELETE FROM crew")
    return f"<think>Join them.</think>\n<answer>\n```sql\n{sql[kind]}\n```\n</answer>"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=1_500, help="attempts of one `assay score` and of one batch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
