"""A reward function for TRL's trainers (huggingface/trl), and for what is built on them, such as Unsloth.

    trainer = GRPOTrainer(model, reward_funcs=reward_function(Client("http://host:8700")), train_dataset=rows, …)

TRL calls it with the columns of the data set; `None` leaves an attempt out of its group's statistics.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any  # Any: columns belong to the data set

from assay.clients.adapters.rows import Row, TaskOf, from_column, score_rows, score_rows_async
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.schema import Result

Rewards = list[float | None]
_NOT_COLUMNS = frozenset({"prompts", "completions", "completion_ids", "trainer_state", "log_extra", "log_metric"})
_MISSING = "assay/missing_rewards"


def reward_function(client: Client, task_of: TaskOf | None = None, *, name: str = "assay") -> Callable[..., Rewards]:
    """Return a reward function; `task_of` makes a task of a row, default: from its column `task`.

    `name` is what TRL logs it under.
    """
    chosen = task_of or from_column("task")

    def reward(prompts: Sequence[object], completions: Sequence[object], **columns: Any) -> Rewards:
        return _told(score_rows(client, _rows(prompts, columns), completions, chosen), columns)

    reward.__name__ = name
    return reward


def async_reward_function(
    client: AsyncClient, task_of: TaskOf | None = None, *, name: str = "assay"
) -> Callable[..., Awaitable[Rewards]]:
    """Return a reward function that TRL awaits beside others."""
    chosen = task_of or from_column("task")

    async def reward(prompts: Sequence[object], completions: Sequence[object], **columns: Any) -> Rewards:
        return _told(await score_rows_async(client, _rows(prompts, columns), completions, chosen), columns)

    reward.__name__ = name
    return reward


def _rows(prompts: Sequence[object], columns: Mapping[str, Any]) -> list[Row]:
    kept = {name: column for name, column in columns.items() if name not in _NOT_COLUMNS and isinstance(column, list)}
    return [
        {"prompt": prompt, **{name: column[n] for name, column in kept.items()}} for n, prompt in enumerate(prompts)
    ]


def _told(results: Sequence[Result], columns: Mapping[str, Any]) -> Rewards:
    """Return the rewards, and tell TRL, where it listens, for what share there is none."""
    rewards = [result.reward for result in results]
    log_metric = columns.get("log_metric")
    if callable(log_metric) and rewards:
        log_metric(_MISSING, sum(reward is None for reward in rewards) / len(rewards))
    return rewards
