"""Clients and `assay score --url` against a real service: nothing that the unit tests' fake only claims."""

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import httpx
import pytest
from broken_connections import CuttingTransport, LosingTransport

from assay.cli.demo import WORKED_EXAMPLE
from assay.cli.exits import Exit
from assay.clients import BatchStatus, GroupDone, TaskStats, VerifierDetails
from assay.clients.advantages import grpo, rewards_and_groups
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.errors import InvalidRequest, NotFound, Unauthorized
from assay.outcomes import Outcome
from assay.schema import Result
from assay.service.serve import embedded
from assay.settings import Settings, override

pytestmark = [pytest.mark.jail, pytest.mark.redis]

KEY = "key-of-the-test"
TASK = {"id": "t", "verifier": "run", "stdout": "3\n"}
SLEEPER = "import time; time.sleep(60)"


@pytest.fixture(scope="module")
def url(isolation: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service of its own, with one key."""
    del isolation
    settings = override(
        Settings(),
        {
            "port": 0,
            "data_dir": tmp_path_factory.mktemp("service"),
            "slots": 2,
            "api_keys": (KEY,),
            "log_level": "error",
        },
    )
    with embedded(settings) as address:
        yield address


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    """A client with the right key."""
    with Client(url, api_key=KEY) as made:
        yield made


def attempts(*completions: str) -> list[dict[str, Any]]:
    """Attempts for TASK."""
    return [{"task_id": "t", "completion": completion} for completion in completions]


def test_the_worked_example_through_http(client: Client) -> None:
    """Rewards 0, 0.5, 1, 0.5 and advantages -1.41, 0, 1.41, 0."""
    results = client.run(WORKED_EXAMPLE.tasks, WORKED_EXAMPLE.attempts)

    rewards, groups = rewards_and_groups(results)
    assert rewards == [0.0, 0.5, 1.0, 0.5]
    assert [round(value, 2) for value in grpo(rewards, groups, ddof=0).tolist()] == [-1.41, 0.0, 1.41, 0.0]
    assert [result.attempt for result in results] == list("ABCD")


def test_the_example_of_the_readme_does_what_it_says(url: str) -> None:
    """The client code of the README, as it stands there, gives the rewards that its comments promise."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    names: dict[str, Any] = {}

    exec(code.replace('"http://127.0.0.1:8700"', f'"{url}", api_key="{KEY}"'), names)

    assert names["rewards"] == [0.0, 0.5, 1.0, 0.5]
    assert "# [0.0, 0.5, 1.0, 0.5]" in code


def test_a_score_sent_again_under_a_key_is_the_first_one(client: Client) -> None:
    """The same call with the same key gets the very results of the first: nothing was judged again."""
    first, again = (client.score([TASK], attempts("print(3)"), idempotency_key="mine") for _ in range(2))

    assert first == again
    assert first[0].reward == 1.0


@pytest.mark.parametrize("call", ["score", "score_one"])
def test_a_score_whose_answer_was_lost_counts_once(url: str, call: str) -> None:
    """With a key: the client asks again by itself, and the task's record knows of one attempt."""
    transport = LosingTransport()
    task = {**TASK, "id": f"lost-{call}"}

    with Client(url, api_key=KEY, transport=transport) as client:
        if call == "score":
            (result,) = client.score([task], [{"task_id": task["id"], "completion": "print(3)"}], idempotency_key=call)
        else:
            result = client.score_one(task, "print(3)", idempotency_key=call)
        stats = client.task_stats(task["id"])

    assert (transport.lost, result.reward) == (1, 1.0)
    assert (stats.attempts, stats.passed, stats.mean_reward) == (1, 1, 1.0)


def test_a_run_that_was_killed_goes_on_under_its_key(client: Client) -> None:
    """Called again with the same batch, it gets the results of the one that exists."""
    batch = client.submit([TASK], attempts("print(3)", "print(4)"), idempotency_key="killed")

    again = client.run([TASK], attempts("print(3)", "print(4)"), idempotency_key="killed")

    assert {result.batch_id for result in again} == {batch.batch_id}
    assert [result.reward for result in again] == [1.0, 0.0]


def test_groups_are_told_as_they_complete(client: Client) -> None:
    """Each group once, behind the result that completed it."""
    rows = [{**row, "group": group} for group in ("a", "b") for row in attempts("print(3)", "print(4)")]

    events = list(client.iter_events(client.submit([TASK], rows)))

    groups = [one for one in events if isinstance(one, GroupDone)]
    assert len(events) == 6
    assert {(one.group, one.attempts, one.scored, one.mean_reward) for one in groups} == {
        ("a", 2, 2, 0.5),
        ("b", 2, 2, 0.5),
    }
    for place, one in enumerate(events):
        if isinstance(one, GroupDone):
            before = events[place - 1]
            assert isinstance(before, Result)
            assert (before.seq, before.group) == (one.seq, one.group)


def test_stored_tasks_are_named_and_counted(client: Client) -> None:
    """Stored together, scored by name, and recorded by content and policy version."""
    stored = client.store_tasks([{**TASK, "id": "kept-1"}, {**TASK, "id": "kept-2", "stdout": "4\n"}])
    rows = [{"task_id": name, "completion": "print(3)", "policy_version": "7"} for name in ("kept-1", "kept-2")]

    client.run([], rows)
    stats = [client.task_stats(name) for name in ("kept-1", "kept-2")]

    assert stored == 2
    assert [(one.attempts, one.passed, one.pass_rate) for one in stats] == [(1, 1, 1.0), (1, 0, 0.0)]
    assert stats[0].policy_versions["7"].attempts == 1
    assert client.task_stats("kept-1", content=stats[0].content) == stats[0]


def test_a_verifier_tells_its_schema_and_an_example_that_fits(client: Client) -> None:
    """The example is a task that the service takes."""
    names = [one.name for one in client.verifiers()]

    details = client.verifier("run")

    assert "run" in names
    assert "stdout" in details.task_schema["properties"]
    assert client.store_tasks([{**(details.example or {}), "id": "example", "verifier": "run"}]) == 1


def test_answers_hold_what_the_shared_types_say_and_nothing_else(url: str, client: Client) -> None:
    """Service and clients speak of one set of types: every field of an answer is a field of them."""
    batch = client.submit([TASK], attempts("print(3)"), idempotency_key="shared")
    client.wait(batch)
    headers = {"Authorization": f"Bearer {KEY}"}
    answers = {
        f"/v1/batches/{batch.batch_id}": BatchStatus,
        "/v1/tasks/t/stats": TaskStats,
        "/v1/verifiers/run": VerifierDetails,
    }
    for path, model in answers.items():
        document = httpx.get(url + path, headers=headers).raise_for_status().json()
        assert set(document) == {field.alias or name for name, field in model.model_fields.items()}, path
        assert json.loads(json.dumps(model.model_validate(document).document())) == document


def test_results_arrive_numbered_without_gaps(client: Client) -> None:
    """`seq` counts from 1; a reader who starts behind some gets the rest."""
    batch = client.submit([TASK], attempts(*["print(3)"] * 12))

    every = list(client.iter_results(batch.batch_id))
    rest = list(client.iter_results(batch.batch_id, after=7))

    assert [result.seq for result in every] == list(range(1, 13))
    assert [result.seq for result in rest] == list(range(8, 13))
    assert sorted(result.index for result in every) == list(range(12))


def test_the_same_key_is_the_same_batch(client: Client) -> None:
    """A batch handed in twice under one idempotency key runs once."""
    first = client.submit([TASK], attempts("print(3)"), idempotency_key="twice")
    second = client.submit([TASK], attempts("print(3)"), idempotency_key="twice")

    assert first.batch_id == second.batch_id


def test_status_counts_outcomes_and_groups(client: Client) -> None:
    """A finished batch says how many of what, and each group's mean."""
    batch = client.submit([TASK], attempts("print(3)", "print(4)"))
    client.wait(batch.batch_id)

    status = client.status(batch.batch_id)

    assert (status.total, status.done, status.scored, status.mean_reward) == (2, 2, 2, 0.5)
    assert status.outcomes == {"passed": 1, "failed": 1}
    assert status.groups["t"].mean_reward == 0.5


def test_cancelling_ends_a_batch_with_null_rewards(client: Client) -> None:
    """Running ones are killed, queued ones never start; all have results."""
    batch = client.submit([TASK], attempts(*[SLEEPER] * 6))

    client.cancel(batch.batch_id)

    results = client.wait(batch.batch_id)
    assert {(result.outcome, result.reward) for result in results} == {(Outcome.CANCELLED, None)}
    assert len(results) == 6


def test_cancelling_one_attempt_leaves_the_others(client: Client) -> None:
    """Only the chosen index is cancelled."""
    batch = client.submit([TASK], attempts("print(3)", SLEEPER, "print(3)"))

    client.cancel(batch.batch_id, attempts=[1])

    outcomes = [result.outcome for result in client.wait(batch.batch_id)]
    assert outcomes == [Outcome.PASSED, Outcome.CANCELLED, Outcome.PASSED]


def test_stored_tasks_need_not_be_sent(client: Client) -> None:
    """A stored task is known by its id in a later batch."""
    client.store_task({**TASK, "id": "stored"})

    (result,) = client.run([], [{"task_id": "stored", "completion": "print(3)"}])

    assert result.reward == 1.0


def test_surrogates_survive_the_way(client: Client) -> None:
    """A completion cut within an escape is judged, not refused."""
    result = client.score_one(TASK, "Here \ud83d it is:\n```python\nprint(3)\n```")

    assert result.outcome is Outcome.PASSED


def test_refusals_name_path_and_fix(client: Client) -> None:
    """The problem document becomes the exception."""
    with pytest.raises(InvalidRequest) as caught:
        client.submit([TASK], [{"task_id": "t", "completion": None}])

    assert caught.value.path == "attempts[0].completion"
    assert caught.value.fix


def test_unknown_batches_and_wrong_keys_are_told_apart(url: str, client: Client) -> None:
    """404 for what does not exist, 401 for who may not ask."""
    with pytest.raises(NotFound):
        client.status("nowhere")
    with Client(url, api_key="wrong") as stranger, pytest.raises(Unauthorized):
        stranger.verifiers()


def test_the_async_client_scores_many_at_once(url: str) -> None:
    """Concurrent one-attempt calls are all answered."""

    async def main() -> list[float | None]:
        async with AsyncClient(url, api_key=KEY) as client:
            results = await asyncio.gather(*(client.score_one(TASK, "print(3)") for _ in range(40)))
        return [result.reward for result in results]

    assert asyncio.run(main()) == [1.0] * 40


def test_the_async_client_follows_a_batch(url: str) -> None:
    """Submit, follow, sort: as the sync client does."""

    async def main() -> list[int]:
        async with AsyncClient(url, api_key=KEY) as client:
            return [result.index for result in await client.run([TASK], attempts(*["print(3)"] * 5))]

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


def test_a_cut_stream_loses_and_doubles_nothing(url: str) -> None:
    """After a break in the middle of a line the rest arrives once."""
    transport = CuttingTransport()

    with Client(url, api_key=KEY, transport=transport, sleep=lambda _: None) as client:
        results = client.run([TASK], attempts(*["print(3)"] * 20))

    assert transport.cuts == 1
    assert [result.index for result in results] == list(range(20))


def test_score_through_a_service_equals_score_here(
    url: str, assay: Callable[..., CompletedProcess[str]], cases: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--url` gives the same rewards, in the same order."""
    monkeypatch.setenv("ASSAY_API_KEYS", KEY)
    folder = cases / "worked-example"

    done = assay("score", folder / "task.json", folder / "group.jsonl", "--url", url)

    assert done.returncode == Exit.OK, done.stderr
    assert [json.loads(line)["reward"] for line in done.stdout.splitlines()] == [0.0, 0.5, 1.0, 0.5]
