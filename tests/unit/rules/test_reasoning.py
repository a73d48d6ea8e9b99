"""Drafts in the reasoning, which are nobody's answer but where a published rule reads them."""

import re
from collections.abc import Callable

import pytest
from attempts import REGISTRY

from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.reference import example_of
from assay.verifiers.worked_examples import WORKED

READ = (
    "classification", "countdown", "exact_match", "grounded_qa", "multiple_choice", "sudoku", "temporal", "tracking",
    "tool_call",
)  # fmt: skip
PUBLISHED = {
    "classification": "videochat-r1/code", "countdown": "d1/code", "exact_match": "verl-search-r1/code",
    "grounded_qa": "videochat-r1/code", "multiple_choice": "videochat-r1/code", "sudoku": "d1/code",
    "temporal": "videochat-r1/code", "tracking": "videochat-r1/code", "tool_call": "toolrl/code",
}  # fmt: skip
Judge = Callable[..., Verdict]


def _answer(name: str) -> str:
    """The worked example without its reasoning."""
    return re.sub(r"<think>.*?</think>\s*", "", WORKED[name], flags=re.DOTALL)


def _judge(name: str, completion: str, **fields: object) -> Verdict:
    verifier = REGISTRY.get(name)
    task = REGISTRY.parse_task({**example_of(verifier), **fields})
    return verifier.judge(task, completion, FakeSlot())


@pytest.mark.parametrize("name", READ)
def test_a_draft_earns_what_no_answer_earns(name: str) -> None:
    """Whether its reasoning ends or not; behind it, an answer counts."""
    answer = _answer(name)
    nothing = _judge(name, "<think>well</think> I give up.").reward

    assert _judge(name, f"<think>{answer}</think> I give up.").reward == nothing
    assert _judge(name, f"<think>{answer}").reward == nothing
    assert _judge(name, f"<think>well</think>\n{answer}").outcome is Outcome.PASSED


@pytest.mark.parametrize("name", READ)
def test_released_code_reads_drafts(name: str) -> None:
    """Its profiles keep that."""
    given = {"profile": PUBLISHED[name]}
    nothing = _judge(name, "<think>well</think> I give up.", **given).reward

    assert _judge(name, f"<think>{_answer(name)}</think> I give up.", **given).reward != nothing


def test_a_document_in_the_reasoning_is_none() -> None:
    """Where a part of the text is read."""
    task = {"id": "t", "verifier": "json_schema", "json_schema": {"type": "integer"}}
    for extract, document in (("tag", "<answer>1</answer>"), ("fence", "\n```json\n1\n```\n")):
        typed = REGISTRY.parse_task({**task, "extract": extract})
        verifier = REGISTRY.get("json_schema")

        assert verifier.judge(typed, f"<think>{document}</think> I give up.", FakeSlot()).reward == 0.0
        assert verifier.judge(typed, f"<think>well</think>{document}", FakeSlot()).reward == 1.0
