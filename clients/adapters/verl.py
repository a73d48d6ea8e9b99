"""Reward functions for verl (volcengine/verl): give this file's path as `reward.custom_reward_function.path`.

    reward.custom_reward_function.path=…/assay/clients/adapters/verl.py
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.assay_url=http://host:8700

`ground_truth` is a task, or a label in one of the forms of `assay.labels`. verl has no word for a missing reward: an
attempt without a verdict raises, unless `missing` says which number stands for it.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any  # Any: columns belong to the data set

from assay.clients.adapters.rows import from_column, score_rows, score_rows_async
from assay.clients.async_client import AsyncClient
from assay.clients.client import Client
from assay.errors import InfraFault
from assay.schema import Result
from assay.settings import service_address

_TASK_OF = from_column("ground_truth")


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    assay_url: str | None = None,
    missing: float | None = None,
    **_others: Any,
) -> dict[str, Any]:
    """Return {"score", "outcome", "missing"} of one solution. Raises InfraFault where there is no verdict."""
    del data_source, extra_info
    (result,) = score_rows(_client(_url(assay_url)), [{"ground_truth": ground_truth}], [solution_str], _TASK_OF)
    return _scored(result, missing)


async def compute_score_async(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Any] | None = None,
    *,
    assay_url: str | None = None,
    missing: float | None = None,
    **_others: Any,
) -> dict[str, Any]:
    """Return what `compute_score` does, awaited: for verl's reward loop, which scores as samples finish."""
    del data_source, extra_info
    async with AsyncClient(_url(assay_url), api_key=service_address()[1]) as client:
        rows = [{"ground_truth": ground_truth}]
        (result,) = await score_rows_async(client, rows, [solution_str], _TASK_OF)
    return _scored(result, missing)


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Any] | None],
    *,
    assay_url: str | None = None,
    missing: float | None = None,
    **_others: Any,
) -> list[dict[str, Any]]:
    """Return the scores of a whole batch, for verl's batch reward manager: one request."""
    del data_sources, extra_infos
    rows = [{"ground_truth": one} for one in ground_truths]
    results = score_rows(_client(_url(assay_url)), rows, solution_strs, _TASK_OF)
    return [_scored(result, missing) for result in results]


@cache  # of the process: verl calls a plain function, once per sample, and connections are worth keeping
def _client(url: str) -> Client:
    return Client(url, api_key=service_address()[1])


def _url(given: str | None) -> str:
    url = given or service_address()[0]
    if not url:
        raise InfraFault("no service is named: give reward_kwargs.assay_url, or set ASSAY_URL")
    return url


def _scored(result: Result, missing: float | None) -> dict[str, Any]:
    """Return what verl logs; the keys are the same for all rows."""
    if result.reward is None and missing is None:
        raise InfraFault(
            f"no verdict ({result.outcome}): {result.message}; reward_kwargs.missing names a number for it"
        )
    score = missing if result.reward is None else result.reward
    return {"score": score, "outcome": str(result.outcome), "missing": float(result.reward is None)}
