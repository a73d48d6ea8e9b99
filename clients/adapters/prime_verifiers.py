"""Rewards for environments of `verifiers` (PrimeIntellect-ai/verifiers), of both its interfaces.

From 0.2 on a task has methods that are rewards; one that raises leaves the reward unset and its rollout with an error,
which trainers leave out:

    class Sum(vf.Task[SumData]):
        @vf.reward
        async def solved(self, trace: vf.Trace) -> float:
            return await reward_of(client, self.data.answer, trace.last_reply)

Before, a rubric had functions, and took one that raised for a 0. `rubric_function` notes any fault in `state["error"]`,
by which trainers leave a rollout out, and returns NaN, unless `missing` names a number:

    vf.Rubric(funcs=[rubric_function(client)])
"""

import math
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any  # Any: answers and messages belong to the environment

from assay.clients.adapters.rows import from_column, score_rows_async
from assay.clients.async_client import AsyncClient
from assay.errors import AssayError, InfraFault

_LABEL = "label"
_TASK_OF = from_column(_LABEL)


async def reward_of(client: AsyncClient, label: object, completion: object) -> float:
    """Return the reward of one completion; the label is a task, or one of the forms of `assay.labels`.

    Raises InfraFault where there is no verdict, and what the client raises.
    """
    (result,) = await score_rows_async(client, [{_LABEL: label}], [completion], _TASK_OF)
    if result.reward is None:
        raise InfraFault(f"no verdict ({result.outcome}): {result.message}")
    return result.reward


def rubric_function(
    client: AsyncClient,
    *,
    name: str = "assay",
    missing: float = math.nan,
    as_error: Callable[[str], Exception] = InfraFault,
) -> Callable[..., Awaitable[float]]:
    """Return a reward function for a rubric: the label is `info["task"]`, or else the row's `answer`.

    `name` is what metrics call it; `missing` stands for a missing reward; `as_error` makes what is then noted in
    `state["error"]`: give `vf.InfraError`.
    """

    async def reward(completion: Any, answer: Any, info: Any, state: MutableMapping[str, Any]) -> float:
        task = info.get("task") if isinstance(info, dict) else None
        try:
            return await reward_of(client, answer if task is None else task, _as_messages(completion))
        except Exception as error:  # noqa: BLE001 - a rubric takes whatever is raised for a 0: none may reach it
            kind = "" if isinstance(error, AssayError) else f"{type(error).__name__}: "
            state["error"] = as_error(f"{kind}{error}")
            return missing

    reward.__name__ = name
    return reward


def _as_messages(completion: Any) -> Any:
    """Messages are dictionaries, or models of the same fields."""
    if isinstance(completion, str):
        return completion
    return [one if isinstance(one, dict) else one.model_dump() for one in completion]
