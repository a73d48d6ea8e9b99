"""The verifier `format`: named checks as terms, published or hardened."""

from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.rules.format import FormatTask
from assay.verifiers.rules.format_checks import CheckName

ON_LINES = "<think>\na\n</think>\n<answer>\nb\n</answer>"


def judge(completion: str, **fields: Any) -> Verdict:
    """Judge one completion by its format."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "format", **fields})
    return registry.get(task.verifier).judge(task, completion, FakeSlot())


def test_each_check_is_a_term() -> None:
    """The reward is the sum of the checks that the task names."""
    verdict = judge(ON_LINES, checks=["open_r1_format", "open_r1_tag_count", "logic_rl_structure"])

    assert verdict.terms == {"open_r1_format": 1.0, "open_r1_tag_count": 1.0, "logic_rl_structure": 1.0}
    assert (verdict.reward, verdict.outcome) == (3.0, Outcome.PASSED)


def test_what_falls_short_is_named() -> None:
    """The message names the checks that are not at full marks."""
    verdict = judge(f"Well: {ON_LINES}", checks=["open_r1_format", "logic_rl_structure"])

    assert verdict.outcome is Outcome.FAILED
    assert "open_r1_format" in verdict.message
    assert "logic_rl_structure" not in verdict.message


def test_hardened_is_the_default() -> None:
    """Text after the answer passes the published rule only."""
    more = f"{ON_LINES}\nand more"

    assert judge(more, checks=["open_r1_format"]).reward == 0.0
    assert judge(more, checks=["open_r1_format"], hardened=False).reward == 1.0


@pytest.mark.parametrize(("after", "hardened"), [("", 0.0), ("\n \n", 0.0), ("\n4", 1.0)])
def test_something_must_follow_the_reasoning(after: str, hardened: float) -> None:
    """White space behind a think block is no answer."""
    fields = {"checks": ["trl_think_format"]}

    assert judge(f"<think>a</think>{after}", **fields).reward == hardened
    assert judge(f"<think>a</think>{after}", **fields, hardened=False).reward == 1.0


@pytest.mark.parametrize("profile", FormatTask.PROFILES, ids=lambda profile: profile.name)
def test_profiles_are_as_published(profile: Any) -> None:
    """A preset names its checks and turns hardening off."""
    verdict = judge(ON_LINES, profile=profile.name)

    assert set(verdict.terms) == set(profile.fields["checks"])
    assert profile.fields["hardened"] is False


@pytest.mark.parametrize(
    ("text", "published", "hardened"),
    [
        ("<plan>x</plan>\n<code>y</code>\n", 1.0, 1.0),
        ("<plan></plan><code>y</code>", 1.0, 0.0),
        ("<plan>x</plan><code>y</code><code>z</code>", 1.0, 0.0),
        ("<code>y</code><plan>x</plan>", 0.0, 0.0),
        ("<plan>x</plan>and<code>y</code>", 0.0, 0.0),
    ],
)
def test_a_task_may_name_tags_of_its_own(text: str, published: float, hardened: float) -> None:
    """One block of each tag in order is the whole text, white space at its ends aside."""
    assert judge(text, tags=["plan", "code"], hardened=False).terms == {"tags": published}
    assert judge(text, tags=["plan", "code"]).terms == {"tags": hardened}


def test_what_the_template_has_written_counts() -> None:
    """A completion whose template opens the reasoning passes with it, and fails without."""
    rest = "a</think>b"

    assert judge(rest, checks=["trl_think_format"]).reward == 0.0
    assert judge(rest, checks=["trl_think_format"], prefill="<think>").reward == 1.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "at least one"),
        ({"checks": ["no_such_check"]}, "checks"),
        ({"checks": ["d1_int", "d1_int"]}, "named twice"),
        ({"tags": ["a", "a"]}, "named twice"),
        ({"tags": ["a>b"]}, "pattern"),
    ],
)
def test_what_cannot_be_checked_is_refused(fields: dict[str, Any], said: str) -> None:
    """Unknown names, repeated ones and none at all are faults of the request."""
    with pytest.raises(InvalidRequest) as refusal:
        judge(ON_LINES, **fields)

    assert said in str(refusal.value)


def test_every_check_answers_any_text() -> None:
    """Lone surrogates, null characters and nothing at all are texts."""
    for text in ("", "\ud83d", "\0", "<think>\udfff</think>"):
        assert len(judge(text, checks=list(CheckName)).terms) == len(CheckName)


def test_what_the_template_wrote_is_bounded() -> None:
    """A longer prefill would take d1's count below its documented range."""
    with pytest.raises(InvalidRequest, match="prefill"):
        judge("x", checks=["d1_xmlcount"], prefill="x" * 1_001)
