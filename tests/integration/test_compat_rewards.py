"""Trainers that ask for rewards: OpenRLHF, slime and miles, NeMo Gym of a server; verl and TRL in their own process."""

import asyncio
from typing import Any

import httpx
import pytest
from reward_clients import NoReward, gym_response, gym_rollout, gym_verify, openrlhf_rewards, slime_reward

from assay.clients.adapters import trl, verl
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client

_NO_VERDICT = {"id": "none", "tests": []}
_TESTS = {"inputs": ["ab\n", "abc\n"], "outputs": ["ba\n", "x\n"]}


def test_openrlhf_gets_its_rewards(call: httpx.Client) -> None:
    texts = ["Say it: \\boxed{4}", "Say it: \\boxed{5}"]
    told = openrlhf_rewards(call, texts, ["Say it: "] * 2, ["4", "4"])
    assert told is not None
    assert told["rewards"] == [1.0, 0.0]


def test_openrlhf_leaves_a_reward_out_that_nobody_knows(call: httpx.Client) -> None:
    assert openrlhf_rewards(call, ["x"], [""], [_NO_VERDICT]) is None


def test_slime_gets_a_reward_or_raises(call: httpx.Client) -> None:
    assert slime_reward(call, "?", "print(input()[::-1])", _TESTS) == 0.5
    with pytest.raises(NoReward, match="no verdict"):
        slime_reward(call, "?", "x", _NO_VERDICT)


@pytest.mark.parametrize(
    ("text", "metadata", "reward"),
    [
        ("print(input()[::-1])", {"unit_tests": _TESTS}, 0.5),
        (
            "```python\ndef add(a, b): return a + b\n```",
            {"unit_tests": {"inputs": [[1, 2], [3, 4]], "outputs": [3, 8], "fn_name": "add"}},
            0.5,
        ),
        ("It is \\boxed{4}.", {"task": {"verifier": "math", "answer": "4"}}, 1.0),
        ("I do not know.", {"task": {"verifier": "math", "answer": "9"}}, 0.0),
    ],
)
def test_nemo_gym_verifies_a_rollout(call: httpx.Client, text: str, metadata: dict[str, Any], reward: float) -> None:
    """What a model has reasoned is no answer; nothing says that the row has failed."""
    row = gym_rollout(call, text, metadata)
    assert (row["reward"], row["mask_sample"], "_ng_failure_class" in row) == (reward, False, False)


def test_nemo_gym_keeps_a_row_apart_that_has_no_verdict(call: httpx.Client) -> None:
    """By a class of failure, which it writes to another file, and verifies again."""
    row = gym_rollout(call, "x = 1", {"task": _NO_VERDICT}, missing=0.0)
    assert (row["reward"], row["mask_sample"], row["_ng_failure_class"]) == (0.0, True, "task_error")


def test_nemo_gym_verifies_again_what_had_failed(call: httpx.Client) -> None:
    """A row may be sent as it came back: what an earlier call said of it is replaced, its failure too."""
    sent = {"responses_create_params": {"input": []}, "response": gym_response("\\boxed{4}"), "expected_answer": "4"}
    stale = {"reward": 0.0, "mask_sample": True, "failure_reason": "x", "_ng_failure_class": "infra_error"}

    assert call.get("/reverify_mode").json() == "stateless"
    row = gym_verify(call, sent | stale | {"reward_components": {"old": 1.0}})

    assert (row["reward"], row["mask_sample"], row["failure_reason"]) == (1.0, False, None)
    assert "_ng_failure_class" not in row
    assert "old" not in row["reward_components"]


def test_nemo_gym_aggregates_the_rows_that_were_verified(call: httpx.Client) -> None:
    rows = [gym_rollout(call, f"\\boxed{{{answer}}}", {"task": "4"}) for answer in (4, 5)]
    masked = gym_rollout(call, "x", {"task": _NO_VERDICT}, missing=0.0)

    told = call.post("/aggregate_metrics", json={"verify_responses": [*rows, masked]}).json()

    assert set(told) == {"group_level_metrics", "agent_metrics", "key_metrics"}
    assert told["key_metrics"] == {"mean/reward": 0.5}
    assert [one["_ng_task_index"] for one in told["group_level_metrics"]] == [0]


@pytest.fixture
def verl_call(compat_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's address, where a worker of verl finds it."""
    monkeypatch.setenv("ASSAY_URL", compat_url)


@pytest.mark.usefixtures("verl_call")
def test_verl_computes_a_score_as_its_managers_call_for_it() -> None:
    """By name, with what they pass besides; the same keys for every row, and a number to take the mean of."""
    calls = [
        {"data_source": "s", "solution_str": text, "ground_truth": _TESTS, "extra_info": {"index": 1}}
        for text in ("print(input()[::-1])", "print(1)")
    ]
    scores = [verl.compute_score(**one) for one in calls]
    later = asyncio.run(verl.compute_score_async(**calls[0]))

    assert [one["score"] for one in scores] == [0.5, 0.0]
    assert scores[0].keys() == scores[1].keys() == later.keys()
    assert later["score"] == 0.5


def test_trl_calls_a_reward_function_with_all_it_has(compat_url: str) -> None:
    """Columns of the data set and what its trainer adds; None is what it leaves out of a group."""
    columns: dict[str, Any] = {
        "prompts": ["?"] * 3, "completions": ["\\boxed{4}", "\\boxed{5}", "x"], "completion_ids": [[1]] * 3,
        "task": ["4", "4", _NO_VERDICT], "trainer_state": object(), "log_extra": lambda *_: None,
        "log_metric": lambda *_: None,
    }  # fmt: skip
    with Client(compat_url) as client:
        assert trl.reward_function(client)(**columns) == [1.0, 0.0, None]

    async def later() -> list[float | None]:
        async with AsyncClient(compat_url) as client:
            return await trl.async_reward_function(client)(**columns)

    assert asyncio.run(later()) == [1.0, 0.0, None]


def test_openrlhf_gets_a_reward_for_each_text(call: httpx.Client) -> None:
    task = {"id": "inc", "tests": ["f(1) == 2", "f(2) == 3"]}
    texts = ["Write f.\ndef f(x): return x + 1", "Write f.\ndef f(x): return 2"]
    body = {"query": texts, "prompts": ["Write f.\n"] * 2, "labels": [task, task]}
    answer = call.post("/openrlhf/get_reward", json=body).json()
    assert answer == {"rewards": [1.0, 0.5], "scores": [1.0, 0.5], "extra_logs": {"missing": [0.0, 0.0]}}


def test_a_missing_reward_is_no_number_unless_the_caller_names_one(call: httpx.Client) -> None:
    """A task without tests is nobody's 0; to try again does not mend it."""
    body = {"prompt": "p", "response": "x = 1", "label": _NO_VERDICT}
    refused = call.post("/remote_rm", json=body)
    assert (refused.status_code, refused.json()["path"]) == (422, "label")
    assert "?missing=NUMBER" in refused.json()["fix"]
    told = call.post("/remote_rm", params={"missing": -1}, json=body).json()
    assert (told["reward"], told["outcome"]) == (-1.0, "task_error")


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("/verify", {"label": _NO_VERDICT}, "label"),
        ("/verify", {"verifier_metadata": {"task": _NO_VERDICT}}, "verifier_metadata.task"),
        ("/verify", {"verifier_metadata": _NO_VERDICT}, "verifier_metadata"),
        ("/openrlhf/get_reward", {"query": ["x", "x"], "labels": ["7", _NO_VERDICT]}, "labels[1]"),
    ],
)
def test_a_task_at_fault_is_named_by_its_place_in_the_call(
    call: httpx.Client, path: str, body: dict[str, Any], place: str
) -> None:
    response = {"output": [{"type": "message", "content": "x = 1"}]}
    refused = call.post(path, json={"response": response, **body})
    assert (refused.status_code, refused.json()["path"]) == (422, place)


def test_an_answer_is_no_name_of_a_stored_task(call: httpx.Client) -> None:
    """Ids of tasks are often numbers, as answers are: what somebody has stored under one would judge all of those."""
    call.put("/v1/tasks/42", json={"verifier": "run", "stdout": "7\n"}).raise_for_status()

    def reward(response: str, label: Any) -> float:
        answer = call.post("/remote_rm", json={"prompt": "p", "response": response, "label": label})
        return float(answer.json()["reward"])

    assert [reward(text, "42") for text in (r"\boxed{42}", "print(7)")] == [1.0, 0.0]
    assert [reward("print(7)", label) for label in ({"task_id": "42"}, '{"task_id": "42"}')] == [1.0, 1.0]
    unknown = call.post("/remote_rm", json={"prompt": "p", "response": "x", "label": {"task_id": "nobody"}})
    assert unknown.status_code in (404, 422)


def test_slime_names_a_stored_task(call: httpx.Client) -> None:
    call.put("/v1/tasks/stored-7", json={"verifier": "run", "stdout": "7\n"}).raise_for_status()
    answer = call.post("/remote_rm", json={"prompt": "p", "response": "print(7)", "label": "stored-7"}).json()
    assert (answer["reward"], answer["outcome"]) == (1.0, "passed")


def test_nemo_gym_gets_its_request_back_with_a_reward(call: httpx.Client) -> None:
    response = {
        "id": "r", "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "content": [{"type": "output_text", "text": "print(input()[::-1])"}]},
        ],
    }  # fmt: skip
    sent = {
        "responses_create_params": {"input": "reverse"},
        "response": response,
        "verifier_metadata": {"unit_tests": {"inputs": ["ab", "abc"], "outputs": ["ba", "x"]}},
    }
    answer = call.post("/verify", json=sent).json()
    assert {name: answer[name] for name in sent} == sent
    assert answer["reward"] == 0.5
    assert call.get("/reverify_mode").json() == "stateless"
