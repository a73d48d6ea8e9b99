"""Reward servers as trainers call them, field by field both ways: OpenRLHF, slime and miles, NeMo Gym."""

from typing import Any

import httpx
import pytest

NO_VERDICT = {"id": "none", "tests": []}


def test_openrlhf_judges_what_stands_behind_the_prompt(call: httpx.Client) -> None:
    """Its texts begin with a tokenizer's marks; a prompt that shows an answer earns nothing by itself."""
    prompt = "Example: 6 is \\boxed{6}. How much is 6 * 7?"
    body = {
        "query": [f"<|begin|>{prompt}\\boxed{{42}}<|end|>", f"<|begin|>{prompt}I do not know.<|end|>"],
        "prompts": [prompt, prompt],
        "labels": ["42", "6"],
        "unknown": 1,
    }

    answer = call.post("/openrlhf/get_reward", json=body)

    rewards = [1.0, 0.0]
    assert answer.json() == {"rewards": rewards, "scores": rewards, "extra_logs": {"missing": [0.0, 0.0]}}


@pytest.mark.parametrize(
    "fields",
    [
        {"prompts": ["another prompt"]},
        {"prompts": ["How", "How"]},
        {"labels": []},
        {"query": "How much?"},
        {"labels": [{"x": 1}]},
    ],
    ids=str,
)
def test_openrlhf_is_told_what_does_not_fit(call: httpx.Client, fields: dict[str, Any]) -> None:
    """A text without its prompt might be judged by the prompt."""
    body = {"query": ["How much? 4"], "prompts": ["How much?"], "labels": ["4"], **fields}

    assert call.post("/openrlhf/get_reward", json=body).status_code == 422


def test_openrlhf_has_missing_rewards_counted(call: httpx.Client) -> None:
    """Without a number the call is refused; with one the log says which are none."""
    body = {"query": ["\\boxed{4}", "x"], "prompts": [], "labels": ["4", NO_VERDICT]}

    assert call.post("/openrlhf/get_reward", json=body).status_code == 422
    answer = call.post("/openrlhf/get_reward", params={"missing": 0.5}, json=body).json()

    assert answer == {"rewards": [1.0, 0.5], "scores": [1.0, 0.5], "extra_logs": {"missing": [0.0, 1.0]}}


def test_slime_gets_every_field_of_a_sample(call: httpx.Client) -> None:
    """Its prompt may be text or messages; the reward is one key of what it gets."""
    body = {"prompt": [{"role": "user", "content": "?"}], "response": "It is \\boxed{4}.", "label": 4, "metadata": {}}

    answer = call.post("/remote_rm", json=body).json()

    assert set(answer) == {"reward", "outcome", "message", "terms"}
    assert (answer["reward"], answer["outcome"], answer["message"]) == (1.0, "passed", "")


def _verify(text: str, **fields: Any) -> dict[str, Any]:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "?"}], "temperature": 1.0},
        "response": {"id": "r", "object": "response", "output": [{"type": "reasoning", "summary": []}, message]},
        "_ng_task_index": 3,
        **fields,
    }


def test_nemo_gym_gets_its_request_back_verified(call: httpx.Client) -> None:
    """Every field of it, and those of a multi-reward answer."""
    sent = _verify("It is \\boxed{4}.", expected_answer="4")

    answer = call.post("/verify", json=sent).json()

    assert {name: answer[name] for name in sent} == sent
    told = {name: value for name, value in answer.items() if name not in sent}
    assert all(isinstance(value, float) for value in told.pop("reward_components").values())
    assert told == {"reward": 1.0, "outcome": "passed", "mask_sample": False, "failure_reason": None}


def test_a_part_without_text_says_nothing(call: httpx.Client) -> None:
    """Its null is no word: `None` is a program, and an answer."""
    sent = _verify("", verifier_metadata={"task": {"id": "t", "verifier": "run"}})
    sent["response"]["output"][1]["content"][0]["text"] = None

    assert call.post("/verify", json=sent).json()["outcome"] == "no_answer"


def test_nemo_gym_masks_a_sample_without_a_verdict(call: httpx.Client) -> None:
    """Only where a number may stand for it: who does not know the mask would take the number for a reward."""
    sent = _verify("x = 1", verifier_metadata={"task": NO_VERDICT})

    assert call.post("/verify", json=sent).status_code == 422
    answer = call.post("/verify", params={"missing": 0}, json=sent).json()

    assert (answer["reward"], answer["mask_sample"]) == (0.0, True)
    assert "no tests" in answer["failure_reason"]


def test_nemo_gym_begins_and_ends_sessions_that_do_nothing(call: httpx.Client) -> None:
    """A session that its caller names is named back."""
    named = {"resources_session_id": "s", "episode_id": "e", "task_id": "t", "task_data": {}}

    for path in ("/seed_session", "/close_session"):
        assert call.post(path, json={}).json() == {}
        assert call.post(path, json=named).json() == {"resources_session_id": "s"}
    assert call.get("/reverify_mode").json() == "stateless"


def test_nemo_gym_gets_metrics_by_task_and_of_all(call: httpx.Client) -> None:
    """Flat names; masked samples, indexes and what is no number have no part in them."""
    rows = [
        {"_ng_task_index": 0, "_ng_rollout_index": 0, "reward": 1.0, "mask_sample": False, "outcome": "passed"},
        {"_ng_task_index": 0, "_ng_rollout_index": 1, "reward": 0.0, "mask_sample": False, "huge": 10**400},
        {"_ng_task_index": 0, "_ng_rollout_index": 2, "reward": 0.0, "mask_sample": True},
        {"_ng_task_index": 7, "_ng_rollout_index": 0, "reward": 0.5},
    ]

    answer = call.post("/aggregate_metrics", json={"verify_responses": rows}).json()

    of_one = {"mean/reward": 0.5, "max/reward": 1.0, "min/reward": 0.0, "median/reward": 0.5}
    first, second = answer["group_level_metrics"]
    assert first == {"_ng_task_index": 0, **of_one, "std/reward": pytest.approx(0.5**0.5)}
    assert (second["_ng_task_index"], second["std/reward"]) == (7, 0.0)
    assert answer["agent_metrics"] == {**of_one, "std/reward": 0.5}
    assert answer["key_metrics"] == {"mean/reward": 0.5}
    assert call.post("/aggregate_metrics", json={"verify_responses": []}).json()["agent_metrics"] == {}
    assert call.post("/aggregate_metrics", json={"verify_responses": [1]}).status_code == 422
