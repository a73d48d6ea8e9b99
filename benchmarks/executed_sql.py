"""Queries for the benchmark of executed answers: each runs in a process of its own, on its own copy of a database."""

from collections.abc import Mapping

from rule_pairs import Pairs

SQL_PER_S = 150
_TASKS = 50
_ROWS = 200
_SCHEMA = (
    "CREATE TABLE crew(id INTEGER PRIMARY KEY, name VARCHAR, ship INTEGER, pay DOUBLE);"
    "CREATE TABLE ship(id INTEGER PRIMARY KEY, name VARCHAR, port VARCHAR);"
)
_PORTS = ("Oslo", "Kiel", "Riga")


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
