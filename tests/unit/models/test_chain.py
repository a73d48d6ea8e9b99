"""`chain`: a plan is run over a pool of models."""

from typing import Any

import pytest
from chain_attempts import GOOD, POOL, REGISTRY, TASK, judged, plan, right

from assay.errors import EndpointFault
from assay.outcomes import Outcome
from assay.sandboxes.nowhere import NoPool
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.models.fakes import FakeModels
from assay.verifiers.models.interface import Reply, Request, TextRefused


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
