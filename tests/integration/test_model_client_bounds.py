"""Asking an endpoint over real sockets: pauses, budgets, how much at once, and how it ends."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from endpoint_servers import BUDGET_S, HELLO, PROMPT_S, scripted
from waiting import wait_for

from assay.errors import EndpointFault
from assay.verifiers.models.client import ModelClient
from assay.verifiers.models.endpoints import Access, Endpoint
from assay.verifiers.models.exchange import Refusal, read_retry_after, receive
from assay.verifiers.models.interface import TextRefused
from assay.verifiers.models.scripted_server import Rule, ScriptedServer


def test_a_pause_that_is_asked_for_is_kept() -> None:
    """`Retry-After` counts, not our own shorter pause."""
    with scripted({"status": 429, "headers": {"Retry-After": "1"}, "times": 1}, {"reply": "Hi."}) as (_, client):
        started = time.monotonic()
        client.line(BUDGET_S).ask("m", HELLO)

    assert time.monotonic() - started >= 1.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3", 3.0), (" 0 ", 0.0), ("9" * 5000, 999999999.0), ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("-3", None), ("soon", None), ("", None), ("٣", None), ("1e9", None),
    ],
)  # fmt: skip
def test_a_pause_is_read_in_both_forms(text: str, seconds: float | None) -> None:
    """Seconds and dates; anything else asks for nothing."""
    assert read_retry_after(text, clock=lambda: 10.0) == seconds


def test_the_budget_holds_for_all_questions_together() -> None:
    """Where the first has used it up, the second has no time."""
    with scripted({"fault": "stall"}, retries=0) as (_, client):
        line = client.line(0.3)

        with pytest.raises(EndpointFault, match=r"no answer within 0\.3 s"):
            line.ask("m", HELLO)
        with pytest.raises(EndpointFault, match="no answer within"):
            line.ask("m", HELLO)


def test_retries_stay_within_the_budget() -> None:
    """However many are allowed."""
    with scripted({"fault": "stall"}, retries=10, timeout_s=0.2) as (server, client):
        with pytest.raises(EndpointFault, match=r"would pass|at try"):
            client.line(0.5).ask("m", HELLO)

        assert len(server.requests) <= 4


def test_a_cancelled_question_ends_at_once() -> None:
    """From another thread, in the middle of an answer that never comes; the line then answers nothing more."""
    with scripted({"fault": "stall"}, timeout_s=600.0) as (server, client):
        line = client.line(600.0)
        with ThreadPoolExecutor(1) as threads:
            asking = threads.submit(line.ask, "m", HELLO)
            wait_for(lambda: server.requests)
            line.cancel()
            with pytest.raises(EndpointFault, match="cancelled"):
                asking.result(PROMPT_S)
        wait_for(lambda: server.connections == 0)

        with pytest.raises(EndpointFault, match="cancelled"):
            line.ask("m", HELLO)


def test_closing_ends_what_runs() -> None:
    """Pending questions, connections and the thread; a question afterwards is a fault."""
    with scripted({"fault": "stall"}, timeout_s=600.0) as (server, client):
        with ThreadPoolExecutor(3) as threads:
            asking = [threads.submit(client.line(600.0).ask, "m", HELLO) for _ in range(3)]
            wait_for(lambda: len(server.requests) == 3)
            client.close()
            for one in asking:
                with pytest.raises(EndpointFault):
                    one.result(PROMPT_S)
        wait_for(lambda: server.connections == 0)

        with pytest.raises(EndpointFault, match="ending"):
            client.line(1.0).ask("m", HELLO)


class _Counting(httpx.AsyncBaseTransport):
    """Answers after a moment, and counts how many requests are under way."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        del request
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.3)
        self.now -= 1
        return httpx.Response(200, content=json.dumps({"choices": [{"message": {"content": "Hi."}}]}).encode())


def test_an_endpoint_is_asked_so_much_at_once_and_waiting_costs_no_budget() -> None:
    """Twenty attempts with a budget for eight turns of ten all get their reply from one that takes two at once."""
    counting = _Counting()
    endpoint = Endpoint(base_url="http://models/v1", model="x", max_concurrency=2)
    client = ModelClient({"m": Access(endpoint)}, transport=lambda: counting)

    with ThreadPoolExecutor(20) as threads:
        texts = list(threads.map(lambda _: client.line(2.5).ask("m", HELLO).text, range(20)))
    client.close()

    assert texts == ["Hi."] * 20
    assert counting.most == 2


def test_time_of_a_question_that_failed_counts_too() -> None:
    """What is asked afterwards has only the rest."""
    with scripted({"status": 400, "delay_s": 1.0, "times": 1}, {"fault": "stall"}) as (_, client):
        line = client.line(3.0)

        with pytest.raises(TextRefused):
            line.ask("m", HELLO)
        with pytest.raises(EndpointFault, match=r"no answer within ([01]\.\d+|2) s"):
            line.ask("m", HELLO)


def test_an_answer_in_endless_small_parts_is_ended() -> None:
    """Each costs as much as a long one: within the bound on bytes alone they would take a minute of a core."""

    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b" "

    with pytest.raises(Refusal, match="parts"):
        asyncio.run(receive(httpx.Response(200, content=parts())))


class _Names:
    """Looks up names as `socket.getaddrinfo`, but one only when told so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looked_up = 0
        self.go_on = threading.Event()
        self._real = socket.getaddrinfo
        monkeypatch.setattr(socket, "getaddrinfo", self)

    def __call__(self, host: Any, *rest: Any, **named: Any) -> Any:
        if host in ("silent.example", b"silent.example"):
            self.looked_up += 1
            assert self.go_on.wait(PROMPT_S)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return self._real(host, *rest, **named)


def test_a_name_that_nobody_answers_for_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty questions to it wait for one look-up; others are asked meanwhile, and closing waits for nothing."""
    names = _Names(monkeypatch)
    with ScriptedServer([Rule(reply="Hi.")]) as server:
        silent = Endpoint(base_url="http://silent.example/v1", model="x", timeout_s=0.2, retries=1, max_concurrency=99)
        there = Endpoint(base_url=server.base_url.replace("127.0.0.1", "localhost"), model="x", retries=0)
        client = ModelClient({"silent": Access(silent), "there": Access(there)}, pause_s=0.001)
        with ThreadPoolExecutor(40) as threads:
            asking = [threads.submit(client.line(BUDGET_S).ask, "silent", HELLO) for _ in range(40)]
            assert client.line(BUDGET_S).ask("there", HELLO).text == "Hi."
            for one in asking:
                with pytest.raises(EndpointFault, match="no answer within"):
                    one.result(PROMPT_S)
        client.close()
    alive = [thread.name for thread in threading.enumerate() if thread.name.startswith("models")]
    names.go_on.set()

    assert (names.looked_up, alive) == (1, ["models-lookup"])
