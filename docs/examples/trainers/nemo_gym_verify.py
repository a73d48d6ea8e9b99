"""NeMo Gym with Assay in the place of a resources server: its agents call the same addresses.

`verifier_metadata` of a row holds `unit_tests`, or `task`: a task of Assay. This program sends what NeMo Gym does: one
sample to be verified, then the verified ones for their metrics. With `?missing=0` a sample without a verdict has
`mask_sample` true, by which it is left out; without, the call fails and is repeated.
"""

import os
from typing import Any

import httpx

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")


def sample(rollout: int, text: str) -> dict[str, Any]:
    """Return one sample as an agent sends it."""
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return {
        "responses_create_params": {"input": [{"role": "user", "content": "Reverse the line."}]},
        "response": {"id": "resp", "object": "response", "output": [message]},
        "verifier_metadata": {"unit_tests": {"inputs": ["ab\n", "xyz\n"], "outputs": ["ba\n", "zyx\n"]}},
        "_ng_task_index": 0,
        "_ng_rollout_index": rollout,
    }


def main() -> None:
    """Verify two samples, and aggregate."""
    programs = ["print(input()[::-1])", "print('ba')"]
    with httpx.Client(base_url=URL, timeout=180) as gym:
        verified = [
            gym.post("/verify", json=sample(number, program)).raise_for_status().json()
            for number, program in enumerate(programs)
        ]
        metrics = gym.post("/aggregate_metrics", json={"verify_responses": verified}).raise_for_status().json()
    print("rewards:", [one["reward"] for one in verified])
    print("mean:", metrics["key_metrics"]["mean/reward"])


if __name__ == "__main__":
    main()
