"""Asking an endpoint over real sockets: replies, retries, bounds, and what hostile or broken ones come to."""

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
from endpoint_servers import BUDGET_S, HELLO, KEY, scripted

from assay.errors import EndpointFault
from assay.verifiers.models.client import ModelClient
from assay.verifiers.models.endpoints import Access, Endpoint
from assay.verifiers.models.exchange import MOST_BYTES, Refusal, read_retry_after, receive
from assay.verifiers.models.interface import Request, TextRefused
from assay.verifiers.models.scripted_server import Rule, ScriptedServer

PROMPT_S = 20.0
"""Far below what waiting for the fault would take, far above what noticing it takes."""


def wait_for(condition: Any) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + PROMPT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_question_goes_out_as_configured() -> None:
    """Model, parameters, messages and key are those of the endpoint and the request."""
    fields = {"temperature": 0.5, "max_tokens": 9, "parameters": {"top_p": 0.9}}
    with scripted({"reply": "Hi."}, **fields) as (server, client):
        reply = client.line(BUDGET_S).ask("m", HELLO)

        (request,) = server.requests

    assert (reply.text, reply.is_cut) == ("Hi.", False)
    assert request.authorization == f"Bearer {KEY}"
    assert request.document == {
        "top_p": 0.9,
        "model": "big-1",
        "temperature": 0.5,
        "max_tokens": 9,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello."}],
    }


def test_any_text_may_be_asked_and_answered() -> None:
    """Control signs and a megabyte travel as they are, and lone surrogates come back as they are."""
    text = "\U0001f600\x00\u2028é" + "x" * 1_000_000
    with scripted({"reply": "<\ud83d\x00>", "finish_reason": "length"}) as (server, client):
        reply = client.line(BUDGET_S).ask("m", Request(text))

        assert server.requests[0].user == text

    assert (reply.text, reply.is_cut) == ("<\ud83d\x00>", True)


def test_halves_of_signs_are_sent_as_the_sign_for_none() -> None:
    """Endpoints that read UTF-8 would refuse them, and a text could earn a null reward by one."""
    with scripted({"reply": "Hi."}) as (server, client):
        client.line(BUDGET_S).ask("m", Request("a\ud83db\ude00\ude00\ud83d\ude00\ud83d", system="\udfff"))

        request = server.requests[0]

    assert (request.user, request.system) == ("a\ufffdb\ufffd\ufffd\U0001f600\ufffd", "\ufffd")


FAULTS: dict[str, dict[str, Any]] = {
    "stall": {"fault": "stall"},
    "slow": {"delay_s": 60},
    "drip": {"reply": "x", "fault": "drip"},
    "cut": {"reply": "x" * 1000, "fault": "cut"},
    "500": {"status": 500},
    "503": {"status": 503, "body": "<html>"},
    "429": {"status": 429},
    "html": {"body": "<html><body>It works!</body></html>"},
    "empty": {"body": ""},
    "not json": {"body": '{"choices": ['},
    "nested": {"body": "[" * 100_000},
    "long number": {"body": '{"choices": ' + "9" * 10_000 + "}"},
    "nan": {"body": '{"choices": NaN}'},
    "a list": {"body": "[]"},
    "no choices": {"body": "{}"},
    "empty choices": {"body": '{"choices": []}'},
    "choices of another type": {"body": '{"choices": {"0": 1}}'},
    "a choice of another type": {"body": '{"choices": ["yes"]}'},
    "no message": {"body": '{"choices": [{}]}'},
    "no content": {"body": '{"choices": [{"message": {"content": null}}]}'},
    "content of another type": {"body": '{"choices": [{"message": {"content": 1}}]}'},
}
FINAL: dict[str, dict[str, Any]] = {
    "400": {"status": 400, "body": f"bad key {KEY}"},
    "401": {"status": 401, "body": f"bad key {KEY}"},
    "404": {"status": 404},
    "204": {"status": 204},
    "redirect": {"status": 307, "headers": {"Location": "/v1/elsewhere"}},
    "compressed": {"reply": "x", "headers": {"Content-Encoding": "gzip"}},
    "flood": {"fault": "flood"},
    "too long": {"reply": "x" * MOST_BYTES},
    "a refusal with an endless body": {"status": 418, "fault": "flood"},
    "a wait beyond the budget": {"status": 429, "headers": {"Retry-After": "3600"}},
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_may_pass_is_tried_again_and_then_a_fault(name: str) -> None:
    """Each try is bounded; after the retries the endpoint is at fault, and nothing is left of it."""
    threads = threading.active_count()
    with scripted(FAULTS[name], retries=1, timeout_s=0.3) as (server, client):
        with pytest.raises(EndpointFault, match=r"^m: ") as caught:
            client.line(BUDGET_S).ask("m", HELLO)

        tries = len(server.requests)
        client.close()
        wait_for(lambda: server.connections == 0)

    assert tries == 2
    assert KEY not in str(caught.value)
    assert threading.active_count() == threads


@pytest.mark.parametrize("name", FINAL)
def test_what_will_not_pass_is_a_fault_at_once(name: str) -> None:
    """Nothing is asked a second time, and no connection stays."""
    with scripted(FINAL[name], retries=5) as (server, client):
        with pytest.raises(EndpointFault, match=r"^m: ") as caught:
            client.line(BUDGET_S).ask("m", HELLO)

        tries = len(server.requests)
        client.close()
        wait_for(lambda: server.connections == 0)

    assert tries == 1
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [
        {"status": 429},
        {"status": 429, "headers": {"Retry-After": "0"}},
        {"status": 502},
        {"fault": "cut"},
        {"body": "no"},
    ],
    ids=str,
)
def test_a_fault_that_passes_leaves_no_trace(rule: dict[str, Any]) -> None:
    """The reply of a later try is the reply."""
    with scripted({**rule, "times": 2}, {"reply": "Hi."}) as (server, client):
        assert client.line(BUDGET_S).ask("m", HELLO).text == "Hi."

        assert len(server.requests) == 3


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


def test_nobody_there_is_a_fault() -> None:
    """A port that nobody listens on."""
    client = ModelClient({"m": Access(Endpoint(base_url="http://127.0.0.1:1/v1", model="x", retries=1))}, pause_s=0.001)

    with pytest.raises(EndpointFault, match=r"the connection failed \(ConnectError\) at try 2"):
        client.line(BUDGET_S).ask("m", HELLO)
    client.close()


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
        await asyncio.sleep(0.05)
        self.now -= 1
        return httpx.Response(200, content=json.dumps({"choices": [{"message": {"content": "Hi."}}]}).encode())


def test_an_endpoint_is_asked_so_much_at_once_and_waiting_costs_no_budget() -> None:
    """Twenty attempts with a budget for three turns all get their reply from one that takes two at once."""
    counting = _Counting()
    endpoint = Endpoint(base_url="http://models/v1", model="x", max_concurrency=2)
    client = ModelClient({"m": Access(endpoint)}, transport=lambda: counting)

    with ThreadPoolExecutor(20) as threads:
        texts = list(threads.map(lambda _: client.line(0.4).ask("m", HELLO).text, range(20)))
    client.close()

    assert texts == ["Hi."] * 20
    assert counting.most == 2


def test_time_of_a_question_that_failed_counts_too() -> None:
    """What is asked afterwards has only the rest."""
    with scripted({"status": 400, "delay_s": 0.3, "times": 1}, {"fault": "stall"}) as (_, client):
        line = client.line(0.8)

        with pytest.raises(TextRefused):
            line.ask("m", HELLO)
        with pytest.raises(EndpointFault, match=r"no answer within 0\.[45]"):
            line.ask("m", HELLO)


@pytest.mark.parametrize(("status", "refused"), [(400, True), (403, True), (413, True), (422, True), (307, False),
                                                 (429, False), (500, False)])  # fmt: skip
def test_what_may_be_the_texts_fault_is_told_apart(status: int, refused: bool) -> None:
    """Every status that says that this request will never do."""
    with scripted({"status": status}, retries=0) as (_, client), pytest.raises(EndpointFault) as caught:
        client.line(BUDGET_S).ask("m", HELLO)

    assert isinstance(caught.value, TextRefused) is refused


@pytest.mark.parametrize("message", ['{"content": null}', '{"content": null, "refusal": "No."}', "{}"])
@pytest.mark.parametrize("end", ["length", "content_filter", "stop"])
def test_a_reply_that_ended_without_a_text_says_nothing(message: str, end: str) -> None:
    """A filter, a refusal, a model that thought until its limit: texts can bring those about, so they are no fault."""
    body = f'{{"choices": [{{"message": {message}, "finish_reason": "{end}"}}]}}'
    with scripted({"body": body}) as (server, client):
        reply = client.line(BUDGET_S).ask("m", HELLO)

        assert len(server.requests) == 1

    assert (reply.text, reply.is_cut) == ("", end == "length")


def test_an_answer_in_endless_small_parts_is_ended() -> None:
    """Each costs as much as a long one: within the bound on bytes alone they would take a minute of a core."""

    async def parts() -> AsyncIterator[bytes]:
        while True:
            yield b" "

    with pytest.raises(Refusal, match="parts"):
        asyncio.run(receive(httpx.Response(200, content=parts())))


def test_what_comes_beyond_an_answer_answers_nobody_else() -> None:
    """An endpoint that counts its bytes wrongly could be made to answer the next question by a text that it repeats."""
    genuine, forged = (json.dumps({"choices": [{"message": {"content": text}}]}) for text in ("Hi.", "Forged"))
    surplus = f"HTTP/1.1 200 OK\r\nContent-Length: {len(forged)}\r\n\r\n{forged}"
    rule = {"body": genuine + surplus, "headers": {"Content-Length": str(len(genuine))}}
    with scripted(rule) as (server, client):
        texts = [client.line(BUDGET_S).ask("m", HELLO).text for _ in range(3)]

        assert len(server.requests) == 3

    assert texts == ["Hi."] * 3


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


def test_a_name_that_cannot_be_one_is_a_fault() -> None:
    """Labels of 70 signs are no labels, which the resolver says in its own way."""
    endpoint = Endpoint(base_url=f"http://{'a' * 70}.example/v1", model="x", retries=0)
    client = ModelClient({"m": Access(endpoint)})

    with pytest.raises(EndpointFault, match="the connection failed"):
        client.line(BUDGET_S).ask("m", HELLO)
    client.close()


def test_a_key_that_is_echoed_goes_no_further() -> None:
    """Where an endpoint repeats what it was sent, the reply does not hold the key."""
    with scripted({"reply": f"You sent {KEY}."}) as (_, client):
        assert client.line(BUDGET_S).ask("m", HELLO).text == "You sent [key]."


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that points elsewhere changes nothing."""
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")

    with scripted({"reply": "Hi."}) as (_, client):
        assert client.line(BUDGET_S).ask("m", HELLO).text == "Hi."


def test_an_unknown_name_is_a_fault_that_lists_the_known_ones() -> None:
    """It is the operator's to add, not the completion's to mend."""
    with (
        scripted({"reply": "Hi."}) as (_, client),
        pytest.raises(EndpointFault, match=r"no model endpoint 'x'.*knows m"),
    ):
        client.line(BUDGET_S).ask("x", HELLO)
