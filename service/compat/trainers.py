"""Reward servers as trainers call them: OpenRLHF's remote reward model, remote_rm of slime and miles, NeMo Gym.

A label is a task, the name of a stored one, or tests or an answer in one of the forms of `assay.labels`. None of these
protocols has a word for a missing reward: where an attempt has no verdict the whole call is answered with 503, which is
tried again, or with 422 if a task is at fault, unless `?missing=NUMBER` says what stands for it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any  # Any: labels and answers are JSON

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.errors import InvalidRequest, ServiceUnavailable
from assay.labels import stored_name, task_of_label
from assay.outcomes import Outcome
from assay.service.answers import json_answer
from assay.service.compat.judging import judge_all
from assay.service.compat.routing import peer_route
from assay.service.parts import Parts

_HOLD_S = 3600.0
_METADATA = "verifier_metadata"
_Placed = tuple[str, Any]
"""A label behind its path in the call."""
_FAILURE = "_ng_failure_class"
"""By which NeMo Gym tells rows without a verdict, which it keeps apart and verifies again; an earlier one is void."""
_MISSING = Query(
    None, allow_inf_nan=False, description="The reward of an attempt without a verdict; default: the call fails."
)


class _Tolerant(BaseModel):
    model_config = ConfigDict(extra="ignore")


class RewardModelRequest(_Tolerant):
    """OpenRLHF: whole texts, the prompts that they begin with, and labels."""

    query: list[str]
    prompts: list[str] = Field(default_factory=list)
    labels: list[Any]


class RemoteRmRequest(_Tolerant):
    """slime and miles: one sample."""

    prompt: Any = None
    response: str
    label: Any


class VerifyRequest(BaseModel):
    """NeMo Gym: a response of OpenAI's form, and what its data set keeps beside it; all of it is handed back."""

    model_config = ConfigDict(extra="allow")

    response: dict[str, Any]


def trainer_routes(parts: Parts) -> APIRouter:
    """Return the routes."""
    router = APIRouter(tags=["compatibility"], route_class=peer_route(parts))

    @router.post("/openrlhf/get_reward")
    async def get_reward(asked: RewardModelRequest, request: Request, missing: float | None = _MISSING) -> Response:
        """Return a reward for each text."""
        completions = _without_prompts(asked.query, asked.prompts)
        labels = [(f"labels[{number}]", label) for number, label in enumerate(asked.labels)]
        results = await _judged(parts, request, labels, completions, missing)
        rewards = [_reward(result, missing) for result in results]
        without = [float(result["reward"] is None) for result in results]
        return json_answer({"rewards": rewards, "scores": rewards, "extra_logs": {"missing": without}})

    @router.post("/remote_rm")
    async def remote_rm(asked: RemoteRmRequest, request: Request, missing: float | None = _MISSING) -> Response:
        """Return the reward of one sample, and what became of it; `--reward-key reward`."""
        (result,) = await _judged(parts, request, [("label", asked.label)], [asked.response], missing)
        told = {name: result[name] for name in ("outcome", "message", "terms")}
        return json_answer({"reward": _reward(result, missing), **told})

    @router.post("/verify")
    async def verify(asked: VerifyRequest, request: Request, missing: float | None = _MISSING) -> Response:
        """Return what was sent, with its reward."""
        (result,) = await _judged(parts, request, [_label_of(asked)], [_text_of(asked.response)], missing)
        return json_answer(_verified(asked, result, missing))

    return router


def _verified(asked: VerifyRequest, result: Mapping[str, Any], missing: float | None) -> dict[str, Any]:
    """Return what was sent with its reward, and how a sample without a verdict is told from others."""
    lacks = result["reward"] is None
    told = {
        "reward": _reward(result, missing),
        "reward_components": result["terms"],
        "outcome": result["outcome"],
        "mask_sample": lacks,
        "failure_reason": result["message"] if lacks else None,
    }
    if lacks:
        told |= {_FAILURE: result["outcome"]}
    sent = {name: value for name, value in asked.model_dump().items() if name != _FAILURE}
    return {**sent, **told}


def _without_prompts(queries: Sequence[str], prompts: Sequence[str]) -> list[str]:
    """Return what the model wrote: a text from behind its prompt."""
    if prompts and len(prompts) != len(queries):
        raise InvalidRequest(
            f"{len(prompts)} prompts for {len(queries)} texts", path="prompts", fix="give one for each"
        )
    return [_behind(query, prompt) for query, prompt in zip(queries, prompts or [""] * len(queries), strict=True)]


def _behind(query: str, prompt: str) -> str:
    """Tokenizers write marks before a prompt; a prompt itself must never be judged, it may hold an answer."""
    _, found, completion = query.partition(prompt) if prompt else ("", "", query)
    if prompt and not found:
        raise InvalidRequest("a text does not hold its prompt", path="query", fix="send completions, and no prompts")
    return completion


async def _judged(
    parts: Parts, request: Request, labels: Sequence[_Placed], completions: Sequence[str], missing: float | None
) -> list[dict[str, Any]]:
    """Return the results, in order; each label comes with its path in the call.

    Raises InvalidRequest for labels that are none, and as `_refuse_gaps`.
    """
    if len(labels) != len(completions):
        raise InvalidRequest(
            f"{len(labels)} labels for {len(completions)} texts", path="labels", fix="give one for each"
        )
    places = [place for place, _ in labels]
    tasks = await asyncio.to_thread(_tasks_of, parts, [label for _, label in labels])
    results = await judge_all(parts, request, tasks, completions, hold_s=_HOLD_S, places=places)
    if missing is None:
        _refuse_gaps(results, places)
    return results


def _refuse_gaps(results: Sequence[Mapping[str, Any]], places: Sequence[str]) -> None:
    """Raise InvalidRequest if tasks are at fault for missing rewards, which no retry mends, else ServiceUnavailable."""
    lost = [(number, result) for number, result in enumerate(results) if result["reward"] is None]
    if not lost:
        return
    number, first = next((one for one in lost if one[1]["outcome"] == Outcome.TASK_ERROR), lost[0])
    told = (
        f"{len(lost)} of {len(results)} attempts have no verdict, that at place {number} for: {first['message'][:300]}"
    )
    if first["outcome"] == Outcome.TASK_ERROR:
        fix = "mend the task, or name a number that stands for a missing reward: ?missing=NUMBER"
        raise InvalidRequest(told, path=places[number], fix=fix)
    raise ServiceUnavailable(told)


def _tasks_of(parts: Parts, labels: Sequence[Any]) -> list[Mapping[str, Any] | str]:
    """Return what labels mean: a task, or the id of a stored one."""
    names = [stored_name(label) for label in labels]
    asked = {name for name, is_certain in names if name and not is_certain}
    stored = set(parts.batches.tasks.resolve(asked)) if asked else set()
    return [
        name if name and (is_certain or name in stored) else task_of_label(label)
        for label, (name, is_certain) in zip(labels, names, strict=True)
    ]


def _reward(result: Mapping[str, Any], missing: float | None) -> float | None:
    return missing if result["reward"] is None else result["reward"]


def _label_of(asked: VerifyRequest) -> _Placed:
    """Return what says what is right, and where it stands. Raises InvalidRequest if nothing does."""
    beside = asked.model_extra or {}
    metadata = beside.get(_METADATA)
    if isinstance(metadata, Mapping):
        name = next((name for name in ("task", "unit_tests") if name in metadata), None)
        return (_METADATA, metadata) if name is None else (f"{_METADATA}.{name}", metadata[name])
    for name in ("task", "label", "ground_truth", "expected_answer"):
        if name in beside:
            return name, beside[name]
    raise InvalidRequest("nothing says what is right", path=_METADATA, fix="send verifier_metadata.task")


def _text_of(response: Mapping[str, Any]) -> str:
    """Return what the assistant says in a response: the texts of its messages, in order."""
    parts: list[str] = []
    output = response.get("output")
    if not isinstance(output, list):
        raise InvalidRequest("output is no list", path="response.output", fix="send a Responses object")
    for item in output:
        if not isinstance(item, Mapping) or item.get("type", "message") != "message":
            continue
        if item.get("role", "assistant") != "assistant":
            continue  # what others said is nobody's answer
        content = item.get("content")
        if isinstance(content, str):
            parts.append(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                parts.append(str(part.get("text") or ""))
    return "\n".join(parts)
