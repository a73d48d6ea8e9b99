"""An environment in the oracle's jail: made from a task, stepped with a player's actions, judged by the task's source.

Gymnasium is imported when a stage is set, so that this module can be imported where it is not installed.
"""

import importlib
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any  # Any: spaces, observations and actions are of every shape

from assay.verifiers.environment.record import IllegalRule, Record, Script, was_spared
from assay.verifiers.environment.turns import NoTurns, Turns
from assay.verifiers.environment.values import NotPlain, informed, observed, size_of
from assay.verifiers.program.returned import WHOLE, Unusable, number, read_returned
from assay.verifiers.program.verify_program import define
from assay.verifiers.split.loading import describe
from assay.verifiers.split.plan import Broken

_MOST_TRAJECTORY = 128 * 2**20  # bytes of observations
_NAMES_SHOWN, _NAME_SHOWN = 8, 20  # names of actions in a message, and characters of each


class Failed(Exception):
    """The environment, or the task's source, failed on this episode; says how."""


class Over(Exception):
    """The player has no further action."""


Choose = Callable[[Any, dict[str, Any]], Any]
"""From an observation and the info to an action of plain values. Raises Over."""


@dataclass
class Stage:
    """An environment that stands at its first observation."""

    script: Script
    env: Any
    observation: Any
    info: dict[str, Any]
    verify: Callable[..., Any] | None = None
    progress: Callable[..., Any] | None = None
    trajectory: list[dict[str, Any]] = field(default_factory=list)
    held: int = 0
    """Bytes of the observations in the trajectory."""
    turns: Turns = field(default_factory=NoTurns)
    """Where it is noted when environment and source are at work."""


def set_up(script: Script) -> Stage:
    """Make and reset the environment, and define the task's functions. Raises Broken: no completion took part."""
    stage = _made(script)
    _check_actions(stage)
    try:
        if script.source is not None:
            stage.verify = define(script.source, "verify")
            stage.progress = define(script.source, "progress") if script.progress else None
    except BaseException as error:
        raise Broken(f"the task's source cannot be run: {describe(error)}") from error
    needed = size_of(stage.observation) * script.max_steps
    if needed > _MOST_TRAJECTORY:
        raise Broken(f"{script.max_steps} observations take {needed >> 20} MB: lower max_steps")
    return stage


def _made(script: Script) -> Stage:
    """Return the environment at its first observation. Raises Broken."""
    for module in ("gymnasium", *script.modules):
        try:
            importlib.import_module(module)
        except BaseException as error:
            raise Broken(f"the module {module} cannot be imported: {describe(error)}") from error
    try:
        gymnasium = sys.modules["gymnasium"]
        made = gymnasium.make(script.env, disable_env_checker=True, **script.kwargs)
        observation, info = made.reset(seed=script.seed, options=script.options)
        return Stage(script, made, observed(observation), informed(info))
    except BaseException as error:
        raise Broken(f"the environment {script.env} cannot be set up: {describe(error)}") from error


def _check_actions(stage: Stage) -> None:
    """Raise Broken if an action that the task itself names is none of the environment's."""
    # Here, not at the top: only where gymnasium is installed, and warm there.
    from assay.verifiers.environment.actions import Illegal, as_action

    named = {f"action_names: {name[:80]!r}": action for name, action in stage.script.names.items()}
    if stage.script.illegal is IllegalRule.NOOP:
        named["noop_action"] = stage.script.noop
    for where, action in named.items():
        try:
            as_action(stage.env.action_space, action)
        except Illegal as error:
            raise Broken(f"{where} stands for no action of {stage.script.env}: {error}") from error


def play(stage: Stage, choose: Choose) -> Record:
    """Step the environment until it ends, the player does, or `max_steps` are made. Raises Failed, and what `choose`
    raises but for Over."""
    # Here, not at the top: only where gymnasium is installed, and warm there.
    from assay.verifiers.environment.actions import Illegal, as_action

    script, record = stage.script, Record()
    while record.steps < script.max_steps and not (record.terminated or record.truncated or record.is_lost):
        try:
            chosen = choose(stage.observation, stage.info)
        except Over:
            break
        try:
            action = as_action(stage.env.action_space, _named(script, chosen))
        except Illegal as error:
            record.illegal += 1
            record.note = record.note or f"action {record.steps + 1}: {error}{_known(script, chosen)}"
            if script.illegal is IllegalRule.FAIL:
                record.is_lost = True
                break
            record.steps += 1
            if script.illegal is IllegalRule.IGNORE:
                continue
            action = _noop(stage, script.noop)
        else:
            record.steps += 1
        _step(stage, record, action)
    record.is_cut = record.steps >= script.max_steps and not (record.terminated or record.truncated)
    record.truncated |= record.is_cut
    return record


def judge(stage: Stage, record: Record) -> None:
    """Have the task's functions judge the episode, and enter what they say. Raises Failed."""
    if record.is_lost:
        return
    final = {
        "observation": stage.observation,
        "info": stage.info,
        "return": record.total,
        "steps": record.steps,
        "illegal": record.illegal,
        "terminated": record.terminated,
        "truncated": record.truncated,
        "env": stage.env.unwrapped,
    }
    if stage.verify is None:
        goal = stage.script.success_return
        assert goal is not None  # a task has one of the two
        can_count = goal > 0 or not was_spared(record, stage.script.illegal)
        record.verified = float(can_count and record.total >= goal)
        return
    record.verified, record.said = _share(stage, "verify", stage.verify, final)
    if stage.progress is not None:
        record.progress, _ = _share(stage, "progress", stage.progress, final)


def _named(script: Script, chosen: Any) -> Any:
    return script.names.get(chosen, chosen) if isinstance(chosen, str) else chosen


def _known(script: Script, chosen: Any) -> str:
    """Say of a text that is no action which texts are, as far as that is short."""
    if not isinstance(chosen, str) or chosen in script.names:
        return ""
    if not script.names:
        return "; the task has no action_names"
    shown = ", ".join(name[:_NAME_SHOWN] for name in list(script.names)[:_NAMES_SHOWN])
    more = f" and {len(script.names) - _NAMES_SHOWN} more" if len(script.names) > _NAMES_SHOWN else ""
    return f"; names of actions, letter case counts: {shown}{more}"


def _noop(stage: Stage, value: Any) -> Any:
    from assay.verifiers.environment.actions import Illegal, as_action  # see above

    try:
        return as_action(stage.env.action_space, value)
    except Illegal as error:
        raise Failed(f"noop_action: {error}") from error


def _step(stage: Stage, record: Record, action: Any) -> None:
    seen = {"observation": stage.observation, "info": stage.info, "action": action}
    try:
        with stage.turns.stage():
            with _alarm(stage.script.wall_s):
                observation, reward, terminated, truncated, info = stage.env.step(action)
            stage.observation, stage.info = observed(observation), informed(info)
            gain = number(reward)
    except (NotPlain, Unusable) as error:
        raise Failed(f"the environment gave what is no observation or reward: {error}") from error
    except BaseException as error:
        raise Failed(f"the environment failed at action {record.steps}: {describe(error)}") from error
    record.total += gain
    record.terminated, record.truncated = bool(terminated), bool(truncated)
    stage.trajectory.append({**seen, "reward": gain, "terminated": record.terminated, "truncated": record.truncated})
    stage.held += size_of(stage.observation)
    if stage.held > 2 * _MOST_TRAJECTORY:
        raise Failed("the observations take too much memory: lower max_steps")


def _share(stage: Stage, name: str, function: Callable[..., Any], final: dict[str, Any]) -> tuple[float, str]:
    """Return what a function of the task's, of this name, says, from 0 to 1, and its message."""
    try:
        with stage.turns.stage(), _alarm(stage.script.wall_s):
            found = read_returned(function(stage.trajectory, final))
    except Unusable as error:
        raise Failed(f"{name}: {error}") from error
    except BaseException as error:
        raise Failed(f"{name} raised {describe(error)}") from error
    if found.terms.keys() != {WHOLE} or not 0.0 <= found.terms[WHOLE] <= 1.0:
        raise Failed(f"{name} returned {dict(found.terms)}; it must be a bool, or a number from 0 to 1")
    return found.terms[WHOLE], found.message


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes longer. Whoever had set the alarm before has it again afterwards."""

    def ring(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TimeoutError(f"it took longer than {seconds:g} s (wall_s)")

    handler = signal.signal(signal.SIGALRM, ring)
    timer = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)
