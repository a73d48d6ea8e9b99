"""Trainers that ask a server for rewards, reduced to what they send, when they try again and what they read.

Written from what they are known to do (OpenRLHF/OpenRLHF, THUDM/slime, radixark/miles, NVIDIA-NeMo/Gym), not from their
code.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx


def openrlhf_rewards(
    call: httpx.Client, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any]
) -> dict[str, Any] | None:
    """Return what its remote reward model reads; None once all five tries have failed."""
    for _ in range(5):
        body = {"query": list(queries), "prompts": list(prompts), "labels": list(labels)}
        answer = call.post("/openrlhf/get_reward", json=body)
        if answer.status_code == 200:
            document: dict[str, Any] = answer.json()
            assert len(document["rewards"]) == len(queries)
            assert all(isinstance(one, float) for one in document["rewards"])
            assert len(document.get("scores", document["rewards"])) == len(queries)
            assert all(len(values) == len(queries) for values in document.get("extra_logs", {}).values())
            return document
    return None


class NoReward(Exception):
    """What slime raises after its last try."""


def slime_reward(call: httpx.Client, prompt: Any, response: str, label: Any) -> float:
    """Return the reward of a sample, by `--reward-key reward`; ten tries."""
    for _ in range(10):
        answer = call.post("/remote_rm", json={"prompt": prompt, "response": response, "label": label})
        if answer.status_code == 200:
            return float(answer.json()["reward"])
    raise NoReward(answer.text)


def gym_rollout(
    call: httpx.Client, text: str, verifier_metadata: Mapping[str, Any], *, missing: float | None = None
) -> dict[str, Any]:
    """Begin a session, send a response of the Responses API to be verified, end the session; return the row."""
    session = {"resources_session_id": "rollout-0-1"}
    assert call.post("/seed_session", json=session).json()["resources_session_id"] == "rollout-0-1"
    sent = {
        "responses_create_params": {
            "input": [{"role": "user", "content": "?"}], "temperature": 1.0, "max_output_tokens": 64,
        },
        "response": gym_response(text),
        "verifier_metadata": dict(verifier_metadata),
        "_ng_task_index": 0,
        "_ng_rollout_index": 1,
    }  # fmt: skip
    row = gym_verify(call, sent, missing)
    assert call.post("/close_session", json=session).status_code == 200
    return row


def gym_verify(call: httpx.Client, sent: Mapping[str, Any], missing: float | None = None) -> dict[str, Any]:
    """Return the row that `/verify` answers: all that was sent, with a reward that is a number."""
    answer = call.post("/verify", json=sent, params={} if missing is None else {"missing": missing})
    answer.raise_for_status()
    row: dict[str, Any] = answer.json()
    verdict = {"reward", "reward_components", "mask_sample", "failure_reason", "outcome", "_ng_failure_class"}
    assert {name: row[name] for name in sent if name not in verdict} == {
        name: value for name, value in sent.items() if name not in verdict
    }
    assert isinstance(row["reward"], float)
    assert all(isinstance(value, float) for value in row["reward_components"].values())
    return row


def gym_response(text: str) -> dict[str, Any]:
    """Return an object of the Responses API with every field that it has there."""
    content = [{"type": "output_text", "text": text, "annotations": [], "logprobs": None}]
    return {
        "id": "resp_1", "created_at": 0.0, "model": "m", "object": "response", "status": "completed", "error": None,
        "incomplete_details": None, "instructions": None, "metadata": None, "parallel_tool_calls": True,
        "tool_choice": "auto", "tools": [], "temperature": 1.0, "top_p": 1.0, "usage": None,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "\\boxed{9}"}]},
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content},
        ],
    }  # fmt: skip
