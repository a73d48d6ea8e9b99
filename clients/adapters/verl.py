"""Reward functions for verl (volcengine/verl): give this file's path as `reward.custom_reward_function.path`.

    reward.custom_reward_function.path=…/assay/clients/adapters/verl.py
    reward.custom_reward_function.name=compute_score
    +reward.custom_reward_function.reward_kwargs.assay_url=http://host:8700

`ground_truth` is a task, a label in one of the forms of `assay.labels`, or an answer. Answers of the data sets that
verl itself knows by `data_source` (GSM8K, DAPO, AIME, Search-R1) are judged by the hardened profiles of what it does
for them, as `assay score --format verl` judges them. verl has no word for a missing reward: an attempt without a
verdict raises, unless `missing` says which number stands for it.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any  # Any: columns belong to the data set

from assay.clients.adapters.rows import Row, score_rows, shared_client
from assay.clients.formats.trainers import verl_task
from assay.errors import InfraFault
from assay.schema import Result

_AT_ONCE = 64
"""Solutions scored at once by a process that awaits them; more wait."""


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
    del extra_info
    row = {"data_source": data_source, "ground_truth": ground_truth}
    (result,) = score_rows(shared_client(assay_url), [row], [solution_str], _task_of)
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
    given: dict[str, Any] = {"assay_url": assay_url, "missing": missing}
    scoring = partial(compute_score, data_source, solution_str, ground_truth, extra_info, **given)
    return await asyncio.get_running_loop().run_in_executor(_threads(os.getpid()), scoring)


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
    del extra_infos
    named = zip(data_sources, ground_truths, strict=True)
    rows = [{"data_source": source, "ground_truth": truth} for source, truth in named]
    results = score_rows(shared_client(assay_url), rows, solution_strs, _task_of)
    return [_scored(result, missing) for result in results]


@cache  # by process: verl awaits thousands at once, and a connection for each would be more than it may open
def _threads(process_id: int) -> ThreadPoolExecutor:
    del process_id
    return ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="assay")


def _task_of(row: Row) -> Mapping[str, Any]:
    return verl_task(str(row["data_source"] or ""), row["ground_truth"])


def _scored(result: Result, missing: float | None) -> dict[str, Any]:
    """Return what verl logs; the keys are the same for all rows."""
    if result.reward is None and missing is None:
        raise InfraFault(
            f"no verdict ({result.outcome}): {result.message}; reward_kwargs.missing names a number for it"
        )
    score = missing if result.reward is None else result.reward
    return {"score": score, "outcome": str(result.outcome), "missing": float(result.reward is None)}
