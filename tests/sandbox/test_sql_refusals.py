"""Queries in jails that would do more than read, or cost more than they may."""

import os

import pytest
from process_trees import descendants
from sql_attempts import ENDLESS, NUMBERS, RIGHT, Judge, judge_in

from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.verifiers.requirements import missing_modules
from assay.verifiers.sql.verifier import SqlVerifier

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(bool(missing_modules(["duckdb"])), reason="needs the extra `sql`"),
]

OWN_FAULTS = {Outcome.RUNTIME_ERROR, Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED, Outcome.OUTPUT_EXCEEDED}
HARMFUL = {
    "sqlite": (
        "SELECT load_extension('x')", "ATTACH '/tmp/x.db' AS x", "VACUUM", "VACUUM INTO '/tmp/y.db'",
        "PRAGMA writable_schema = 1", "PRAGMA query_only = 0", "PRAGMA hard_heap_limit = 0", "DETACH main", "BEGIN",
        "SAVEPOINT s", "DELETE FROM crew", "WITH a AS (SELECT 1) DELETE FROM crew WHERE id IN (SELECT * FROM a)",
        "REPLACE INTO crew VALUES (1, 1, 1, 1)", "UPDATE crew SET pay = 1", "DROP TABLE crew", "ALTER TABLE crew ADD x",
        "CREATE TEMP TABLE z(x)", "CREATE VIRTUAL TABLE f USING fts5(x)", "ANALYZE", "SELECT fts3_tokenizer('x')",
    ),
    "duckdb": (
        "ATTACH '/tmp/x.db'", "COPY crew TO '/tmp/x.csv'", "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM glob('/tmp/*')", "INSTALL httpfs", "LOAD httpfs",
        "EXPORT DATABASE '/tmp/x'", "SET threads = 4", "PRAGMA threads = 4", "CREATE TEMP TABLE x AS SELECT 1",
        "CREATE TABLE memory.x AS SELECT 1", "DELETE FROM crew", "COMMIT", "CHECKPOINT", "USE memory",
        "WITH x AS (DELETE FROM crew RETURNING *) SELECT * FROM x",
    ),
}  # fmt: skip
COSTLY = {
    "sqlite": (
        ENDLESS, f"{NUMBERS.format(32_000)} SELECT count(*) FROM n a, n b", "SELECT randomblob(1000000000)",
        "SELECT zeroblob(1000000000)",
        f"{NUMBERS.format(100_000)} SELECT group_concat(hex(zeroblob(1000))) FROM n",
        f"{NUMBERS.format(1000)} SELECT randomblob(10000000) AS b FROM n ORDER BY b",
        f"{NUMBERS.format(200_000)} SELECT x FROM n", f"{NUMBERS.format(50_000)} SELECT randomblob(1000) FROM n",
        "SELECT " + "(" * 100_000 + "1" + ")" * 100_000, "SELECT 1" + "+1" * 400_000,
        "SELECT 1 " + "UNION ALL SELECT 1 " * 40_000, "SELECT * FROM " + ", ".join(f"crew c{n}" for n in range(30)),
        "SELECT 'a\0b'", "SELECT '\ud800'", "SELECT ?", "SELECT readfile('/etc/passwd')",
        "SELECT abs(-9223372036854775808)",
    ),
    "duckdb": (
        ENDLESS, "SELECT count(*) FROM range(40000) a, range(40000) b WHERE a.range * b.range % 7 = 3",
        "SELECT repeat('x', 1000000000)", "SELECT list(range) FROM range(100000000)", "SELECT * FROM range(200000)",
        "SELECT string_agg(range::VARCHAR) FROM range(100000000)", "SELECT sleep_ms(100000)",
        "SELECT " + "(" * 100_000 + "1" + ")" * 100_000, "SELECT '\ud800'", "SELECT ?", "SELECT getenv('HOME')",
        "SELECT * FROM '/etc/passwd'", "EXPLAIN ANALYZE SELECT 1",
    ),
}  # fmt: skip


@pytest.fixture
def judge(pool: JailPool) -> Judge:
    """Judge a query on the crew's database: `judge(sql, **fields)`."""
    return judge_in(pool, SqlVerifier())


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_what_would_do_more_than_read_is_refused(judge: Judge, dialect: str) -> None:
    """Each is a violation and earns nothing; the database stays as it is."""
    verdicts = {sql: judge(sql, dialect=dialect) for sql in HARMFUL[dialect]}

    others = {
        sql: (verdict.outcome, verdict.message) for sql, verdict in verdicts.items() if verdict.outcome != "violation"
    }
    assert others == {}
    assert {verdict.reward for verdict in verdicts.values()} == {0.0}
    assert judge(RIGHT, dialect=dialect).reward == 1.0


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_costly_and_odd_queries_are_the_completions_own_fault(judge: Judge, dialect: str) -> None:
    """They earn nothing, and the attempt after each is judged as ever; at the end no process is left."""
    assert judge(RIGHT, dialect=dialect).reward == 1.0
    before = len(descendants(os.getpid()))

    for sql in COSTLY[dialect]:
        verdict = judge(sql, dialect=dialect)
        assert (verdict.outcome in OWN_FAULTS, verdict.reward) == (True, 0.0), (sql[:80], verdict)
        assert judge(RIGHT, dialect=dialect).reward == 1.0, sql[:80]

    assert len(descendants(os.getpid())) <= before


def test_a_text_that_is_too_long_for_sqlite_is_no_right_row(judge: Judge) -> None:
    """It gives NULL for it where the time is enough to find out: it is no fault of the query's, and no match."""
    verdict = judge("SELECT printf('%.*c', 1000000000, 'x')")

    assert verdict.outcome in (Outcome.FAILED, *OWN_FAULTS)
    assert verdict.terms["match"] == 0.0
    assert judge(RIGHT).reward == 1.0


NAMED = {
    "sqlite": {
        "CREATE TABLE z(x)": "CREATE", "DROP TABLE crew": "DROP", "ALTER TABLE crew ADD x": "ALTER", "VACUUM": "VACUUM",
        "/* why */ REPLACE INTO crew VALUES (1, 1, 1, 1)": "REPLACE", "PRAGMA query_only = 0": "PRAGMA",
        "WITH a AS (SELECT 1) DELETE FROM crew WHERE id IN (SELECT * FROM a)": "DELETE", "BEGIN": "BEGIN",
    },
    "duckdb": {
        "INSTALL httpfs": "INSTALL", "LOAD httpfs": "LOAD", "TRUNCATE crew": "TRUNCATE", "CHECKPOINT": "CHECKPOINT",
        "COMMENT ON TABLE crew IS 'x'": "COMMENT", "UPDATE EXTENSIONS": "UPDATE", "IMPORT DATABASE '/x'": "IMPORT",
        "WITH a AS (SELECT 1) INSERT INTO crew SELECT 1, 'x', 'y', 2": "INSERT", "PRAGMA threads = 4": "PRAGMA",
        "CREATE TEMP TABLE z AS PIVOT crew ON port USING sum(pay)": "CREATE", "CALL pragma_version()": "CALL",
    },
}  # fmt: skip


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_refusals_name_the_statement_that_was_written(judge: Judge, dialect: str) -> None:
    """Not the engine's own word for it, nor that of its first step."""
    said = {sql: judge(sql, dialect=dialect) for sql in NAMED[dialect]}

    assert {sql: verdict.message.rpartition(": ")[2] for sql, verdict in said.items()} == NAMED[dialect]
    assert {verdict.outcome for verdict in said.values()} == {Outcome.VIOLATION}


@pytest.mark.parametrize("dialect", ["sqlite", "duckdb"])
def test_explain_is_no_query_and_pragmas_that_tell_are(judge: Judge, dialect: str) -> None:
    """In every dialect alike: the one would be paid for running, the others tell of tables as a query would."""
    for sql in ("EXPLAIN SELECT 1", "explain /* x */ DELETE FROM crew"):
        verdict = judge(sql, dialect=dialect)
        assert (verdict.outcome, verdict.message) == (Outcome.RUNTIME_ERROR, "not a query: EXPLAIN")

    assert judge("PRAGMA table_info('crew')", dialect=dialect).terms["execution"] == 1.0
