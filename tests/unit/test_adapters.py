"""Adapters of trainers: what each calls with, what it reads, and that no verdict is never a number."""

import asyncio
import math
import os
import pickle
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pytest
from scripted_service import result

from assay.clients.adapters import dataset_map, open_r1, prime_verifiers, rows, trl, verl
from assay.clients.adapters.rows import MOST_BYTES, batch_of, from_column, text_of
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.schema import Result
from assay.settings import Settings

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
    """Equal tasks travel once, chats are read, and the share of missing rewards is logged."""
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
    """The task may be made from the row."""
    reward = trl.async_reward_function(cast(AsyncClient, AwaitedService()), lambda row: {"id": row["name"], **TASK})
    got = asyncio.run(reward(["p", "p"], ["right", "lost"], name=["a", "a"]))

    assert got == [1.0, None]


def test_rows_that_disagree_about_a_task_are_refused() -> None:
    """So are rows without a task; both before anything is sent."""
    reward = trl.reward_function(cast(Client, Service()))
    with pytest.raises(ValueError, match="different tasks with the id 't'"):
        reward(["p", "p"], ["right", "right"], task=[TASK, {"id": "t", "tests": ["f(2) == 2"]}])
    with pytest.raises(KeyError, match="no column 'task'"):
        reward(["p"], ["right"], answer=["4"])


def test_verl_reads_the_same_keys_for_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its manager makes columns of them; a number of the caller's may stand for a missing verdict."""
    monkeypatch.setattr(verl, "shared_client", lambda _: Service())
    given = {"assay_url": "http://x", "missing": -2.0, "reward_router_address": None}
    scored = verl.compute_scores(["d"] * 3, ["right", "wrong", "lost"], ["4"] * 3, [None] * 3, **given)

    assert scored == [
        {"score": 1.0, "outcome": "passed", "missing": 0.0},
        {"score": 0.0, "outcome": "failed", "missing": 0.0},
        {"score": -2.0, "outcome": "infra_error", "missing": 1.0},
    ]


def test_verl_hears_of_a_missing_verdict_unless_a_number_stands_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no None for a score: it raises."""
    monkeypatch.setattr(verl, "shared_client", lambda _: Service())
    with pytest.raises(InfraFault, match="no verdict"):
        verl.compute_score("d", "lost", "4", None, assay_url="http://x")


@pytest.fixture
def verls_threads() -> Iterator[None]:
    """The threads with which verl's file awaits, ended with the test: other tests count threads."""
    yield
    verl._threads(os.getpid()).shutdown()
    verl._threads.cache_clear()


@pytest.mark.usefixtures("verls_threads")
def test_verl_may_await_thousands_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them with one client and few threads, so with few connections."""
    asked, threads = list[object](), set[str]()

    class Threaded(Service):
        def run(self, tasks: Sequence[Mapping[str, Any]], attempts: Sequence[Mapping[str, Any]]) -> list[Result]:
            threads.add(threading.current_thread().name)
            return super().run(tasks, attempts)

    monkeypatch.setattr(verl, "shared_client", lambda url: asked.append(url) or Threaded())

    async def main() -> list[dict[str, Any]]:
        calls = (verl.compute_score_async("d", "right", "4", None, assay_url="http://x") for _ in range(1000))
        return await asyncio.gather(*calls)

    assert [one["score"] for one in asyncio.run(main())] == [1.0] * 1000
    assert set(asked) == {"http://x"}
    assert 0 < len(threads) <= 64


def test_verl_needs_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its address is an argument or ASSAY_URL."""
    monkeypatch.delenv("ASSAY_URL", raising=False)
    with pytest.raises(InfraFault, match="no service is named"):
        verl.compute_score("d", "right", "4", None)


def test_a_column_of_rewards_keeps_null(monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be pickled, as `datasets` does with what it maps in other processes."""
    monkeypatch.setattr(dataset_map, "shared_client", lambda _: Service())
    column = pickle.loads(pickle.dumps(dataset_map.RewardColumn("http://x", completion="text")))
    batch = {"text": ["right", "lost"], "task": ["4", 4], "other": [1, 2]}

    assert column(batch) == {"reward": [1.0, None]}
    with pytest.raises(KeyError, match="no column 'task'"):
        column({"text": ["right"]})
    with pytest.raises(KeyError, match="no column 'text'"):
        column({"task": ["4"]})


def test_open_r1_finds_both_functions_by_name() -> None:
    """The columns are those of its own data sets: `solution` and `verification_info`."""
    functions = open_r1.reward_functions(cast(Client, Service()))
    said = [[{"role": "assistant", "content": text}] for text in ("right", "lost")]
    tests = '{"language": "python", "test_cases": [{"input": "1", "output": "1"}]}'

    assert functions["accuracy"](prompts=["p", "p"], completions=said, solution=["4", "5"]) == [1.0, None]
    assert functions["code"](prompts=["p", "p"], completions=said, verification_info=[tests] * 2) == [1.0, None]
    assert [one.__name__ for one in functions.values()] == ["accuracy_reward", "code_reward"]


def test_prime_verifiers_hears_of_a_missing_verdict() -> None:
    """It is raised, not returned."""
    client = cast(AsyncClient, AwaitedService())

    assert asyncio.run(prime_verifiers.reward_of(client, "4", "right")) == 1.0
    with pytest.raises(InfraFault, match="no verdict"):
        asyncio.run(prime_verifiers.reward_of(client, "4", "lost"))


def test_a_rubric_is_never_given_a_zero_for_a_missing_verdict() -> None:
    """It takes what a function raises for a 0."""
    reward = prime_verifiers.rubric_function(cast(AsyncClient, AwaitedService()), as_error=RuntimeError)
    told = [{"role": "assistant", "content": "right"}]
    state: dict[str, Any] = {"error": None}

    assert asyncio.run(reward(completion=told, answer="", info={"task": TASK}, state=state)) == 1.0
    assert state == {"error": None}
    assert math.isnan(asyncio.run(reward(completion="lost", answer="4", info={}, state=state)))
    assert isinstance(state["error"], RuntimeError)


class _Broken(AwaitedService):
    """Its connections belong to an event loop that is over."""

    async def run(self, *_given: object) -> list[Result]:  # type: ignore[override]  # raises alone
        raise RuntimeError("Event loop is closed")


@pytest.mark.parametrize(
    ("service", "completion", "answer", "told"),
    [
        (_Broken(), "right", "4", "RuntimeError: Event loop is closed"),
        (AwaitedService(), 5, "4", "TypeError"),
        (AwaitedService(), "right", [], "label"),
    ],
)
def test_a_rubric_is_never_given_a_zero_for_a_fault(service: object, completion: Any, answer: Any, told: str) -> None:
    """Whatever is raised, and by whom."""
    state: dict[str, Any] = {"error": None}
    reward = prime_verifiers.rubric_function(cast(AsyncClient, service))

    assert math.isnan(asyncio.run(reward(completion=completion, answer=answer, info={}, state=state)))
    assert told in str(state["error"])


def test_a_process_keeps_its_own_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a fork, as a data loader makes, nothing is shared with the parent."""
    with rows.shared_client("http://x.test") as client:
        assert rows.shared_client("http://x.test") is client
        monkeypatch.setattr("os.getpid", lambda: -1)
        assert rows.shared_client("http://x.test") is not client


def test_a_completion_is_text_or_what_the_assistant_says() -> None:
    """Of a chat, all that the assistant says in text, a line each."""
    messages = [
        {"role": "system", "content": "s"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image", "text": None}]},
        {"role": "assistant", "content": "b"},
    ]

    assert (text_of("x"), text_of(messages)) == ("x", "a\nb")
    with pytest.raises(TypeError, match="not int"):
        text_of(3)


@pytest.mark.parametrize(
    ("completion", "sent", "is_cut"),
    [
        ("x" * MOST_BYTES, "x" * MOST_BYTES, False),
        ("x" * (MOST_BYTES + 1), "x" * MOST_BYTES, True),
        ("x" + "\u00e4" * (MOST_BYTES // 2), "x" + "\u00e4" * (MOST_BYTES // 2 - 1), True),
        ("xx" + "\ud800" * (MOST_BYTES // 3), "xx" + "\ud800" * (MOST_BYTES // 3 - 1), True),
    ],
    ids=["fits", "a byte too long", "amid a character", "amid a lone surrogate"],
)
def test_what_a_service_would_refuse_is_cut_and_says_so(completion: str, sent: str, *, is_cut: bool) -> None:
    """One completion without an end is no fault of its batch; what is sent is not larger than a service takes."""
    _, (attempt, short) = batch_of([{"task": TASK}] * 2, [completion, "right"], from_column("task"))

    assert attempt == {"task_id": "t", "completion": sent} | ({"truncated": True} if is_cut else {})
    assert short == {"task_id": "t", "completion": "right"}
    assert len(sent.encode("utf-8", "surrogatepass")) <= Settings().max_completion_bytes
