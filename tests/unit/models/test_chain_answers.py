"""`chain`: another verifier judges what comes out, and the task says by what."""

import json
from typing import Any

import pytest
from chain_attempts import ANSWER, GOOD, POOL, REGISTRY, TASK, judged, plan, right

from assay.errors import InvalidRequest, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.nowhere import NoPool
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.models.fakes import FakeModels, judge_with
from assay.verifiers.models.interface import Request
from assay.verifiers.reference import example_of
from assay.verifiers.worked_examples import WORKED


def test_the_end_of_each_output_is_handed_back() -> None:
    """In no more than results keep of a stream."""
    verdict = judged(GOOD, FakeModels(POOL, lambda name, _: "y" * 10_000 + name))

    assert len(verdict.stdout) < 5000
    assert all(f"y{name}" in verdict.stdout for name in POOL)


def test_a_fault_of_the_answers_task_leaves_no_reward() -> None:
    """The verifier of the answer cannot judge by it."""
    unknown = {"verifier": "plan", "pool_size": 3, "chain_correct": None}

    with pytest.raises(TaskFault, match=r"^answer: chain_correct is null"):
        judged(GOOD, FakeModels(POOL, lambda _, __: GOOD), answer=unknown)


def test_the_gold_of_a_chain_shows_that_the_answers_verifier_works() -> None:
    """What upsets a source of the answer's own is then the plan's loss; but not on the gold itself."""
    answer = {"verifier": "program", "source": "def verify(completion, task): return 1"}
    task = REGISTRY.parse_task({**TASK, "answer": answer, "gold": GOOD})
    bare = REGISTRY.parse_task({**TASK, "answer": answer})

    def blames(task: Any, completion: str) -> bool:
        return bool(task.answer_task_for(completion).blames("any output"))

    assert blames(task, plan((0, "Else.", [])))
    assert not blames(task, GOOD)
    assert not blames(bare, plan((0, "Else.", [])))


def test_messages_are_true_where_a_right_answer_is_less_than_full_marks() -> None:
    """As where the task has it cost something."""
    verdict = judged(GOOD, FakeModels(POOL, right), weights={"correct": -1})

    assert (verdict.outcome, verdict.message) == (Outcome.FAILED, "the chain's answer is right")


def test_an_answer_that_needs_a_slot_says_so() -> None:
    """One that runs nothing needs none, and neither does a plan that cannot be run."""
    models = FakeModels(POOL, right)
    chain = REGISTRY.get("chain")
    program = {"verifier": "python", "tests": ["assert f() == 42"]}

    def needs(completion: str, answer: dict[str, Any]) -> bool:
        task = REGISTRY.parse_task({**TASK, "answer": answer})
        return bool(chain.prepare(task, completion, models).needs_slot)  # type: ignore[attr-defined]  # of those that ask

    assert needs(GOOD, program)
    assert not needs("No plan.", program)
    assert not needs(GOOD, ANSWER)


def test_the_answers_verifier_may_be_a_judge() -> None:
    """It is asked on the same line, and flags the result."""

    def answer(_: str, request: Request) -> str:
        if not request.system:
            return "A fine poem."
        nonce = request.user.rpartition("END ")[2]
        return json.dumps({"nonce": nonce, "score": 80 if "A fine poem." in request.user else 0})

    verdict = judged(
        GOOD,
        FakeModels((*POOL, "critic"), answer),
        answer={
            "verifier": "judge",
            "kind": "rubric",
            "rubric": "Fine?",
            "endpoint": "critic",
            "on_unreadable": "lowest",
        },
    )

    assert verdict.reward == 1.0
    assert verdict.flags == ("models", "judge")
    assert verdict.versions["model.critic"] == "critic-1"


def test_content_is_what_the_answers_task_means() -> None:
    """Defaults that are written out make no other task; another answer does."""
    same = REGISTRY.parse_task({**TASK, "answer": {**ANSWER, "tag": "answer"}})
    other = REGISTRY.parse_task({**TASK, "answer": {**ANSWER, "answers": ["41"]}})

    assert same.content_hash() == REGISTRY.parse_task(TASK).content_hash() != other.content_hash()


def test_what_the_answers_source_may_read_is_content() -> None:
    """A `program` reads id and metadata, which are the chain's."""
    answer = {"verifier": "program", "source": "def verify(completion, task): return task['id']"}
    tasks = [
        REGISTRY.parse_task({**TASK, "answer": answer, **other}) for other in ({}, {"id": "u"}, {"metadata": {"m": 2}})
    ]

    assert len({task.content_hash() for task in tasks}) == 3
    assert tasks[2].answer_task.metadata == {"m": 2}  # type: ignore[attr-defined]  # of chains


def test_limits_are_the_answers() -> None:
    """Where it runs something; else only the time for all questions."""
    program = {"verifier": "python", "tests": ["assert f() == 42"]}
    task = REGISTRY.parse_task({**TASK, "answer": program, "limits": {"wall_s": 3}})

    assert task.answer_task.limits.wall_s == 3  # type: ignore[attr-defined]  # of chains
    assert REGISTRY.parse_task({**TASK, "limits": {"attempt_wall_s": 300}}).limits.attempt_wall_s == 300


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"pool": []}, "task.pool"), ({"pool": ["no such/name"]}, "task.pool[0]"), ({"question": ""}, "task.question"),
        ({"answer": {**ANSWER, "verifier": "chain"}}, "task.answer.verifier"),
        ({"answer": {**ANSWER, "verifier": "composite"}}, "task.answer.verifier"),
        ({"answer": {**ANSWER, "verifier": "nothing"}}, "task.answer.verifier"),
        ({"answer": {**ANSWER, "verifier": 3}}, "task.answer.verifier"),
        ({"answer": {**ANSWER, "id": "x"}}, "task.answer.id"),
        ({"answer": {**ANSWER, "gold": "x"}}, "task.answer.gold"),
        ({"answer": {"verifier": "exact_match"}}, "task.answer"), ({"answer": "42"}, "task.answer"),
        ({"answer": {"verifier": "judge", "kind": "rubric", "rubric": "Fine?", "endpoint": "critic"}},
         "task.answer.on_unreadable"),
        ({"limits": {"wall_s": 3}}, "task"), ({"max_steps": 0}, "task.max_steps"),
        ({"max_steps": 64, "max_output_characters": 200_000}, "task"), ({"scoring": "all"}, "task"),
    ],
    ids=str,
)  # fmt: skip
def test_bad_tasks_are_refused(fields: dict[str, Any], path: str) -> None:
    """Where they are sent in, with the path of the fault."""
    with pytest.raises(InvalidRequest) as caught:
        REGISTRY.parse_task({**TASK, **fields})

    assert caught.value.path.startswith(path)


def test_the_worked_example_passes() -> None:
    """The reference says so, given models that answer."""
    models = FakeModels(POOL, lambda _, __: "It is \\boxed{42}.")
    document = dict(example_of(REGISTRY.get("chain")))

    assert judge_with(models, REGISTRY, document, WORKED["chain"]).reward == 1.0


def test_a_chain_may_be_a_part() -> None:
    """A composite asks for it, and weighs it with rules."""
    own = {key: value for key, value in TASK.items() if key not in ("id", "verifier")}
    shape = {"pool_size": 3, "chain_correct": False}
    parts = [
        {"name": "chain", "verifier": "chain", "task": own},
        {"name": "shape", "verifier": "plan", "term": "parsed", "weight": 0.5, "task": shape},
    ]
    task = REGISTRY.parse_task({"id": "c", "verifier": "composite", "terms": parts})

    evaluation = Evaluator(REGISTRY, NoPool(), models=FakeModels(POOL, right)).evaluate(task, GOOD)

    assert task.asks_models()
    assert evaluation.verdict.terms["chain"] == 1.0
    assert evaluation.verdict.terms["chain.correct"] == 1.0
    assert "models" in evaluation.verdict.flags
    assert evaluation.verdict.reward == 1.5
    assert evaluation.verdict.steps[0].name == "chain.0.small"
