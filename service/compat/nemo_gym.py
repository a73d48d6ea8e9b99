"""What NeMo Gym asks of a resources server besides `/verify`: sessions, whether samples can be verified again, metrics.

Shapes: NVIDIA-NeMo/Gym, nemo_gym/base_resources_server.py and reward_profile.py. Its metrics are flat, named
`mean/reward`; here masked samples have no part in them.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any  # Any: fields of environments, unparsed JSON

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict

from assay.service.answers import json_answer
from assay.service.compat.routing import peer_route
from assay.service.parts import Parts

Row = Mapping[str, Any]
_TASK = "_ng_task_index"
_NO_METRICS = frozenset({_TASK, "_ng_rollout_index", "mask_sample"})
_LARGEST = 1e100
"""No metric is larger, and sums of these and of their squares are finite."""
_KEY = "mean/"


class Session(BaseModel):
    """What a session is called, where its caller names it."""

    model_config = ConfigDict(extra="ignore")

    resources_session_id: str | None = None


class AggregateMetricsRequest(BaseModel):
    """Answers of `/verify`, each with its reward and the number of its task."""

    model_config = ConfigDict(extra="ignore")

    verify_responses: list[dict[str, Any]]


def nemo_gym_routes(parts: Parts) -> APIRouter:
    """Return the routes. Verdicts depend on what is sent alone: no session begins or ends anything."""
    router = APIRouter(tags=["compatibility"], route_class=peer_route(parts))

    @router.post("/seed_session")
    async def seed_session(asked: Session | None = None) -> Response:
        """Begin nothing."""
        return json_answer(_named(asked))

    @router.post("/close_session")
    async def close_session(asked: Session | None = None) -> Response:
        """End nothing."""
        return json_answer(_named(asked))

    @router.get("/reverify_mode")
    async def reverify_mode() -> Response:
        """Say that samples may be verified again at any time."""
        return Response('"stateless"', media_type="application/json")

    @router.post("/aggregate_metrics")
    async def aggregate_metrics(asked: AggregateMetricsRequest) -> Response:
        """Return statistics of every number that samples have: by task, and of all."""
        return json_answer(aggregated(asked.verify_responses))

    return router


def aggregated(rows: Sequence[Row]) -> dict[str, Any]:
    """Return mean, max, min, median and sample deviation (0 of one) of each numeric field: by task, and of all."""
    valid = [row for row in rows if row.get("mask_sample") is not True]
    by_task: dict[str, list[Row]] = {}
    for row in valid:
        by_task.setdefault(repr(row.get(_TASK)), []).append(row)
    groups = [{_TASK: group[0].get(_TASK), **_described(group)} for group in by_task.values()]
    overall = _described(valid)
    key = {name: value for name, value in overall.items() if name.startswith(_KEY)}
    return {"group_level_metrics": groups, "agent_metrics": overall, "key_metrics": key}


def _described(rows: Sequence[Row]) -> dict[str, float]:
    columns: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row.items():
            if isinstance(value, (bool, int, float)) and abs(value) <= _LARGEST and name not in _NO_METRICS:
                columns.setdefault(name, []).append(float(value))
    return {f"{kind}/{name}": value for name, values in sorted(columns.items()) for kind, value in _statistics(values)}


def _statistics(values: Sequence[float]) -> Sequence[tuple[str, float]]:
    return (
        ("mean", statistics.fmean(values)),
        ("max", max(values)),
        ("min", min(values)),
        ("median", statistics.median(values)),
        ("std", statistics.stdev(values) if len(values) > 1 else 0.0),
    )


def _named(session: Session | None) -> dict[str, str]:
    name = None if session is None else session.resources_session_id
    return {} if name is None else {"resources_session_id": name}
