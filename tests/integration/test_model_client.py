"""Asking an endpoint over real sockets: replies, retries, and what hostile or broken ones come to."""

import json
import threading
from typing import Any

import pytest
from endpoint_servers import BUDGET_S, HELLO, KEY, scripted
from waiting import wait_for

from assay.errors import EndpointFault
from assay.verifiers.models.client import ModelClient
from assay.verifiers.models.endpoints import Access, Endpoint
from assay.verifiers.models.exchange import MOST_BYTES
from assay.verifiers.models.interface import Busy, Late, Request, TextRefused, Unanswered


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


def test_no_question_carries_what_came_with_another_reply() -> None:
    """Cookies are not kept: an endpoint could tell by one what was asked before, and answer accordingly."""
    with scripted({"reply": "Hi.", "headers": {"Set-Cookie": "asked=before; Path=/"}}) as (server, client):
        for _ in range(2):
            client.line(BUDGET_S).ask("m", HELLO)

        told = ["cookie" in request.headers for request in server.requests]

    assert told == [False, False]


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
    "a stream": {"body": 'data: {"choices": [{"delta": {"content": "Hi."}}]}\n\ndata: [DONE]\n\n'},
    "an error": {"body": '{"error": {"code": "busy"}, "choices": [{"message": {"content": ""}}]}'},
    "an error of a choice": {"body": '{"choices": [{"message": {"content": "Hi"}, "error": {"code": 502}}]}'},
    "an aborted reply": {"reply": "Half of", "finish_reason": "abort"},
    "a reply that failed": {"body": '{"choices": [{"message": {}, "finish_reason": "error"}]}'},
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


def test_nobody_there_is_a_fault() -> None:
    """A port that nobody listens on."""
    client = ModelClient({"m": Access(Endpoint(base_url="http://127.0.0.1:1/v1", model="x", retries=1))}, pause_s=0.001)

    with pytest.raises(EndpointFault, match="no connection can be made at try 2"):
        client.line(BUDGET_S).ask("m", HELLO)
    client.close()


@pytest.mark.parametrize(
    ("code", "fault"), [(400, TextRefused), (429, Busy), (504, Late), (502, Unanswered), (True, Unanswered)]
)
def test_an_error_in_place_of_a_status_counts_as_one(code: int, fault: type[EndpointFault]) -> None:
    """Gateways send what others answered them with the status 200."""
    body = json.dumps({"error": {"code": code}})
    with scripted({"body": body}, retries=0) as (_, client), pytest.raises(EndpointFault) as caught:
        client.line(BUDGET_S).ask("m", HELLO)

    assert type(caught.value) is fault


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


def test_what_comes_beyond_an_answer_answers_nobody_else() -> None:
    """An endpoint that counts its bytes wrongly could be made to answer the next question by a text that it repeats."""
    genuine, forged = (json.dumps({"choices": [{"message": {"content": text}}]}) for text in ("Hi.", "Forged"))
    surplus = f"HTTP/1.1 200 OK\r\nContent-Length: {len(forged)}\r\n\r\n{forged}"
    rule = {"body": genuine + surplus, "headers": {"Content-Length": str(len(genuine))}}
    with scripted(rule) as (server, client):
        texts = [client.line(BUDGET_S).ask("m", HELLO).text for _ in range(3)]

        assert len(server.requests) == 3

    assert texts == ["Hi."] * 3


def test_a_name_that_cannot_be_one_is_a_fault() -> None:
    """Labels of 70 signs are no labels, which the resolver says in its own way."""
    endpoint = Endpoint(base_url=f"http://{'a' * 70}.example/v1", model="x", retries=0)
    client = ModelClient({"m": Access(endpoint)})

    with pytest.raises(EndpointFault, match="no connection can be made"):
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
