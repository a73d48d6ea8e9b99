"""slime and miles with Assay as their remote reward model.

    --rm-type remote_rm --rm-url http://127.0.0.1:8700/remote_rm --reward-key reward

This program sends what they do: a sample at a time. Here its label names a task that is stored once, so that long tests
do not travel with every sample.
"""

import os

import httpx

from assay.clients import Client

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")
TASK = {"id": "add", "tests": ["add(1, 2) == 3", "add(-1, 1) == 0"]}


def main() -> None:
    """Store a task, and ask for the rewards of two samples."""
    with Client(URL) as client:
        client.store_task(TASK)
    rewards = []
    for response in ("def add(a, b): return a + b", "def add(a, b): return 3"):
        sent = {"prompt": "Write add.", "response": response, "label": TASK["id"]}
        rewards.append(httpx.post(f"{URL}/remote_rm", json=sent, timeout=180).raise_for_status().json()["reward"])
    print("rewards:", rewards)


if __name__ == "__main__":
    main()
