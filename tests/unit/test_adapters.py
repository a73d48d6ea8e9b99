"""Adapters of trainers: what each calls with, what it reads, and that no verdict is never a number."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest
from scripted_service import result

from assay.clients.adapters import trl, verl
from assay.clients.adapters.rows import text_of
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.errors import InfraFault, InvalidRequest
from assay.labels import task_of_label
from assay.outcomes import Outcome
from assay.schema import Result

REWARDS = {"right": 1.0, "wrong": 0.0, "lost": None}


class Service:
    """Stands for both clients: judges by the completion's text, and remembers what it was given."""

    def __init__(self) -> None:
        self.tasks: list[Mapping[str, Any]] = []
        self.attempts: list[Mapping[str, Any]] = []

    def run(self, tasks: Sequence[Mapping[str, Any]], attempts: Sequence[Mapping[str, Any]]) -> list[Result]:
        self.tasks, self.attempts = list(tasks), list(attempts)
        return [_judged(number, attempt["completion"]) for number, attempt in enumerate(attempts)]


class AwaitedService(Service):
    """The same, awaited."""

    async def run(  # type: ignore[override]  # the asynchronous client's
        self, tasks: Sequence[Mapping[str, Any]], attempts: Sequence[Mapping[str, Any]]
    ) -> list[Result]:
        return Service.run(self, tasks, attempts)


def _judged(number: int, text: str) -> Result:
    reward = REWARDS[text]
    outcome = Outcome.INFRA_ERROR if reward is None else Outcome.PASSED if reward else Outcome.FAILED
    return result(number + 1).model_copy(update={"reward": reward, "outcome": outcome})


TASK = {"id": "t", "tests": ["f(1) == 1"]}


def test_trl_gets_none_for_what_nobody_judged() -> None:
    service, logged = Service(), dict[str, float]()
    reward = trl.reward_function(cast(Client, service), name="tests")
    got = reward(
        prompts=["p", "p", "q"],
        completions=["right", "lost", [{"role": "assistant", "content": "wrong"}]],
        completion_ids=[[1], [2], [3]],
        task=[TASK, TASK, {"id": "u", "tests": ["g() == 2"]}],
        trainer_state=object(),
        log_extra=lambda *_: None,
        log_metric=logged.__setitem__,
    )
    assert got == [1.0, None, 0.0]
    assert [task["id"] for task in service.tasks] == ["t", "u"]
    assert reward.__name__ == "tests"
    assert logged == {"assay/missing_rewards": pytest.approx(1 / 3)}


def test_trl_awaits_the_asynchronous_one() -> None:
    reward = trl.async_reward_function(cast(AsyncClient, AwaitedService()), lambda row: {"id": row["name"], **TASK})
    got = asyncio.run(reward(["p", "p"], ["right", "lost"], name=["a", "a"]))
    assert got == [1.0, None]


def test_rows_that_disagree_about_a_task_are_refused() -> None:
    reward = trl.reward_function(cast(Client, Service()))
    with pytest.raises(ValueError, match="different tasks with the id 't'"):
        reward(["p", "p"], ["right", "right"], task=[TASK, {"id": "t", "tests": ["f(2) == 2"]}])
    with pytest.raises(KeyError, match="no column 'task'"):
        reward(["p"], ["right"], answer=["4"])


def test_verl_reads_the_same_keys_for_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verl, "_client", lambda _: Service())
    given = {"assay_url": "http://x", "missing": -2.0, "reward_router_address": None}
    rows = verl.compute_scores(["d"] * 3, ["right", "wrong", "lost"], ["4"] * 3, [None] * 3, **given)
    assert rows == [
        {"score": 1.0, "outcome": "passed", "missing": 0.0},
        {"score": 0.0, "outcome": "failed", "missing": 0.0},
        {"score": -2.0, "outcome": "infra_error", "missing": 1.0},
    ]


def test_verl_hears_of_a_missing_verdict_unless_a_number_stands_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verl, "_client", lambda _: Service())
    with pytest.raises(InfraFault, match="no verdict"):
        verl.compute_score("d", "lost", "4", None, assay_url="http://x")
    monkeypatch.delenv("ASSAY_URL", raising=False)
    with pytest.raises(InfraFault, match="no service is named"):
        verl.compute_score("d", "right", "4", None)


@pytest.mark.parametrize(
    ("label", "task"),
    [
        ("4", {"verifier": "math", "answer": "4"}),
        (4, {"verifier": "math", "answer": "4"}),
        ("{1, 2}", {"verifier": "math", "answer": "{1, 2}"}),
        ('{"tests": ["f() == 1"]}', {"tests": ["f() == 1"]}),
        (
            {"inputs": ["1\n2", ["a", "b"]], "outputs": ["3", "c"]},
            {"cases": [{"stdin": "1\n2", "stdout": "3"}, {"stdin": "a\nb", "stdout": "c"}]},
        ),
        (
            {"inputs": ['[1]\n"x"', [2, 3]], "outputs": ["true", 5], "fn_name": "f"},
            {
                "entry_point": "f", "style": "calls",
                "cases": [{"args": [[1], "x"], "expected": True}, {"args": [2, 3], "expected": 5}],
            },
        ),
        ({"inputs": [], "outputs": [], "assert_case": ["assert f()"]}, {"tests": ["assert f()"], "style": "assert"}),
        (
            {"language": "cpp", "test_cases": [{"input": "1", "output": "2", "type": "stdin_stdout"}]},
            {"verifier": "stdio", "language": "cpp", "cases": [{"stdin": "1", "stdout": "2"}]},
        ),
    ],
    ids=str,
)  # fmt: skip
def test_labels_of_every_known_form_are_tasks(label: object, task: Mapping[str, Any]) -> None:
    got = task_of_label(label)
    assert got.pop("id").startswith("label-")
    assert got == task
    assert task_of_label(label)["id"] == task_of_label(label)["id"]


@pytest.mark.parametrize("label", [None, True, [1], {"x": 1}, {"inputs": ["1"], "outputs": []}], ids=str)
def test_labels_of_no_known_form_are_refused(label: object) -> None:
    with pytest.raises(InvalidRequest, match="label"):
        task_of_label(label)


def test_a_completion_is_text_or_what_the_assistant_says() -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image"}]},
        {"role": "assistant", "content": "b"},
    ]
    assert (text_of("x"), text_of(messages)) == ("x", "a\nb")
    with pytest.raises(TypeError, match="not int"):
        text_of(3)
