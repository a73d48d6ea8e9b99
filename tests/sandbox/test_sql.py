"""Queries in jails: what they come to, what is remembered, what a candidate's process holds."""

import importlib.metadata
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from published import CASES, present
from sql_attempts import CREW, ENDLESS, NUMBERS, RIGHT, Judge, judge_in

from assay.cli.conformity.judging import Judge as LineJudge
from assay.cli.conformity.runner import read_entries, run_entries
from assay.cli.local import Scorer
from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Launch, Role, Slot
from assay.sandboxes.jails import JailPool
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.requirements import missing_modules
from assay.verifiers.sql.task import SqlTask
from assay.verifiers.sql.verifier import SqlVerifier

ROOT = Path(__file__).parents[2]
OWN = ROOT / "tests" / "cases" / "sql.jsonl"
pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(bool(missing_modules(["duckdb"])), reason="needs the extra `sql`"),
]


@pytest.fixture
def judge(pool: JailPool) -> Judge:
    """Judge a query on the crew's database: `judge(sql, **fields)`."""
    return judge_in(pool, SqlVerifier())


def test_what_duckdb_tells_of_tables_is_a_query(judge: Judge) -> None:
    """Its own words for it give rows, and write nothing."""
    said = {
        sql: judge(sql, dialect="duckdb").terms["execution"]
        for sql in ("SHOW TABLES", "DESCRIBE crew", "SUMMARIZE crew", "TABLE crew", "FROM crew", "PRAGMA show_tables")
    }

    assert set(said.values()) == {1.0}, said


def test_results_name_the_version_of_the_engine(judge: Judge) -> None:
    """That of the process, as the gold's own told it; attempts without an answer too."""
    versions = {dialect: judge(RIGHT, dialect=dialect).versions for dialect in ("sqlite", "duckdb")}

    assert versions == {
        "sqlite": {"sqlite": sqlite3.sqlite_version},
        "duckdb": {"duckdb": importlib.metadata.version("duckdb")},
    }
    assert judge("-- nothing").versions == versions["sqlite"]


PIVOTS = (
    "PIVOT crew ON port USING sum(pay) GROUP BY id",
    "SELECT * FROM (PIVOT crew ON port USING sum(pay) GROUP BY id);",
    "WITH p AS (PIVOT crew ON port USING sum(pay) GROUP BY id) SELECT * FROM p",
)


def test_a_pivot_is_one_statement(judge: Judge) -> None:
    """However many steps it is to DuckDB; a second statement of the completion's own is still one too many."""
    gold = "PIVOT crew ON port IN ('Kiel', 'Oslo') USING sum(pay) GROUP BY id"

    verdicts = [judge(sql, dialect="duckdb", gold_sql=gold) for sql in PIVOTS]

    assert [verdict.reward for verdict in verdicts] == [1.0, 1.0, 1.0]
    twice = judge(f"{PIVOTS[0]}; SELECT 1", dialect="duckdb")
    assert (twice.outcome, twice.message) == (Outcome.RUNTIME_ERROR, "more than one statement")


def test_named_outcomes(judge: Judge) -> None:
    """Time, memory, rows and errors have each their own."""
    assert judge(ENDLESS, limits={"wall_s": 0.3}).outcome is Outcome.TIMEOUT
    assert judge("SELECT a.id FROM crew a, crew b", max_rows=10).outcome is Outcome.OUTPUT_EXCEEDED
    assert judge("SELECT nme FROM crew").outcome is Outcome.RUNTIME_ERROR
    assert judge("-- nothing").outcome is Outcome.NO_ANSWER
    heavy = f"{NUMBERS.format(1000)} SELECT randomblob(10000000) AS b FROM n ORDER BY b"
    assert judge(heavy, limits={"memory_mb": 128}).outcome is Outcome.MEMORY_EXCEEDED


def test_odd_texts_are_compared(judge: Judge) -> None:
    """Bytes that are no UTF-8, and null characters, within texts."""
    odd = "SELECT CAST(x'ff6100' AS TEXT)"

    assert judge(odd, gold_sql=odd).reward == 1.0
    assert judge("SELECT CAST(x'fe6100' AS TEXT)", gold_sql=odd).reward == 0.1


def test_virtual_tables_can_be_read_and_not_written(judge: Judge) -> None:
    """Full text and R-trees prepare their writes as soon as they are opened."""
    made = {
        "schema": "CREATE VIRTUAL TABLE docs USING fts5(body); INSERT INTO docs VALUES ('hello world'), ('foo');"
        "CREATE VIRTUAL TABLE box USING rtree(id, low, high); INSERT INTO box VALUES (1, 2, 3);",
        "rows": {},
        "gold_sql": "SELECT body, id FROM docs, box WHERE docs MATCH 'hello'",
    }

    assert judge("SELECT body, 1 FROM docs WHERE body LIKE 'hello%'", **made).reward == 1.0
    for write in ("INSERT INTO docs(docs) VALUES ('rebuild')", "DELETE FROM docs_data", "DELETE FROM box_node"):
        assert judge(write, **made).outcome is Outcome.VIOLATION


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize("gold", ["SELECT nme FROM crew", "DELETE FROM crew", "SELECT 1; SELECT 2", ENDLESS])
def test_a_gold_that_gives_no_rows_is_the_tasks_fault(judge: Judge, dialect: str, gold: str) -> None:
    """It fails, it writes, it is two, it does not end."""
    with pytest.raises(TaskFault, match="gold query gives no result"):
        judge(RIGHT, dialect=dialect, gold_sql=gold, limits={"wall_s": 0.5})


def test_ties_of_the_gold(judge: Judge) -> None:
    """Strict by default; free within equal keys where the task names them; a key that is no column is its own fault."""
    fields = {"gold_sql": "SELECT name, pay FROM crew ORDER BY pay"}
    other = "SELECT name, pay FROM crew ORDER BY pay, name DESC"

    strict = judge(other, **fields)
    assert (strict.reward, strict.message) == (0.1, "the rows are right, but for their order")
    assert judge(other, **fields, order_keys=["pay"]).reward == 1.0
    assert judge("SELECT name, pay FROM crew ORDER BY pay DESC", **fields, order_keys=[2]).reward == 0.1
    with pytest.raises(TaskFault, match="order_keys: 'wage'"):
        judge(other, **fields, order_keys=["wage"])


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"signed": True},
        {"signed": True, "format_gate": True},
        {"signed": True, "weights": {"format": 1.0}},
        {"weights": {"format": 0.5, "length": -0.1}},
        {"profile": "sql-r1/code"},
        {"profile": "sql-r1/code", "refused": "violation"},
        {"profile": "arctic/paper"},
        {"profile": "spider/code"},
    ],
)
def test_nothing_earns_more_than_wrong_rows_but_right_ones(judge: Judge, fields: dict[str, object]) -> None:
    """Training would learn not to answer, or to write what does not run."""
    wrong = judge("SELECT name FROM crew", **fields)

    found = {
        sql: judge(sql, **fields) for sql in ("", "-- nothing", "DROP TABLE crew", "SELEC", "SELECT nme FROM crew")
    }

    assert {sql: verdict.reward for sql, verdict in found.items() if verdict.reward > wrong.reward} == {}
    least = min(verdict.reward for verdict in found.values())
    unanswered = [verdict for verdict in found.values() if verdict.outcome in (Outcome.NO_ANSWER, Outcome.VIOLATION)]
    assert {verdict.reward for verdict in unanswered} == {least}


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("table", "row"),
    [("crew", [5, "Ed"]), ("crew", [1, "Ed", "Oslo", 1.0]), ("crew", [5, "Ed", "Oslo", 1.0, 2]), ("craw", [5])],
)
def test_a_row_that_does_not_fit_is_named(judge: Judge, dialect: str, table: str, row: list[object]) -> None:
    """By table and place: of the wrong length, a second one of its key, of no table."""
    rows = {"crew": CREW["rows"]["crew"], table: [*CREW["rows"].get(table, []), row]}
    place = f"rows.{table}[{len(rows[table]) - 1}]: "

    with pytest.raises(TaskFault) as caught:
        judge(RIGHT, dialect=dialect, rows=rows)

    assert place in str(caught.value)


def test_a_value_of_another_type_is_named(judge: Judge) -> None:
    """DuckDB's columns have one type; SQLite's take any value."""
    rows = {"crew": [[1, "Ada", "Oslo", 30.0], [2, "Bo", "Kiel", "much"]]}

    with pytest.raises(TaskFault, match=r"rows\.crew\[1\]: .*much"):
        judge(RIGHT, dialect="duckdb", rows=rows)


class _Watching:
    """A slot that notes what is started in it."""

    def __init__(self, slot: Slot, launches: list[Launch]) -> None:
        self._slot = slot
        self._launches = launches

    def start(self, launch: Launch) -> Child:
        self._launches.append(launch)
        return self._slot.start(launch)

    def __getattr__(self, name: str) -> object:
        return getattr(self._slot, name)


@contextmanager
def watched(pool: JailPool, launches: list[Launch]) -> Iterator[Slot]:
    """Lend a slot whose launches are noted."""
    with pool.slot() as slot:
        yield _Watching(slot, launches)  # type: ignore[misc]  # the rest is the slot's own


def test_the_gold_runs_once_and_never_where_a_completion_does(pool: JailPool) -> None:
    """A candidate's process is given the completion's query alone."""
    verifier, launches = SqlVerifier(), list[Launch]()
    task = SqlTask.model_validate({**CREW, "gold_sql": "SELECT name AS golden FROM crew"})

    for sql in ("SELECT name FROM crew", "SELECT 1"):
        with watched(pool, launches) as slot:
            verifier.judge(task, f"```sql\n{sql}\n```", slot)

    roles = [launch.role for launch in launches]
    assert roles == [Role.ORACLE, Role.ORACLE, Role.CANDIDATE, Role.CANDIDATE]  # the image, the gold, two attempts
    assert all(b"golden" not in launch.payload for launch in launches if launch.role is Role.CANDIDATE)


@pytest.mark.parametrize("path", [OWN, pytest.param(CASES / "sql.jsonl", marks=pytest.mark.shared)])
def test_cases_agree(pool: JailPool, path: Path) -> None:
    """Every line of the repository's own file, and of the one beside the checkout."""
    present(path)
    registry = default_registry()
    entries = read_entries([path])

    reports = run_entries(entries, LineJudge(Scorer(registry, Evaluator(registry, pool), pool.size)))

    assert {report.id: list(report.problems) for report in reports if report.problems} == {}
