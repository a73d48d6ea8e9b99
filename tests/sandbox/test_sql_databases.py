"""Real databases: their own gold queries are right, queries made wrong are not. The data is used in place."""

import base64
import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sql_mutants import mutants

from assay.cli.inputs import Batch
from assay.cli.local import Scorer, build_jobs
from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.schema import BatchOptions, Result
from assay.settings import Settings
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.sql.lexing import is_ordered

DATA = Path(__file__).parents[2].parent / "shared" / "data"
SPIDER = DATA / "spider_department_store.sqlite"
BIRD = DATA / "bird_mini_california_schools.sqlite"

pytestmark = [
    pytest.mark.jail,
    pytest.mark.shared,
    pytest.mark.skipif(not SPIDER.is_file(), reason="no data folder beside the checkout"),
]


def spider_golds() -> list[str]:
    """The 44 distinct ones of 88."""
    lines = (DATA / "spider_department_store_gold.sql").read_text(encoding="utf-8").splitlines()
    return list(dict.fromkeys(line.partition("\t")[0].strip() for line in lines if line.strip()))


def bird_golds() -> list[str]:
    """Five; two of them find nothing in ten rows a table."""
    lines = (DATA / "gym_bird_sql_example.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["gt_sql"] for line in lines]


def task(number: int, file: Path, gold: str, **fields: object) -> dict[str, Any]:
    """A task on a file of the data folder, by name and digest."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    named = {"database": file.name, "database_sha256": digest}
    return {"id": str(number), "verifier": "sql", "gold_sql": gold, **({} if fields else named), **fields}


@pytest.fixture(scope="module")
def scorer(pool: JailPool) -> Iterator[Scorer]:
    """A scorer whose folder of databases is the data's."""
    registry = default_registry(DATA)
    return Scorer(registry, Evaluator(registry, pool), pool.size)


def score(scorer: Scorer, tasks: Sequence[Mapping[str, Any]], queries: Sequence[tuple[int, str]]) -> list[Result]:
    """Results in the order of the queries, each given with the number of its task."""
    attempts = [{"task_id": str(number), "completion": f"```sql\n{sql}\n```"} for number, sql in queries]
    jobs = build_jobs(scorer.registry, Batch(tuple(tasks), tuple(attempts)), Settings())
    return sorted(scorer.score(jobs, BatchOptions(cache=False)), key=lambda result: result.index)


@pytest.mark.parametrize(("file", "golds"), [(SPIDER, spider_golds), (BIRD, bird_golds)])
@pytest.mark.parametrize("profile", ["sql/hardened", "arctic/paper", "spider/code"])
def test_golds_are_right(scorer: Scorer, file: Path, golds: Any, profile: str) -> None:
    """By the default, and by sets and by Spider's comparator."""
    known = golds()
    tasks = [{**task(number, file, gold), "profile": profile, "tag": "optional"} for number, gold in enumerate(known)]

    results = score(scorer, tasks, list(enumerate(known)))

    assert [(result.outcome, result.reward) for result in results] == [(Outcome.PASSED, 1.0)] * len(known)


def test_a_file_in_the_task_itself(scorer: Scorer) -> None:
    """In base64 it is the same database."""
    content = base64.b64encode(SPIDER.read_bytes()).decode()
    gold = spider_golds()[0]

    (result,) = score(scorer, [task(0, SPIDER, gold, database_base64=content)], [(0, gold)])

    assert result.reward == 1.0


@pytest.mark.parametrize(
    ("file", "golds", "counts"),
    [
        (SPIDER, spider_golds, {"other rows": 198, "the same rows": 72, "no query": 27}),
        (BIRD, bird_golds, {"other rows": 20, "the same rows": 12, "no query": 12}),
    ],
)
def test_mutants_are_wrong(scorer: Scorer, file: Path, golds: Any, counts: Mapping[str, int]) -> None:
    """Unless they give the same rows on this very data, which plain SQLite tells."""
    known = golds()
    made = [(number, name, sql) for number, gold in enumerate(known) for name, sql in mutants(gold)]
    tasks = [task(number, file, gold) for number, gold in enumerate(known)]

    results = score(scorer, tasks, [(number, sql) for number, _, sql in made])

    kinds = [kind_of(file, known[number], sql) for number, _, sql in made]
    rewards = {"other rows": 0.1, "the same rows": 1.0, "no query": 0.0}
    wrong = [
        (made[place], kinds[place], result.reward)
        for place, result in enumerate(results)
        if result.reward != rewards[kinds[place]]
    ]
    assert wrong == []
    assert Counter(kinds) == counts


def kind_of(file: Path, gold: str, sql: str) -> str:
    """What a mutant is on this data."""
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        found = connection.execute(sql).fetchall()
    except sqlite3.Error:
        return "no query"
    finally:
        right = connection.execute(gold).fetchall()
        connection.close()
    same = right == found if is_ordered(gold) else Counter(right) == Counter(found)
    return "the same rows" if same else "other rows"
