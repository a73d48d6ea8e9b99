"""A model endpoint that says what a script tells it to, and fails as it is told: for tests and demonstrations.

`python -m assay.verifiers.models.scripted_server --script FILE` serves one on loopback. A script lists rules, as TOML
(`[[rules]]`) or JSON (`{"rules": [...]}`); the first one that matches a request and is not used up answers it.
"""

import argparse
import asyncio
import json
import re
import sys
import threading
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self  # Any: a request's document is JSON

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from assay.canonical import dump_line
from assay.errors import InvalidRequest, plain
from assay.verifiers.models.wire import Incoming, read_request, write_head

_FLOOD = b"x" * 65_536
_FLOOD_PARTS = 1_000_000_000 // len(_FLOOD) + 1
_DRIP_S = 0.02
_GROUP = re.compile(r"\\([1-9])")


class Rule(BaseModel):
    """What one kind of request is answered with."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    match: str = ""
    """A regular expression that the last message must contain somewhere; a dot matches line breaks too."""
    model: str | None = None
    """The model that must be asked for; unset matches any."""
    times: int | None = Field(None, ge=1)
    """How many requests the rule answers; unset is any number."""
    reply: str = ""
    """What the model says; `\\1` to `\\9` stand for groups of `match`."""
    finish_reason: str = "stop"
    """Why it ended: `length` says that a limit cut it."""
    body: str | None = None
    """The whole body of the answer, in place of one that holds `reply`."""
    status: int = Field(200, ge=200, le=599)
    """The status of the answer."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Further headers of the answer."""
    delay_s: float = Field(0.0, ge=0)
    """Seconds until it answers."""
    fault: Literal["stall", "cut", "drip", "flood"] | None = None
    """`stall`: no answer ever; `cut`: the connection ends within the body; `drip`: the body comes byte by byte, with
    blanks without end behind it; `flood`: a gigabyte."""

    @model_validator(mode="after")
    def _check_match(self) -> Self:
        try:
            groups = re.compile(self.match).groups
        except re.error as error:
            raise ValueError(f"match is no regular expression: {error}") from error
        if any(int(number) > groups for number in _GROUP.findall(self.reply)):
            raise ValueError(f"reply names a group of match, which has {groups}")
        return self

    def say(self, match: re.Match[str]) -> str:
        """Return what the model says where `match` matches so."""
        return _GROUP.sub(lambda place: match.group(int(place.group(1))) or "", self.reply)


class Script(BaseModel):
    """Rules in the order in which they are tried; what none matches is answered 404."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rules: tuple[Rule, ...]
    """The rules."""


@dataclass(frozen=True)
class Recorded:
    """A request as it came."""

    headers: Mapping[str, str]
    """By their names in lower case."""
    document: Mapping[str, Any]

    @property
    def authorization(self) -> str:
        """Its header of that name; empty without one."""
        return self.headers.get("authorization", "")

    @property
    def system(self) -> str:
        """What its system message says; empty without one."""
        return next((str(one["content"]) for one in self.document["messages"] if one["role"] == "system"), "")

    @property
    def user(self) -> str:
        """What its last message says."""
        return str(self.document["messages"][-1]["content"])


def read_script(file: Path) -> Script:
    """Read a script: JSON if the name ends so, else TOML. Raises InvalidRequest naming the fault."""
    try:
        text = file.read_text(encoding="utf-8")
        document = json.loads(text) if file.suffix == ".json" else tomllib.loads(text)
        return Script.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidRequest(plain(first["msg"]), path=".".join(map(str, first["loc"]))) from error
    except (OSError, ValueError) as error:
        raise InvalidRequest(f"cannot read the script {file}: {error}", path=str(file)) from error


class ScriptedServer:
    """Serves a script on loopback, in a thread of its own, while the context is open."""

    def __init__(self, rules: Sequence[Rule], *, port: int = 0) -> None:
        """`port` 0 picks a free one."""
        self._rules = tuple(rules)
        self._used = [0] * len(self._rules)
        self._wanted_port = port
        self._open = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-models", daemon=True)
        self.port = 0
        self.requests: list[Recorded] = []
        """What has come, in order."""

    @property
    def base_url(self) -> str:
        """What an endpoint's `base_url` must be."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return self._open

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._server = asyncio.run_coroutine_threadsafe(self._serve(), self._loop).result()
        except OSError:
            self._end_loop()
            raise
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._end_loop()

    async def _serve(self) -> asyncio.Server:
        return await asyncio.start_server(self._meet, "127.0.0.1", self._wanted_port)

    async def _close(self) -> None:
        self._server.close()
        running = asyncio.all_tasks() - {asyncio.current_task()}
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _end_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection, until it ends."""
        self._open += 1
        try:
            while (incoming := await read_request(reader)) is not None:
                if not await self._answer(incoming, reader, writer):
                    return
        except (OSError, ValueError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return  # the client has gone, or is none, or the server ends
        finally:
            self._open -= 1
            writer.close()

    async def _answer(self, incoming: Incoming, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; say whether the connection goes on."""
        recorded = Recorded(incoming.headers, json.loads(incoming.body))
        self.requests.append(recorded)
        rule, match = self._choose(recorded)
        if rule is None or match is None:
            writer.write(write_head(404, {}, 0))
            await writer.drain()
            return True
        if await _has_left(reader, None if rule.fault == "stall" else rule.delay_s):
            return False
        body = (rule.body if rule.body is not None else _completion(rule, match)).encode("utf-8", "surrogatepass")
        return await _send(rule, body, writer)

    def _choose(self, recorded: Recorded) -> tuple[Rule, re.Match[str]] | tuple[None, None]:
        for number, rule in enumerate(self._rules):
            if rule.times is not None and self._used[number] >= rule.times:
                continue
            match = re.search(rule.match, recorded.user, re.DOTALL)
            if match is not None and rule.model in (None, recorded.document.get("model")):
                self._used[number] += 1
                return rule, match
        return None, None


async def _has_left(reader: asyncio.StreamReader, within_s: float | None) -> bool:
    """Wait so long (None: for ever); say whether the client has left meanwhile."""
    try:
        async with asyncio.timeout(within_s):
            await reader.read(1)
    except TimeoutError:
        return False
    return True


async def _send(rule: Rule, body: bytes, writer: asyncio.StreamWriter) -> bool:
    """Send an answer as the rule says; say whether the connection goes on."""
    match rule.fault:
        case None:
            writer.write(write_head(rule.status, rule.headers, len(body)) + body)
            await writer.drain()
            return True
        case "cut":
            writer.write(write_head(rule.status, rule.headers, len(body)) + body[: len(body) // 2])
            await writer.drain()
        case "drip":
            writer.write(write_head(rule.status, rule.headers, None))
            at = 0
            while True:
                writer.write(b"1\r\n%b\r\n" % (body[at : at + 1] or b" "))
                await writer.drain()
                await asyncio.sleep(_DRIP_S)
                at += 1
        case "flood":
            writer.write(write_head(rule.status, rule.headers, _FLOOD_PARTS * len(_FLOOD)))
            for _ in range(_FLOOD_PARTS):
                writer.write(_FLOOD)
                await writer.drain()
    return False


def _completion(rule: Rule, match: re.Match[str]) -> str:
    message = {"role": "assistant", "content": rule.say(match)}
    choice = {"index": 0, "message": message, "finish_reason": rule.finish_reason}
    return dump_line({"id": "scripted", "object": "chat.completion", "choices": [choice]})


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a script until interrupted; return the exit status."""
    parser = argparse.ArgumentParser(prog="scripted_server", description="Serve scripted model replies on loopback.")
    parser.add_argument("--script", type=Path, required=True, metavar="FILE")
    parser.add_argument("--port", type=int, default=8701, help="0 picks a free one; default: 8701")
    parsed = parser.parse_args(arguments)
    try:
        script = read_script(parsed.script)
    except InvalidRequest as error:
        sys.stderr.write(f"scripted_server: {error}\n")
        return 2
    try:
        with ScriptedServer(script.rules, port=parsed.port) as server:
            sys.stdout.write(f"{server.base_url}\n")
            sys.stdout.flush()
            threading.Event().wait()
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
