"""The oracle's program that makes a list of actions in an environment. No completion's code is anywhere near it."""

import json
import os
import socket
from collections.abc import Iterator
from typing import Any  # Any: an action may be any plain value

import msgpack

from assay.verifiers.environment.record import IllegalRule, Record, Script, pack_record, pack_script, unpack_script
from assay.verifiers.environment.stage import Failed, Over, Stage, judge, play, set_up
from assay.verifiers.program.telling import Word, tell
from assay.verifiers.program.verify_program import keep_output
from assay.verifiers.repeatable import make_repeatable
from assay.verifiers.requirements import missing_modules
from assay.verifiers.split.plan import Broken

_QUIET = {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy", "SDL_AUDIODRIVER": "dummy"}
_USUAL = ("gymnasium.envs.toy_text", "gymnasium.envs.classic_control", "minigrid")


def warm() -> None:
    """Import what episodes need, as far as it is installed, and play a short one."""
    os.environ.update(_QUIET)
    if missing_modules(["gymnasium"]):
        return
    modules = [*_USUAL[:2], *(() if missing_modules(_USUAL[2:]) else _USUAL[2:])]
    lake = Script(
        env="FrozenLake-v1", kwargs={}, seed=0, options=None, modules=modules, max_steps=9, illegal=IllegalRule.FAIL,
        noop=None, names={}, source=None, success_return=1.0, progress=False, wall_s=60.0, with_info=False,
    )  # fmt: skip
    stage = set_up(lake)
    judge(stage, play(stage, lambda *_: 1))


def pack_actions(script: Script, actions: list[Any]) -> bytes:
    """Return the payload."""
    return bytes(msgpack.packb([pack_script(script), json.dumps(actions)], unicode_errors="surrogatepass"))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Play the episode, judge it, and tell on `fds[0]` what became of it."""
    script, actions = msgpack.unpackb(payload, unicode_errors="surrogatepass")
    make_repeatable(0, "verifier")
    printed = keep_output()
    with socket.socket(fileno=fds[0]) as channel:
        try:
            stage = set_up(unpack_script(script))
        except Broken as error:
            tell(channel, Word.BROKEN, str(error))
            return 0
        tell(channel, Word.READY)
        try:
            record = _play(stage, json.loads(actions))
        except Failed as error:
            tell(channel, Word.FAILED, str(error), printed.text)
        else:
            tell(channel, Word.ANSWER, printed.text, pack_record(record))
    return 0


def _play(stage: Stage, actions: list[Any]) -> Record:
    left: Iterator[Any] = iter(actions)

    def choose(observation: Any, info: dict[str, Any]) -> Any:
        del observation, info
        try:
            return next(left)
        except StopIteration:
            raise Over from None

    record = play(stage, choose)
    record.surplus = sum(1 for _ in left)
    judge(stage, record)
    return record
