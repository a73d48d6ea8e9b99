"""What TRL's trainer does with Assay's rewards; run by `script/test-trl`, where TRL is installed.

A group with one missing reward: TRL gets None, leaves it out of the group's mean and deviation, and goes on.
"""

import asyncio
import json
import math
import runpy
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from datasets import Dataset, Features, Value

from assay.clients import AsyncClient, Client
from assay.clients.adapters.dataset_map import RewardColumn
from assay.clients.adapters.rows import from_column
from assay.clients.adapters.trl import async_reward_function, reward_function

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "trainers"
Rewards = list[float | None]
seen: dict[str, list[Rewards]] = {}


def noted(reward: Callable[..., Any]) -> Callable[..., Any]:
    """Return the reward function, or the one to be awaited, with what it returns printed and remembered."""

    def note(rewards: Rewards) -> Rewards:
        print(f"{reward.__name__} rewarded {rewards}", flush=True)
        seen.setdefault(reward.__name__, []).append(rewards)
        return rewards

    def called(**columns: Any) -> Rewards:
        return note(reward(**columns))

    async def awaited(**columns: Any) -> Rewards:
        pending: Awaitable[Rewards] = reward(**columns)
        return note(await pending)

    chosen: Callable[..., Any] = awaited if asyncio.iscoroutinefunction(reward) else called
    chosen.__name__ = reward.__name__
    return chosen


def sometimes_broken() -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """Return what makes tasks of rows, every fourth of them one that has no tests, which has no verdict."""
    numbers, usual = count(), from_column("task")
    return lambda row: {"id": "broken", "tests": []} if next(numbers) % 4 == 3 else usual(row)


def trained(train: Callable[..., Any], rewards: Sequence[Callable[..., Any]]) -> list[dict[str, Any]]:
    """Train two steps; return what they logged, which is finite whatever is missing."""
    with tempfile.TemporaryDirectory() as folder:
        history = train([noted(one) for one in rewards], folder).state.log_history
    steps = [entry for entry in history if "reward" in entry]
    for entry in steps:
        print({name: value for name, value in entry.items() if "reward" in name or name in ("step", "loss")})
    assert len(steps) == 2, steps
    assert all(math.isfinite(entry[name]) for entry in steps for name in ("loss", "reward", "grad_norm")), steps
    return steps


def mapped(url: str) -> Sequence[float | None]:
    """Return the column that `Dataset.map` adds, in batches of two, the first without any verdict."""
    rows = [{"task": {"id": "none", "tests": []}, "completion": "x"}] * 2
    rows += [{"task": "42", "completion": "\\boxed{42}"}, {"task": "42", "completion": "\\boxed{41}"}]
    table = Dataset.from_list([{**row, "task": json.dumps(row["task"])} for row in rows])
    features = Features({**table.features, "reward": Value("float64")})
    return list(table.map(RewardColumn(url), batched=True, batch_size=2, features=features)["reward"])


def main() -> None:
    """Run, print, and assert."""
    example = runpy.run_path(str(EXAMPLES / "trl_grpo.py"))
    train, url = example["train"], example["URL"]
    with Client(url) as client:
        trained(train, [async_reward_function(AsyncClient(url), name="awaited")])
        (steps, _) = trained(train, [reward_function(client, sometimes_broken(), name="with_gaps")])
    gaps = [one for rewards in seen["with_gaps"] for one in rewards]
    assert [number for number, one in enumerate(gaps) if one is None] == [3, 7, 11, 15], gaps
    assert steps["assay/missing_rewards"] == 0.25, steps
    assert None not in [one for rewards in seen["awaited"] for one in rewards]
    assert len(seen["awaited"]) == 2, seen
    print("Dataset.map added", column := mapped(url))
    assert column == [None, None, 1.0, 0.0], column
    example["main"]()
    runpy.run_path(str(EXAMPLES / "dataset_map.py"))["main"]()
    print("TRL: passed")


if __name__ == "__main__":
    main()
