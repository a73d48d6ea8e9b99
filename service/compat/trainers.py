"""Reward servers as trainers call them: OpenRLHF's remote reward model, remote_rm of slime and miles, NeMo Gym.

A label is a task, the id of a stored one, or tests or an answer in one of the forms of `assay.labels`. None of these
protocols has a word for a missing reward: where an attempt has no verdict the whole call is answered with 503, which is
tried again, unless `?missing=NUMBER` says what stands for it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any  # Any: labels and answers are JSON

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.errors import InvalidRequest, ServiceUnavailable
from assay.labels import task_of_label
from assay.service.answers import json_answer
from assay.service.compat.judging import judge_all
from assay.service.parts import Parts

_HOLD_S = 3600.0
_MISSING = Query(None, description="The reward of an attempt without a verdict; default: the call fails.")


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
    router = APIRouter(tags=["compatibility"])

    @router.post("/openrlhf/get_reward")
    async def get_reward(asked: RewardModelRequest, request: Request, missing: float | None = _MISSING) -> Response:
        """Return a reward for each text."""
        completions = _without_prompts(asked.query, asked.prompts)
        results = await _judged(parts, request, asked.labels, completions, missing)
        rewards = [_reward(result, missing) for result in results]
        without = [float(result["reward"] is None) for result in results]
        return json_answer({"rewards": rewards, "scores": rewards, "extra_logs": {"missing": without}})

    @router.post("/remote_rm")
    async def remote_rm(asked: RemoteRmRequest, request: Request, missing: float | None = _MISSING) -> Response:
        """Return the reward of one sample, and what became of it; `--reward-key reward`."""
        (result,) = await _judged(parts, request, [asked.label], [asked.response], missing)
        told = {name: result[name] for name in ("outcome", "message", "terms")}
        return json_answer({"reward": _reward(result, missing), **told})

    @router.post("/verify")
    async def verify(asked: VerifyRequest, request: Request, missing: float | None = _MISSING) -> Response:
        """Return what was sent, with its reward."""
        label = _label_of(asked)
        (result,) = await _judged(parts, request, [label], [_text_of(asked.response)], missing)
        told = {"reward": _reward(result, missing), "reward_components": result["terms"], "outcome": result["outcome"]}
        return json_answer({**asked.model_dump(), **told})

    @router.post("/seed_session")
    async def seed_session() -> Response:
        """Begin nothing: verdicts depend on what is sent alone."""
        return json_answer({})

    @router.get("/reverify_mode")
    async def reverify_mode() -> Response:
        """Say that samples may be verified again at any time."""
        return json_answer({"reverify_mode": "stateless"})

    return router


def _without_prompts(queries: Sequence[str], prompts: Sequence[str]) -> list[str]:
    """Return what the model wrote: a text from behind its prompt."""
    if prompts and len(prompts) != len(queries):
        raise InvalidRequest(
            f"{len(prompts)} prompts for {len(queries)} texts", path="prompts", fix="give one for each"
        )
    given = prompts or [""] * len(queries)
    return [query.removeprefix(prompt) for query, prompt in zip(queries, given, strict=True)]


async def _judged(
    parts: Parts, request: Request, labels: Sequence[Any], completions: Sequence[str], missing: float | None
) -> list[dict[str, Any]]:
    """Return the results, in order. Raises InvalidRequest for labels that are none, ServiceUnavailable for gaps."""
    if len(labels) != len(completions):
        raise InvalidRequest(
            f"{len(labels)} labels for {len(completions)} texts", path="labels", fix="give one for each"
        )
    stored = await asyncio.to_thread(_stored, parts, labels)
    tasks = [label if isinstance(label, str) and label in stored else task_of_label(label) for label in labels]
    results = await judge_all(parts, request, tasks, completions, hold_s=_HOLD_S)
    lost = [result for result in results if result["reward"] is None]
    if lost and missing is None:
        raise ServiceUnavailable(f"{len(lost)} of {len(results)} attempts have no verdict: {lost[0]['message'][:300]}")
    return results


def _stored(parts: Parts, labels: Sequence[Any]) -> set[str]:
    """Return which labels are ids of stored tasks."""
    names = {label for label in labels if isinstance(label, str) and len(label) <= 512}
    return set(parts.batches.tasks.resolve(names)) if names else set()


def _reward(result: Mapping[str, Any], missing: float | None) -> float | None:
    return missing if result["reward"] is None else result["reward"]


def _label_of(asked: VerifyRequest) -> Any:
    beside = asked.model_extra or {}
    metadata = beside.get("verifier_metadata")
    if isinstance(metadata, Mapping):
        return metadata.get("task", metadata.get("unit_tests", metadata))
    for name in ("task", "label", "ground_truth", "expected_answer"):
        if name in beside:
            return beside[name]
    raise InvalidRequest("nothing says what is right", path="verifier_metadata", fix="send verifier_metadata.task")


def _text_of(response: Mapping[str, Any]) -> str:
    """Return what the assistant says in a response: the texts of its messages, in order."""
    parts: list[str] = []
    for item in response.get("output") or ():
        if not isinstance(item, Mapping) or item.get("type", "message") != "message":
            continue
        content = item.get("content")
        if isinstance(content, str):
            parts.append(content)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                parts.append(str(part.get("text", "")))
    return "\n".join(parts)
