"""Tasks in the frozen lake, and episodes in this process: no jail is needed to play."""

from typing import Any

import pytest

from assay.verifiers.builtin import default_registry
from assay.verifiers.environment.record import Record, Script
from assay.verifiers.environment.stage import Choose, Over, Stage, judge, play, set_up
from assay.verifiers.environment.task import EnvironmentTask, script_of
from assay.verifiers.requirements import missing_modules

REGISTRY = default_registry()
LAKE: dict[str, Any] = {"env": "FrozenLake-v1", "kwargs": {"is_slippery": False}, "success_return": 1}
SOLVED = [1, 1, 2, 2, 1, 2]
gymnasium = pytest.mark.skipif(bool(missing_modules(["gymnasium"])), reason="needs the extra `environments`")


def parse(**fields: Any) -> EnvironmentTask:
    """A task in the frozen lake."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "environment", **LAKE, **fields})
    assert isinstance(task, EnvironmentTask)
    return task


def script(**fields: Any) -> Script:
    """What the jail is told of such a task."""
    return script_of(parse(**fields), wall_s=5.0)


def following(actions: list[Any]) -> Choose:
    """A player that makes these actions."""
    left = iter(actions)

    def choose(observation: Any, info: dict[str, Any]) -> Any:
        del observation, info
        for action in left:
            return action
        raise Over

    return choose


def episode(actions: list[Any], **fields: Any) -> tuple[Stage, Record]:
    """Play and judge a list of actions."""
    stage = set_up(script(**fields))
    record = play(stage, following(actions))
    judge(stage, record)
    return stage, record
