"""What travels between worker and jail for an episode: the task's side of it, and what became of it. JSON both ways."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any  # Any: settings of an environment and its actions are JSON of any shape

_SHOWN = 300  # characters of each text, so that a record fits a message


class IllegalRule(StrEnum):
    """What an action does that is not in the action space."""

    FAIL = "fail"
    """It ends the episode, which is not verified."""
    IGNORE = "ignore"
    """Nothing, but it counts as one of `max_steps`."""
    NOOP = "noop"
    """The environment is given `noop_action` instead."""


class BadRecord(Exception):
    """What was sent is no record."""


@dataclass(frozen=True)
class Script:
    """What a stage is set up from; the fields are those of the task."""

    env: str
    kwargs: dict[str, Any]
    seed: int
    options: dict[str, Any] | None
    modules: list[str]
    max_steps: int
    illegal: IllegalRule
    noop: Any
    names: dict[str, Any]
    source: str | None
    success_return: float | None
    progress: bool
    wall_s: float
    """Seconds that one step of the environment, or one of the task's functions, may take."""
    with_info: bool


@dataclass
class Record:
    """What became of an episode."""

    steps: int = 0
    """Actions made, and illegal ones that did not end the episode."""
    illegal: int = 0
    total: float = 0.0
    """The sum of rewards."""
    terminated: bool = False
    truncated: bool = False
    is_cut: bool = False
    """`max_steps` ended it, before the environment did; `truncated` holds too."""
    is_lost: bool = False
    """An illegal action ended it."""
    surplus: int = 0
    """Actions of the list that were left when it ended."""
    verified: float = 0.0
    progress: float = 0.0
    note: str = ""
    """The first illegal action."""
    said: str = ""
    """What the task's `verify` had to say."""


def was_spared(record: Record, illegal: IllegalRule) -> bool:
    """Whether rewards are missing from the return because the player did not play: `illegal` is the task's rule.

    It left off, `max_steps` cut the episode before the environment ended it, an illegal action did, or illegal ones
    were ignored. Where rewards are negative, nothing beats doing nothing; so a return is then no achievement by what it
    was spared.
    """
    is_ended = (record.terminated or record.truncated) and not record.is_cut
    return record.is_lost or not is_ended or (illegal is IllegalRule.IGNORE and record.illegal > 0)


def pack_script(script: Script) -> str:
    """Return a script as JSON."""
    return json.dumps(asdict(script))


def unpack_script(text: str) -> Script:
    """Return what `pack_script` was given."""
    document = json.loads(text)
    return Script(**{**document, "illegal": IllegalRule(document["illegal"])})


def pack_record(record: Record) -> str:
    """Return a record as JSON of at most some 900 characters."""
    cut = {name: value[:_SHOWN] if isinstance(value, str) else value for name, value in asdict(record).items()}
    return json.dumps(cut, ensure_ascii=False)


def unpack_record(text: str) -> Record:
    """Return what `pack_record` was given. Raises BadRecord."""
    try:
        found: Mapping[str, Any] = json.loads(text)
        record = Record(**found)
    except (ValueError, TypeError, RecursionError) as error:
        raise BadRecord(f"not a record: {error}") from error
    for part in fields(Record):
        value = getattr(record, part.name)
        if type(value) is not type(part.default) or (isinstance(value, float) and not math.isfinite(value)):
            raise BadRecord(f"{part.name} is a {type(value).__name__}")
    return record
