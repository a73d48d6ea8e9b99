"""Whose fault it is that there is no reply: no text earns a null by upsetting an endpoint, and no outage costs any."""

import re
from typing import Any

import pytest
from endpoint_servers import BUDGET_S, HELLO, scripted

from assay.errors import EndpointFault
from assay.outcomes import Outcome
from assay.sandboxes.nowhere import NoPool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.models.blaming import Blamed, Pays, ask
from assay.verifiers.models.client import ModelClient
from assay.verifiers.models.fakes import FakeModels
from assay.verifiers.models.interface import Busy, Late, Reply, Request, TextRefused, Unanswered

REGISTRY = default_registry()
TEXT, CONTROL = Request("BOMB"), Request("Hello.")
FOR_ALL = Pays(failures=True, lateness=True)
JUDGE: dict[str, Any] = {"id": "t", "verifier": "judge", "kind": "rubric", "endpoint": "m", "rubric": "100 for any."}
CHAIN: dict[str, Any] = {
    "id": "t", "verifier": "chain", "question": "?", "pool": ["m"], "answer": {"verifier": "math", "answer": "42"},
}  # fmt: skip
PLAN = "model_id = [0]\nsubtasks = ['BOMB']\naccess_list = [[]]"
ENDING = r"END (\w+)"
SCORE = {"match": ENDING, "reply": '{"nonce": "\\1", "score": 80}'}
BRIEF = {"match": "Answer briefly", "reply": "Well."}
UPSETTING: dict[str, dict[str, Any]] = {
    "refused": {"status": 400},
    "too long": {"status": 413},
    "fails": {"status": 500},
    "bad gateway": {"status": 502},
    "cut": {"reply": "x" * 1000, "fault": "cut"},
    "garbage": {"body": "<html>"},
    "flood": {"fault": "flood"},
    "redirect": {"status": 302, "headers": {"Location": "/blocked"}},
    "nothing": {"status": 204},
    "a part": {"status": 206, "reply": "x"},
    "compressed": {"reply": "x", "headers": {"Content-Encoding": "gzip"}},
}
LATE: dict[str, dict[str, Any]] = {
    "stall": {"fault": "stall"},
    "drip": {"reply": "x", "fault": "drip"},
    "gateway": {"status": 504},
}
BUSY: dict[str, dict[str, Any]] = {"429": {"status": 429}, "503": {"status": 503}, "408": {"status": 408}}


def judged(client: ModelClient, document: dict[str, Any], completion: str) -> Verdict:
    """The verdict, as a worker gives it."""
    return Evaluator(REGISTRY, NoPool(), models=client).evaluate(REGISTRY.parse_task(document), completion).verdict


def at_text(fault: dict[str, Any], **fields: Any) -> Any:
    """An endpoint with this fault at texts that hold BOMB, which answers others."""
    return scripted({"match": "BOMB", **fault}, SCORE, BRIEF, {"reply": "Hi."}, **{"timeout_s": 0.8, **fields})


@pytest.mark.parametrize("kind", UPSETTING)
@pytest.mark.parametrize(("document", "completion"), [(JUDGE, "A BOMB."), (CHAIN, PLAN)], ids=["judge", "chain"])
def test_a_text_that_an_endpoint_fails_at_alone_pays(kind: str, document: dict[str, Any], completion: str) -> None:
    """A null reward would be worth more than a bad text."""
    with at_text(UPSETTING[kind], retries=1, timeout_s=20) as (_, client):
        verdict = judged(client, document, completion)

    flag = "refused" if 400 <= UPSETTING[kind].get("status", 500) < 500 else "unanswered"
    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.0)
    assert flag in verdict.flags
    assert "though it answers other texts" in verdict.message


@pytest.mark.parametrize("kind", UPSETTING | LATE | BUSY)
@pytest.mark.parametrize("on_unreadable", [None, "lowest"])
@pytest.mark.parametrize(("document", "completion"), [(JUDGE, "A BOMB."), (CHAIN, PLAN)], ids=["judge", "chain"])
def test_an_outage_costs_nobody(
    kind: str, on_unreadable: str | None, document: dict[str, Any], completion: str
) -> None:
    """What an endpoint does to every text is never a text's fault, whatever the task says."""
    fault = {**UPSETTING, **LATE, **BUSY}[kind]
    with scripted(fault, retries=1, timeout_s=0.3) as (_, client):
        verdict = judged(client, {**document, "on_unreadable": on_unreadable}, completion)

    assert (verdict.outcome, verdict.reward) == (Outcome.INFRA_ERROR, None)


@pytest.mark.parametrize("kind", ["stall", "gateway", *BUSY])
@pytest.mark.parametrize(
    ("document", "completion", "fields", "pays"),
    [
        (JUDGE, "A BOMB.", {}, False),
        (JUDGE, "A BOMB.", {"gold": "A house."}, True),
        (JUDGE, "A BOMB.", {"on_unreadable": "lowest"}, True),
        (JUDGE, "A BOMB.", {"gold": "A house.", "on_unreadable": "infra_error"}, False),
        (CHAIN, PLAN, {}, False),
        (CHAIN, PLAN, {"on_unreadable": "lowest"}, True),
    ],
)
def test_a_late_or_busy_endpoint_costs_a_text_only_where_the_task_can_tell(
    kind: str, document: dict[str, Any], completion: str, fields: dict[str, Any], pays: bool
) -> None:
    """It may be so to any text; a gold that it answers just then shows that it is not."""
    with at_text({**LATE, **BUSY}[kind], retries=0) as (_, client):
        verdict = judged(client, {**document, **fields}, completion)

    assert verdict.outcome is (Outcome.FAILED if pays else Outcome.INFRA_ERROR)
    assert verdict.reward == (0.0 if pays else None)
    assert ("unanswered" in verdict.flags) is pays


@pytest.mark.parametrize("kind", BUSY)
def test_an_endpoint_that_is_busy_now_and_then_costs_nobody(kind: str) -> None:
    """A reply that comes in the end is the reply, though the task would have texts pay."""
    with at_text({**BUSY[kind], "times": 3}, retries=0) as (_, client):
        verdict = judged(client, {**JUDGE, "gold": "A house."}, "A BOX.")
    with scripted({"match": "BOMB", **BUSY[kind], "times": 2}, SCORE, retries=0) as (_, client):
        passed = judged(client, {**JUDGE, "gold": "A house."}, "A BOMB.")

    assert (verdict.reward, passed.reward) == (1.0, 1.0)


def test_a_task_may_say_that_nothing_is_known_then() -> None:
    """But for what an endpoint refuses, which is its own word."""
    with at_text(UPSETTING["fails"], retries=0) as (_, client):
        assert judged(client, {**JUDGE, "on_unreadable": "infra_error"}, "A BOMB.").reward is None
    with at_text(UPSETTING["refused"], retries=0) as (_, client):
        assert judged(client, {**JUDGE, "on_unreadable": "infra_error"}, "A BOMB.").reward == 0.0


def test_a_plan_that_takes_all_the_time_there_is_pays_where_the_task_says_so() -> None:
    """Else a plan of many slow steps would earn a null whenever it liked."""
    plan = "model_id = [0, 0, 0, 0]\nsubtasks = ['BOMB', 'BOMB', 'BOMB', 'BOMB']\naccess_list = [[], [], [], []]"
    document = {**CHAIN, "limits": {"attempt_wall_s": 2.5}, "on_unreadable": "lowest"}

    with at_text({"delay_s": 1.0, "reply": "slow"}, timeout_s=20, retries=0) as (_, client):
        verdict = judged(client, document, plan)

    assert (verdict.reward, "unanswered" in verdict.flags) == (0.0, True)
    assert re.search("step [12]: m: no answer within", verdict.message)


@pytest.mark.parametrize(("fault", "asked"), [(TextRefused("m: no"), 4), (Late("m: late"), 4), (Busy("m: 429"), 6),
                                             (Unanswered("m: 5"), 6)])  # fmt: skip
def test_the_endpoint_must_fail_and_answer_in_turns(fault: Unanswered, asked: int) -> None:
    """An outage that begins or ends in between is one."""
    seen: list[str] = []

    def say(_: str, request: Request) -> str:
        seen.append(request.user)
        if request is TEXT:
            raise fault
        return "Hi."

    with pytest.raises(Blamed, match="though it answers other texts"):
        ask(FakeModels(("m",), say), "m", TEXT, CONTROL, FOR_ALL)

    assert seen == ["BOMB", "Hello."] * (asked // 2)


@pytest.mark.parametrize("ending_at", [1, 2, 3, 4, 5])
def test_a_failure_that_passes_is_none(ending_at: int) -> None:
    """The reply that comes in the end counts; and if the other text fails at any time, nobody knows."""
    seen: list[str] = []

    def say(_: str, request: Request) -> str | Reply:
        seen.append(request.user)
        if (request is TEXT) == (len(seen) <= ending_at):
            raise Unanswered("m: status 500 at try 1")
        return "Hi."

    line = FakeModels(("m",), say)
    if ending_at % 2:
        with pytest.raises(EndpointFault):
            ask(line, "m", TEXT, CONTROL, FOR_ALL)
    else:
        assert ask(line, "m", TEXT, CONTROL, FOR_ALL).text == "Hi."


def test_finding_out_costs_no_budget() -> None:
    """The same question has as much time as before, and another that of one exchange."""
    slow = {"match": "Hello", "delay_s": 1.2, "reply": "slow"}
    with scripted({**slow, "times": 1}, {"match": "other", "reply": "Hi."}, slow, timeout_s=20) as (_, client):
        line = client.line(2.2)
        assert line.ask("m", HELLO).text == "slow"
        with pytest.raises(Late):
            line.ask("m", HELLO)
        with pytest.raises(Late, match="no answer within"):
            line.again("m", HELLO)
        assert line.probe("m", Request("other")).text == "Hi."
        assert line.probe("m", HELLO).text == "slow"


def test_a_probe_is_tried_once() -> None:
    """Its failure must be as easily seen as a failure of what it is compared with."""
    with scripted({"status": 500, "times": 1}, {"reply": "Hi."}, retries=2) as (server, client):
        with pytest.raises(Unanswered):
            client.line(BUDGET_S).probe("m", HELLO)

        assert len(server.requests) == 1
