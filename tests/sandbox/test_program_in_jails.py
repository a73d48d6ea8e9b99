"""The verifier `program` in real jails: what a source may return, how it may fail, and who pays for it."""

import os
from collections.abc import Callable
from typing import Any

import pytest

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.sdk import run_source

pytestmark = pytest.mark.jail

REGISTRY = default_registry()
Judge = Callable[..., Verdict]
QUICK = {"wall_s": 1, "cpu_s": 1}


@pytest.fixture
def judge(pool: JailPool) -> Judge:
    """Judge a completion by a source: `judge(source, completion, **fields)`."""

    def run(source: str, completion: str = "x", **fields: Any) -> Verdict:
        task = REGISTRY.parse_task({"id": "t", "verifier": "program", "source": source, **fields})
        with pool.slot() as slot:
            return REGISTRY.get("program").judge(task, completion, slot)

    return run


@pytest.fixture
def evaluate(pool: JailPool) -> Judge:
    """Judge as a worker does, the gold first."""
    evaluator = Evaluator(REGISTRY, pool)

    def run(source: str, completion: str = "x", **fields: Any) -> Verdict:
        task = REGISTRY.parse_task({"id": "t", "verifier": "program", "source": source, **fields})
        return evaluator.evaluate(task, completion).verdict

    return run


def returning(expression: str) -> str:
    """A source that returns this."""
    return f"def verify(completion, task):\n    return {expression}\n"


@pytest.mark.parametrize(
    ("expression", "terms", "outcome"),
    [
        ("1", {"reward": 1.0}, Outcome.PASSED),
        ("True", {"reward": 1.0}, Outcome.PASSED),
        ("0.25", {"reward": 0.25}, Outcome.FAILED),
        ("(0.25, 'a quarter')", {"reward": 0.25}, Outcome.FAILED),
        ("__import__('fractions').Fraction(1, 2)", {"reward": 0.5}, Outcome.FAILED),
        ("__import__('numpy').float32(0.5)", {"reward": 0.5}, Outcome.FAILED),
        ("__import__('numpy').bool_(True)", {"reward": 1.0}, Outcome.PASSED),
        ("{'a': 1, 'b': 0.5}", {"a": 1.0, "b": 0.5}, Outcome.FAILED),
        ("{'a': 1, 'b': True}", {"a": 1.0, "b": 1.0}, Outcome.PASSED),
        ("{'reward': 1, 'length': 523}", {"reward": 1.0, "length": 523.0}, Outcome.PASSED),
    ],
)
def test_numbers_and_dicts_of_numbers_are_terms(
    judge: Judge, expression: str, terms: dict[str, float], outcome: Outcome
) -> None:
    """A number is the term `reward`; beside others `reward` alone counts."""
    verdict = judge(returning(expression))

    assert (verdict.terms, verdict.outcome) == (terms, outcome)
    assert verdict.reward == (terms["reward"] if "reward" in terms else sum(terms.values()))


def test_the_source_gets_text_and_task(judge: Judge) -> None:
    """The completion as it is, and the task's id, metadata and data."""
    source = (
        "def verify(completion, task):\n"
        "    assert sorted(task) == ['data', 'id', 'metadata']\n"
        "    assert task['metadata'] == {'m': [None]} and task['id'] == 't'\n"
        "    return completion == task['data']['want'] == 'é\\ud83d\\x00'\n"
    )

    verdict = judge(source, "é\ud83d\0", data={"want": "é\ud83d\0"}, metadata={"m": [None]})

    assert verdict.outcome is Outcome.PASSED, verdict.message


def test_weights_and_ranges_make_the_reward(judge: Judge) -> None:
    """Declared ranges, default weights, and the task's own over them; full marks are the highest values."""
    terms = {"right": {"high": 2}, "cost": {"low": -5, "high": 0, "weight": 0.1}}

    middling = judge(returning("{'right': 2, 'cost': -1}"), terms=terms)
    full = judge(returning("{'right': 2, 'cost': 0}"), terms=terms, weights={"right": 0.5})

    assert (middling.reward, middling.outcome) == (pytest.approx(1.9), Outcome.FAILED)
    assert (full.reward, full.outcome) == (1.0, Outcome.PASSED)


def test_what_it_says_and_prints_is_handed_back(judge: Judge) -> None:
    """The message of a pair, and the head of what it prints, however much that is."""
    source = "def verify(c, t):\n    print('shown ' + 'x' * 10 ** 8)\n    return 0, 'not ' + 'so ' * 2000\n"

    verdict = judge(source)

    assert verdict.message.startswith("not so")
    assert len(verdict.message) <= 2000
    assert verdict.stdout.startswith("shown x")
    assert len(verdict.stdout) < 5000


UNUSABLE = {
    "raises": "1 / 0",
    "exits": "__import__('sys').exit(0)",
    "ends": "__import__('os')._exit(0)",
    "none": "None",
    "nan": "float('nan')",
    "infinite": "float('inf')",
    "huge": "10 ** 400",
    "text": "'1'",
    "array": "__import__('numpy').ones(1)",
    "complex": "1j",
    "out of range": "1.5",
    "below": "-0.5",
    "empty": "{}",
    "many": "{f'a{i}': 1 for i in range(100)}",
    "bad name": "{'a b': 1}",
    "number as name": "{1: 1}",
    "none inside": "{'a': None}",
    "hangs": "[0 for _ in iter(int, 1)]",
    "memory": "len(bytearray(2 ** 32))",
    "aborts": "__import__('os').abort()",
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_a_source_that_fails_gives_no_reward(judge: Judge, name: str) -> None:
    """Nothing is known then; nothing proves that the source works at all."""
    with pytest.raises(TaskFault, match="failed on this completion"):
        judge(returning(UNUSABLE[name]), limits=QUICK)


@pytest.mark.parametrize("name", ["raises", "none", "nan", "out of range", "hangs", "ends"])
def test_a_source_that_works_for_the_gold_cannot_be_upset_for_a_null(evaluate: Judge, name: str) -> None:
    """With a gold that passes, failing on a completion is that completion's loss, and flagged."""
    source = returning(f"1 if completion == 'gold' else {UNUSABLE[name]}")

    verdict = evaluate(source, "upsetting", gold="gold", limits=QUICK)

    assert (verdict.outcome, verdict.reward, verdict.flags) == (Outcome.FAILED, 0.0, ("undecided",))
    assert "source failed" in verdict.message


def test_the_loss_is_the_lowest_reward(evaluate: Judge) -> None:
    """Where a wrong answer earns less than 0, so does upsetting the source; negative weights are minded."""
    source = returning("{'a': 1, 'b': 0} if completion == 'gold' else None")
    fields = {"terms": {"a": {"low": -1}, "b": {}}, "weights": {"b": -2}, "gold": "gold"}

    verdict = evaluate(source, **fields)

    assert (verdict.reward, verdict.terms) == (-3.0, {"a": -1.0, "b": 1.0})


@pytest.mark.parametrize("on_error", ["task_error", "lowest"])
def test_the_task_may_say_what_a_failure_is_worth(evaluate: Judge, on_error: str) -> None:
    """With and without a gold."""
    expected = (Outcome.TASK_ERROR, None) if on_error == "task_error" else (Outcome.FAILED, 0.0)
    source = returning("1 if completion == 'gold' else 1 / 0")

    for fields in ({"gold": "gold"}, {}):
        verdict = evaluate(source, on_error=on_error, **fields)
        assert (verdict.outcome, verdict.reward) == expected


def test_a_gold_that_the_source_fails_on_is_the_tasks_fault(evaluate: Judge) -> None:
    """Whatever the task says of failures."""
    verdict = evaluate(returning("1 / 0"), gold="gold", on_error="lowest")

    assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)


@pytest.mark.parametrize(
    "source", ["def verify(:", "x = 1\n", "verify = 3\n", "raise SystemExit\n", "import no_such_module\n", "\0"]
)
def test_a_source_without_verify_is_the_tasks_fault(evaluate: Judge, source: str) -> None:
    """Before any completion is looked at, so that nothing can be earned or lost by one."""
    verdict = evaluate(source, on_error="lowest")

    assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)


def test_a_source_that_cannot_be_set_up_in_time_is_the_tasks_fault(evaluate: Judge) -> None:
    """A loop at its top level."""
    verdict = evaluate("while True: pass\n", on_error="lowest", limits=QUICK)

    assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)
    assert "set up" in verdict.message


def test_nothing_of_an_attempt_remains(judge: Judge) -> None:
    """Files, modules and random numbers are those of a fresh process each time, and there is no network."""
    source = (
        "import os, random, socket\n"
        "def verify(completion, task):\n"
        "    assert not os.path.exists('left') and not hasattr(os, 'left')\n"
        "    open('left', 'w').close()\n"
        "    os.left = True\n"
        "    if os.fork() == 0:\n"
        "        while True: pass\n"
        "    try:\n"
        "        socket.socket()\n"
        "    except OSError:\n"
        "        return {'reward': 1, 'drawn': random.random()}\n"
    )

    first, second = judge(source), judge(source)

    assert first.outcome is Outcome.PASSED, first.message
    assert first.terms == second.terms


def test_a_long_completion_is_a_text_like_any(judge: Judge) -> None:
    """A megabyte of it."""
    verdict = judge(returning("len(completion) / 1e6"), "a" * 10**6)

    assert verdict.outcome is Outcome.PASSED


def test_verifiers_of_others_may_run_a_source(pool: JailPool) -> None:
    """In one call: terms and message, or why there are none; a source without `verify` is a fault."""
    with pool.slot() as slot:
        found = run_source(slot, returning("{'long': len(completion), 'asked': task[0]}, 'so'"), "abc", [7])
        failed = run_source(slot, returning("1 / 0"), "abc", None)
        with pytest.raises(TaskFault):
            run_source(slot, "x = 1", "abc", None)

    assert (found.terms, found.message, found.failure) == ({"long": 3.0, "asked": 7.0}, "so", "")
    assert (failed.terms, failed.failure) == ({}, "it raised ZeroDivisionError: division by zero")


def test_children_of_this_process_are_as_before(judge: Judge) -> None:
    """A source that hangs leaves no descriptor open here."""
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(TaskFault):
            judge(returning("__import__('time').sleep(60)"), limits={"wall_s": 0.3})

    assert len(os.listdir("/proc/self/fd")) <= before + 2
