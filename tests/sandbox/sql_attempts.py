"""Queries judged in jails, for the tests of `sql` in this folder."""

from collections.abc import Callable
from typing import Any

from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.sql.task import SqlTask
from assay.verifiers.sql.verifier import SqlVerifier

CREW: dict[str, Any] = {
    "id": "t",
    "verifier": "sql",
    "schema": "CREATE TABLE crew(id INTEGER PRIMARY KEY, name TEXT, port TEXT, pay REAL);",
    "rows": {
        "crew": [[1, "Ada", "Oslo", 30.0], [2, "Bo", "Kiel", 20.0], [3, "Cy", "Oslo", 20.0], [4, "Di", None, 25.5]]
    },
    "gold_sql": "SELECT name FROM crew WHERE pay <= 20",
    "limits": {"wall_s": 2.0, "cpu_s": 2.0, "memory_mb": 256},
}
NUMBERS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {})"
ENDLESS = NUMBERS.replace(" LIMIT {}", "") + " SELECT count(*) FROM n"
RIGHT = "SELECT name FROM crew WHERE pay < 25"

Judge = Callable[..., Verdict]


def judge_in(pool: Pool, verifier: SqlVerifier) -> Judge:
    """Return a function that judges a query, in a fence, on the crew's database: `judge(sql, **fields)`."""

    def judge(sql: str, **fields: object) -> Verdict:
        task = SqlTask.model_validate({**CREW, **fields})
        with pool.slot() as slot:
            return verifier.judge(task, f"<answer>\n```sql\n{sql}\n```\n</answer>", slot)

    return judge
