"""What is made of the ends and the words of the processes of `sql`; a query's own is hostile."""

import os
import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgpack
import pytest

from assay.errors import InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.sql.answering import answer_rows
from assay.verifiers.sql.results import BadAnswer, Caps, Question, unpack_answer

_FIELDS = {
    "id": "t", "verifier": "sql", "gold_sql": "SELECT a FROM t", "database_schema": "CREATE TABLE t(a)",
    "rows": {"t": [[1]]},
}  # fmt: skip
TASK = default_registry().parse_task(_FIELDS)
KILLED = Exit(None, 9)
BUILT: tuple[str, bytes] = ("built", b"image")
ROWS = ("rows", "3", ["a"], [[1]])
COMPLETION = "```sql\nSELECT a FROM t\n```"
Reply = tuple[Any, ...] | Exit | Outcome
"""What a process says, or how it ends."""


class SqlSlot(FakeSlot):
    """Its processes say these, one after the other."""

    def __init__(self, *replies: Reply) -> None:
        super().__init__()
        self.replies = list(replies)

    def start(self, launch: Launch) -> FakeChild:
        """End one."""
        reply = self.replies.pop(0)
        match reply:
            case Outcome():
                child = FakeChild(KILLED, cut_by=reply)
            case Exit():
                child = FakeChild(reply)
            case _:
                os.write(launch.fds[0], msgpack.packb(reply))
                child = FakeChild(Exit(0, None))
        self.children = [child]
        return super().start(launch)


def judge(*replies: Reply) -> Verdict:
    """Judge a completion: its database is built, then the gold query runs, then its own."""
    return default_registry().get("sql").judge(TASK, COMPLETION, SqlSlot(BUILT, *replies))


def test_rows_are_compared() -> None:
    """As processes give them when all goes well."""
    assert judge(ROWS, ROWS).reward == 1.0


def test_a_query_that_answers_with_an_image_has_not_run() -> None:
    """It is not an answer to a query."""
    verdict = judge(ROWS, BUILT)

    assert (verdict.outcome, verdict.reward) == (Outcome.RUNTIME_ERROR, 0.0)


def test_a_query_cannot_say_that_there_is_no_engine() -> None:
    """It would earn a null reward: the gold query had one."""
    verdict = judge(ROWS, ("missing", "no duckdb"))

    assert (verdict.outcome, verdict.reward) == (Outcome.RUNTIME_ERROR, 0.0)


def test_a_gold_that_answers_with_an_image_gives_no_result() -> None:
    """Nor does a schema that answers with rows."""
    with pytest.raises(TaskFault, match="gives no result: runtime_error"):
        judge(BUILT)
    with pytest.raises(TaskFault, match="make no database: runtime_error"):
        default_registry().get("sql").judge(TASK, COMPLETION, SqlSlot(ROWS))


def test_a_query_that_is_killed_from_outside_is_run_again() -> None:
    """No query can kill its process."""
    assert judge(ROWS, KILLED, ROWS).reward == 1.0


def test_a_query_that_is_killed_every_time_has_failed() -> None:
    """What happens at every try does not come from outside."""
    assert judge(ROWS, KILLED, KILLED, KILLED).outcome is Outcome.RUNTIME_ERROR


@pytest.mark.parametrize("reply", [Exit(None, 11), Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED, ("memory", "full")])
def test_a_gold_that_the_machine_may_have_failed_is_run_again(reply: Reply) -> None:
    """One bad moment condemns no task for good."""
    verifier = default_registry().get("sql")

    with pytest.raises(TaskFault, match="gives no result"):
        verifier.judge(TASK, COMPLETION, SqlSlot(BUILT, reply))

    assert verifier.judge(TASK, COMPLETION, SqlSlot(ROWS, ROWS)).reward == 1.0


@pytest.mark.parametrize("kind", ["error", "refused", "large"])
def test_a_gold_that_its_engine_refuses_is_run_once(kind: str) -> None:
    """It will every time."""
    verifier = default_registry().get("sql")

    for slot in (SqlSlot(BUILT, (kind, "no such column")), SqlSlot()):
        with pytest.raises(TaskFault, match="no such column"):
            verifier.judge(TASK, COMPLETION, slot)


def test_an_engine_that_is_missing_is_ours() -> None:
    """Where the gold query finds none."""
    with pytest.raises(InfraFault, match="sql"):
        judge(("missing", "no duckdb"))


def test_numbers_travel_exactly_where_no_float_is_written_as_they_are() -> None:
    """And those that a float is written as, as that."""
    question = Question("SELECT 1", "", (), Caps(9, 9_000), 64)
    sent = [Decimal("12345678901234567890.12"), Decimal("-0.00000000000000000001234567890123456789"), Decimal("2.50")]
    said = answer_rows(["a", "b", "c"], [sent], question.caps, "3")

    _, table = unpack_answer(said, question)

    assert table.rows == (tuple(map(Fraction, sent)),)
    assert type(table.rows[0][2]) is float


@pytest.mark.parametrize(
    "cell",
    [
        msgpack.ExtType(3, b"1e999999999.0"),
        msgpack.ExtType(3, b"0." + b"1" * 81),
        msgpack.ExtType(3, b"1/3"),
        {msgpack.ExtType(2, b"2305843009213693951"): 1},
    ],
)
def test_what_is_no_number_is_no_answer(cell: object) -> None:
    """Nor is a map whose keys are numbers: they would be hashed."""
    with pytest.raises(BadAnswer):
        unpack_answer(msgpack.packb(["rows", "3", ["a"], [[cell]]]), Question("SELECT 1", "", (), Caps(9, 9_000), 64))


def test_rows_that_nobody_can_compare_are_the_fault_of_a_task_whose_gold_is_such() -> None:
    """Two columns of numbers, each near very many others."""
    chance = random.Random(1)
    number = default_registry().parse_task({**_FIELDS, "absolute_tolerance": 300})
    cloud = [[chance.randrange(901), n % 200 * 250] for n in range(6000)]
    other = [[chance.randrange(901), (n + 1) % 200 * 250] for n in range(6000)]
    gold, found = (("rows", "3", ["a", "b"], rows) for rows in (cloud, other))

    with pytest.raises(TaskFault, match="too many-sided"):
        default_registry().get("sql").judge(number, COMPLETION, SqlSlot(BUILT, gold, found))
