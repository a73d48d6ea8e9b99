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
