"""Reward functions for open-r1 (huggingface/open-r1), under the names by which its recipes choose them.

    REWARD_FUNCS_REGISTRY.update(reward_functions(Client("http://host:8700")))

Its trainer is TRL's: `None` leaves a completion out of its group. Its data sets keep an answer in the column
`solution`, tests in `verification_info`.
"""

from collections.abc import Callable
from typing import Any  # Any: tasks are JSON documents

from assay.clients.adapters.rows import Row, from_column
from assay.clients.adapters.trl import Rewards, reward_function
from assay.clients.client import Client

_ANYWHERE = "open-r1/paper"
"""The profile by which an answer is looked for where open-r1 looks: a box, else a formula, a line, a number."""


def reward_functions(client: Client) -> dict[str, Callable[..., Rewards]]:
    """Return `accuracy` and `code`: the share of a row's tests that pass, or 1 for a right answer."""
    return {
        "accuracy": reward_function(client, _answer_of, name="accuracy_reward"),
        "code": reward_function(client, from_column("verification_info"), name="code_reward"),
    }


def _answer_of(row: Row) -> dict[str, Any]:
    task = dict(from_column("solution")(row))
    if task.get("verifier") != "math" or "profile" in task:
        return task
    del task["id"]  # it is of the content, which changes
    return {**task, "profile": _ANYWHERE}
