"""A real rubric of prime `verifiers` 0.1 with Assay's function; run by `script/test-prime`, where it is installed."""

import asyncio
import json
import math
import os
from importlib.metadata import version
from typing import Any

import verifiers as vf
from assay.clients import AsyncClient
from assay.clients.adapters.prime_verifiers import rubric_function

PROGRAM = {"id": "sum", "verifier": "run", "stdout": "3\n"}
ROLLOUTS = (
    ("42", {}, "It is \\boxed{42}."),
    ("42", {}, "It is \\boxed{41}."),
    ("", {"task": PROGRAM}, "```python\nprint(1 + 2)\n```"),
    ("", {"task": json.dumps(PROGRAM)}, "```python\nprint(4)\n```"),
    ("", {"task": {"id": "broken", "tests": []}}, "x = 1"),
)


def state(answer: str, info: dict[str, Any], reply: str) -> vf.State:
    """A rollout that has ended, as an environment hands it to its rubric."""
    task = {"prompt": [{"role": "user", "content": "?"}], "answer": answer, "info": info, "example_id": 0}
    made = vf.State.for_task(task)
    made["completion"] = [{"role": "assistant", "content": reply}]
    return made


async def scored() -> list[vf.State]:
    """Have the rubric score every rollout, beside a function of its own with another weight."""

    def length(completion: Any) -> float:
        return float(len(completion[0]["content"]))

    async with AsyncClient(os.environ["ASSAY_URL"]) as client:
        rubric = vf.Rubric(funcs=[rubric_function(client, as_error=vf.InfraError), length], weights=[1.0, 0.0])
        states = [state(*one) for one in ROLLOUTS]
        for one in states:
            await rubric.score_rollout(one)
    return states


def main() -> None:
    """Run, print, and assert: a missing verdict is an error and no number, and never a 0."""
    *judged, broken = asyncio.run(scored())
    for one in (*judged, broken):
        print("reward:", one["reward"], "metrics:", one["metrics"], "error:", repr(one["error"]))
    assert [one["metrics"]["assay"] for one in judged] == [1.0, 0.0, 1.0, 0.0]
    assert [one["reward"] for one in judged] == [1.0, 0.0, 1.0, 0.0]
    assert all(one["error"] is None for one in judged)
    assert math.isnan(broken["reward"]), broken["reward"]
    assert isinstance(broken["error"], vf.InfraError), broken["error"]
    print(f"verifiers {version('verifiers')}, a rubric's function: passed")


if __name__ == "__main__":
    main()
