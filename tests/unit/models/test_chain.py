"""`chain`: a plan is run over a pool of models, and another verifier judges what comes out."""

import json
from typing import Any

import pytest

from assay.errors import EndpointFault, InvalidRequest, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.nowhere import NoPool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.models.fakes import FakeModels, judge_with
from assay.verifiers.models.interface import Reply, Request, TextRefused
from assay.verifiers.reference import example_of
from assay.verifiers.worked_examples import WORKED

REGISTRY = default_registry()
POOL = ("small", "strong", "coder")
ANSWER = {"verifier": "exact_match", "answers": ["42"]}
TASK: dict[str, Any] = {"id": "t", "verifier": "chain", "question": "What is 19 + 23?", "pool": POOL, "answer": ANSWER}


def plan(*steps: tuple[Any, Any, Any]) -> str:
    """A completion with these workers, subtasks and access lists."""
    models, subtasks, access = map(list, zip(*steps, strict=True))
    return f"model_id = {models!r}\nsubtasks = {subtasks!r}\naccess_list = {access!r}"


GOOD = plan((0, "Outline.", []), (1, "Solve.", [0]), (2, "Check.", "all"))


def right(_: str, request: Request) -> str:
    """The right answer, whatever is asked."""
    del request
    return "<answer>42</answer>"


def judged(completion: str, models: FakeModels, **fields: Any) -> Verdict:
    """The verdict of a chain over these models."""
    return judge_with(models, REGISTRY, {**TASK, **fields}, completion)


def test_a_right_answer_is_worth_all() -> None:
    """Reward 1, one step each, the flag that models had a part, and the models by name."""
    models = FakeModels(POOL, right)

    verdict = judged(GOOD, models)

    assert (verdict.outcome, verdict.reward) == (Outcome.PASSED, 1.0)
    assert verdict.terms == {"parsed": 1.0, "correct": 1.0}
    assert verdict.flags == ("models",)
    assert [(step.name, step.outcome) for step in verdict.steps] == [
        ("0.small", Outcome.PASSED), ("1.strong", Outcome.PASSED), ("2.coder", Outcome.PASSED),
    ]  # fmt: skip
    assert {key: value for key, value in verdict.versions.items() if key.startswith("model.")} == {
        "model.small": "small-1", "model.strong": "strong-1", "model.coder": "coder-1",
    }  # fmt: skip
    assert verdict.versions["answer"] == f"exact_match {REGISTRY.get('exact_match').version}"


@pytest.mark.parametrize("said", ["<answer>41</answer>", "", "42", "\ud83d"])
def test_a_wrong_answer_is_worth_half(said: str) -> None:
    """Also where there is none."""
    verdict = judged(GOOD, FakeModels(POOL, lambda _, __: said))

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.5)
    assert "answer is wrong" in verdict.message


def test_only_the_last_step_answers() -> None:
    """What earlier steps say is judged by nobody."""
    models = FakeModels(POOL, lambda name, _: f"<answer>{42 if name == 'coder' else 0}</answer>")

    assert judged(GOOD, models).reward == 1.0


def test_a_step_sees_what_its_access_list_names() -> None:
    """The question and its subtask always; of earlier steps what they were told and what they answered."""
    models = FakeModels(POOL, lambda name, _: f"{name} says")
    completion = plan((0, "A.", []), (1, "B.", []), (2, "C.", [1]), (0, "D.", [1, 0, 1]), (1, "E.", "all"))

    judged(completion, models)

    users = [request.user for _, request in models.asked]
    seen = [[n for n in range(5) if f"Step {n} answered:" in user] for user in users]
    assert [name for name, _ in models.asked] == ["small", "strong", "coder", "small", "strong"]
    assert seen == [[], [], [1], [0, 1], [0, 1, 2, 3]]
    assert users[0] == "Question:\nWhat is 19 + 23?\n\nYour subtask:\nA."
    assert users[2] == (
        "Question:\nWhat is 19 + 23?\n\nStep 1 was told:\nB.\n\nStep 1 answered:\nstrong says\n\nYour subtask:\nC."
    )


def test_numbers_may_begin_at_one_and_the_question_be_kept_back() -> None:
    """Of workers and of steps, each as the task says."""
    models = FakeModels(POOL, lambda name, _: f"{name} says")

    judged(plan((1, "A.", []), (3, "B.", [1])), models, id_base=1, show_question=False)

    assert [name for name, _ in models.asked] == ["small", "coder"]
    assert models.asked[1][1].user == "Step 1 was told:\nA.\n\nStep 1 answered:\nsmall says\n\nYour subtask:\nB."


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("No plan.", Outcome.NO_ANSWER), ("", Outcome.NO_ANSWER), ("model_id = [0]", Outcome.FAILED),
        (plan((3, "A.", [])), Outcome.FAILED), (plan((0, " ", [])), Outcome.FAILED),
        (plan((0, "A.", [0])), Outcome.FAILED), (plan((0, "A.", [1]), (0, "B.", [])), Outcome.FAILED),
        ("model_id=[]\nsubtasks=[]\naccess_list=[]", Outcome.FAILED),
        (plan(*[(0, "A.", [])] * 17), Outcome.FAILED),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_what_cannot_be_run_is_worth_nothing(completion: str, outcome: Outcome) -> None:
    """And nobody is asked, nor needs to be there."""
    models = FakeModels((), right)

    verdict = judged(completion, models)

    assert (verdict.outcome, verdict.reward, verdict.flags) == (outcome, 0.0, ("models",))
    assert models.asked == []


@pytest.mark.parametrize(
    "completion", ["model_id=[]\nsubtasks=[]\naccess_list=[]", plan((9, "A.", [])), plan((0, "A.", [5]))]
)
def test_to_the_letter_of_the_paper_any_three_lists_are_worth_half(completion: str) -> None:
    """Where they cannot be run, no answer can be right."""
    assert judged(completion, FakeModels(POOL, right), profile="conductor/paper").reward == 0.5
    assert judged(GOOD, FakeModels(POOL, right), profile="conductor/paper").reward == 1.0
    assert judged(completion, FakeModels(POOL, right), profile="conductor/hardened").reward == 0.0


def test_an_outage_is_never_a_wrong_answer() -> None:
    """The fault names the step."""

    def answer(name: str, _: Request) -> str:
        if name == "strong":
            raise EndpointFault("strong: status 503 at try 3")
        return "<answer>42</answer>"

    with pytest.raises(EndpointFault, match="step 1: strong: status 503"):
        judged(GOOD, FakeModels(POOL, answer))

    verdict = (
        Evaluator(REGISTRY, NoPool(), models=FakeModels(POOL, answer)).evaluate(REGISTRY.parse_task(TASK), GOOD).verdict
    )
    assert (verdict.outcome, verdict.reward, verdict.flags) == (Outcome.INFRA_ERROR, None, ("models",))


def test_a_pool_that_lacks_a_model_judges_nobody() -> None:
    """Also plans that would not have asked it: else their rewards were compared with none."""
    with pytest.raises(EndpointFault, match="no model endpoint 'coder'"):
        judged(plan((0, "Solve.", [])), FakeModels(("small", "strong"), right))


def refusing_subtasks_with(word: str) -> Any:
    """Workers that refuse questions with this word, and answer right."""

    def say(name: str, request: Request) -> str:
        if word in request.user:
            raise TextRefused(f"{name}: status 413 at try 1")
        return right(name, request)

    return say


@pytest.mark.parametrize(
    ("profile", "reward"), [("conductor/hardened", 0.0), ("conductor/paper", 0.5)]
)  # fmt: skip
def test_a_plan_that_an_endpoint_refuses_cannot_be_run(profile: str, reward: float) -> None:
    """It answers the same question with another subtask: a null reward would be worth more than a wrong answer."""
    completion = plan((0, "Outline.", []), (1, "TOO LONG", [0]))

    verdict = judged(completion, FakeModels(POOL, refusing_subtasks_with("TOO LONG")), profile=profile)

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, reward)
    assert verdict.flags == ("models", "refused")
    assert "step 1: strong: status 413" in verdict.message


def test_a_plan_that_lets_too_much_be_seen_cannot_be_run_either() -> None:
    """What is refused is an earlier output, which the plan has the step see."""

    def say(name: str, request: Request) -> str:
        if "LONG OUTPUT" in request.user:
            raise TextRefused(f"{name}: status 400 at try 1")
        return "LONG OUTPUT"

    verdict = judged(plan((0, "Write.", []), (1, "Read.", "all")), FakeModels(POOL, say))

    assert (verdict.reward, verdict.flags) == (0.0, ("models", "refused"))


def test_a_question_that_an_endpoint_refuses_is_no_fault_of_the_plan() -> None:
    """It is refused whatever the subtask is."""
    with pytest.raises(EndpointFault, match="step 0: small: status 413"):
        judged(GOOD, FakeModels(POOL, refusing_subtasks_with("19")))


@pytest.mark.parametrize("text", ["{}", "{question}", "{0.__class__}", "%s %(x)s", "$question ${x}", "\\1 \\g<0>"])
def test_nothing_in_a_subtask_is_a_template(text: str) -> None:
    """It goes as it is, and so do question and outputs."""
    models = FakeModels(POOL, lambda *_: f"<answer>42</answer>{text}")

    judged(plan((0, text, []), (1, text, [0])), models, question=text)

    assert models.asked[1][1].user == (
        f"Question:\n{text}\n\nStep 0 was told:\n{text}\n\nStep 0 answered:\n<answer>42</answer>{text}"
        f"\n\nYour subtask:\n{text}"
    )


def test_long_outputs_are_cut_and_flagged() -> None:
    """By the task's bound or the model's own limit; later steps see no more than was kept."""
    models = FakeModels(POOL, lambda _, __: "x" * 100)

    verdict = judged(GOOD, models, max_output_characters=10)

    assert verdict.flags == ("models", "output_cut")
    assert f"answered:\n{'x' * 10}\n\n" in models.asked[1][1].user
    assert judged(GOOD, FakeModels(POOL, lambda _, __: Reply("<answer>42</answer>", is_cut=True))).flags == (
        "models", "output_cut",
    )  # fmt: skip


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
        answer={"verifier": "judge", "kind": "rubric", "rubric": "Fine?", "endpoint": "critic"},
    )

    assert verdict.reward == 1.0
    assert verdict.flags == ("models", "judge")
    assert verdict.versions["model.critic"] == "critic-1"


def test_content_is_what_the_answers_task_means() -> None:
    """Defaults that are written out make no other task; another answer does."""
    same = REGISTRY.parse_task({**TASK, "answer": {**ANSWER, "tag": "answer"}})
    other = REGISTRY.parse_task({**TASK, "answer": {**ANSWER, "answers": ["41"]}})

    assert same.content_hash() == REGISTRY.parse_task(TASK).content_hash() != other.content_hash()


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
