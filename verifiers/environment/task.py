"""The task model of the verifier `environment`."""

import json
from collections.abc import Iterator
from enum import StrEnum
from typing import Any, ClassVar, Literal, Self  # Any: settings of an environment and its actions are JSON of any shape

from pydantic import ConfigDict, Field, field_validator, model_validator

from assay.verifiers.environment.record import IllegalRule, Script
from assay.verifiers.program.task import SourcedTask
from assay.verifiers.python_task import Dotted
from assay.verifiers.refusals import misplaced
from assay.verifiers.requirements import document_including, including
from assay.verifiers.rules.rule import Factor, Profile

LIBRARY = "gymnasium"
"""The module that every task of an environment requires."""
_OF_PREFIX = {"MiniGrid-": "minigrid", "BabyAI-": "minigrid"}
_PLANNED = """\
def verify(trajectory, final):
    \"\"\"Reached the goal, and by no more than eight steps.\"\"\"
    return final["terminated"] and final["return"] > 0 and len(trajectory) <= 8
"""
_BALANCED = """\
def verify(trajectory, final):
    return not final["terminated"] and abs(final["observation"][0]) < 2.4

def progress(trajectory, final):
    return len(trajectory) / 200
"""


class Player(StrEnum):
    """What the completion is."""

    ACTIONS = "actions"
    """A list of actions, made in order."""
    POLICY = "policy"
    """A Python program with a function `policy(observation)` that returns the next action."""


class EnvironmentTask(SourcedTask):
    """An episode in a gymnasium environment: reward = 1 if it is verified, plus terms that `weights` names.

    The completion is a list of actions or a policy program. The environment, made by `env`, `kwargs` and `seed`, is
    stepped in the oracle's jail, and the task's functions judge there when the episode is over; a policy runs in the
    candidate's jail, another process, and sees observations only. Verified is what `verify` of the `source` returns (a
    bool, or a share), or else a return of at least `success_return`. Further terms, of weight 0 unless `weights` says
    otherwise: `return` (where `return_range` is given), `progress` (where the source has it), `illegal`, `steps` and
    `format`. Without an episode, or if the policy fails, the reward is the lowest.
    An environment that raises on a legal action, and a source that fails on an episode, are worth what `on_error` says.
    Sources: SIMA 2, arXiv 2512.04797 (verification functions); the environments: Farama-Foundation/Gymnasium.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "id": "lake",
                    "verifier": "environment",
                    "env": "FrozenLake-v1",
                    "kwargs": {"is_slippery": False},
                    "action_names": {"left": 0, "down": 1, "right": 2, "up": 3},
                    "source": _PLANNED,
                    "weights": {"verified": 1, "steps": 0},
                },
                {
                    "id": "pole",
                    "verifier": "environment",
                    "env": "CartPole-v1",
                    "player": "policy",
                    "max_steps": 200,
                    "source": _BALANCED,
                    "progress": True,
                    "weights": {"verified": 0.5, "progress": 0.5},
                },
                {
                    "id": "grid",
                    "verifier": "environment",
                    "env": "MiniGrid-Empty-5x5-v0",
                    "requires": ["gymnasium", "minigrid"],
                    "action_names": {"left": 0, "right": 1, "forward": 2},
                    "success_return": 0.1,
                    "profile": "sima2/paper",
                },
            ]
        }
    )
    PROFILES: ClassVar[tuple[Profile, ...]] = (
        Profile(
            "sima2/paper",
            {"weights": {"verified": 1.0}},
            "arXiv 2512.04797",
            "1 or 0 by a verification function over the final state or the trajectory, nothing shaped; the functions "
            "and the environments of the paper are not public",
        ),
    )

    verifier: Literal["environment"] = "environment"
    requires: tuple[str, ...] = (LIBRARY,)
    """Modules a worker must have; gymnasium is always among them, and minigrid where `env` is one of its own. Any other
    is imported before the environment is made, so that it can register its own."""
    env: str = Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_./:-]{0,199}$")
    """The environment's registered id, such as `FrozenLake-v1`."""
    kwargs: dict[str, Any] = Field(default_factory=dict)
    """Arguments that it is made with; it is never rendered."""
    seed: int = Field(0, ge=0, lt=2**31)
    """The seed of its reset: the same seed and actions are the same trajectory."""
    options: dict[str, Any] | None = None
    """Options of its reset."""
    player: Player = Player.ACTIONS
    """What the completion is."""
    answer_tag: str | None = Field("answer", pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=64)
    """The last block of this tag, else the last fenced block, holds the actions; else what follows a tag that nothing
    closes, or the last line if it is a list; null makes it the whole completion."""
    action_names: dict[str, Any] = Field(default_factory=dict, max_length=1000)
    """What texts stand for among the actions, such as `{"left": 0}`; each must stand for an action of the environment's
    space, or the task cannot be judged."""
    max_steps: int = Field(1000, ge=1, le=100_000)
    """Steps after which the episode is cut, if the environment has not ended it by then. One that is cut counts as left
    off: only a return above 0 is worth anything then, as a `success_return` or in the term `return`."""
    illegal: IllegalRule = IllegalRule.FAIL
    """What an action does that is not in the action space."""
    noop_action: Any = None
    """The action that stands in for illegal ones (`illegal: noop`)."""
    info: bool = False
    """Whether the policy is called as `policy(observation, info)`."""
    forbid: tuple[Dotted, ...] = ()
    """Modules and names whose use in the policy is a `violation`, such as `gymnasium`. Found in the syntax tree, for
    honest models: `__import__('gymna' + 'sium')` passes. The jail is the wall; against planning ahead,
    name another `seed`."""
    source: str | None = Field(None, min_length=1, max_length=1_000_000)
    """Trusted Python source of `verify(trajectory, final)`, and of `progress(trajectory, final)` where that is asked
    for; each returns a bool or a number from 0 to 1. See docs/environments.md for what they are given."""
    success_return: float | None = Field(None, allow_inf_nan=False)
    """Without a source, the sum of rewards from which on the episode is verified. Of an episode that was left off, was
    ended by an illegal action or passed over one (`illegal: ignore`), only a sum above 0 is."""
    return_range: tuple[Factor, Factor] | None = None
    """Sums of rewards that the term `return` maps to 0 and 1; beyond them it is cut. The lower one is at least 0 for
    an episode that was not played as `success_return` has it."""
    progress: bool = False
    """Whether the source defines `progress`, which becomes the term of that name."""

    @field_validator("requires")
    @classmethod
    def _require_the_library(cls, requires: tuple[str, ...]) -> tuple[str, ...]:
        return including(requires, (LIBRARY,))

    @model_validator(mode="before")
    @classmethod
    def _require_the_envs_own(cls, document: Any) -> Any:
        if not isinstance(document, dict) or not isinstance(document.get("env"), str):
            return document
        needed = [module for prefix, module in _OF_PREFIX.items() if document["env"].startswith(prefix)]
        return document_including(document, needed) if needed else document

    @model_validator(mode="after")
    def _agree(self) -> Self:
        for place, what, fix in (*_faults_of_judging(self), *_faults_of_playing(self)):
            raise misplaced((place,), what, fix, absent=getattr(self, place) is None)
        return self


def _faults_of_judging(task: EnvironmentTask) -> Iterator[tuple[str, str, str]]:
    """Yield fields that say how an episode is judged and do not go with the others: name, what is wrong, what to do."""
    if task.source is None and task.success_return is None:
        yield (
            "source",
            "nothing says when the episode is verified",
            "give a source that defines verify(trajectory, final), or success_return",
        )
    if task.source is not None and task.success_return is not None:
        yield "success_return", "the source says when the episode is verified", "give one of the two"
    if task.progress and task.source is None:
        yield "progress", "there is no source that defines it", "give one instead of success_return, or leave this out"
    if task.return_range is not None and task.return_range[0] >= task.return_range[1]:
        yield "return_range", "the first of the two must be the lower", "write [lowest, highest]"


def _faults_of_playing(task: EnvironmentTask) -> Iterator[tuple[str, str, str]]:
    """Yield fields that say how an episode is made or played, likewise."""
    given = task.model_fields_set
    if task.illegal is IllegalRule.NOOP and task.noop_action is None:
        yield "noop_action", "required with `illegal: noop`: the action that stands in for illegal ones", ""
    if task.illegal is not IllegalRule.NOOP and task.noop_action is not None:
        yield "noop_action", f"not read with `illegal: {task.illegal}`", "leave it out, or say `illegal: noop`"
    if task.player is Player.POLICY and "answer_tag" in given:
        yield "answer_tag", "not read for `player: policy`", "leave it out"
    for name in ("info", "forbid") if task.player is Player.ACTIONS else ():
        if getattr(task, name):
            yield name, "not read for `player: actions`", "leave it out, or say `player: policy`"
    if task.kwargs.get("render_mode") is not None:
        yield "kwargs", "environments are not rendered", "leave render_mode out"
    for name in ("kwargs", "options", "action_names", "noop_action"):
        try:
            json.dumps(getattr(task, name), allow_nan=False)
        except (ValueError, RecursionError) as error:
            yield name, f"this is no JSON: {error}", "write finite numbers, texts, lists and objects"


def script_of(task: EnvironmentTask, wall_s: float) -> Script:
    """Return what the jail needs of a task."""
    return Script(
        env=task.env,
        kwargs=task.kwargs,
        seed=task.seed,
        options=task.options,
        modules=[name for name in task.requires if name != LIBRARY],
        max_steps=task.max_steps,
        illegal=task.illegal,
        noop=task.noop_action,
        names=task.action_names,
        source=task.source,
        success_return=task.success_return,
        progress=task.progress,
        wall_s=wall_s,
        with_info=task.info,
    )
