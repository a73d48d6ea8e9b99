"""The verifier `countdown`: what is paid for which expression, by profile."""

import time
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.rules.countdown import CountdownTask

_NUMBERS = {"numbers": [3, 8, 5], "target": 39}


def judge(completion: str, **fields: Any) -> Verdict:
    """Judge one completion as an answer to a countdown."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "countdown", **(_NUMBERS | fields)})
    return registry.get(task.verifier).judge(task, completion, FakeSlot())


def reward(expression: str, **fields: Any) -> float | None:
    """The reward of an expression in an answer block."""
    return judge(f"<answer>{expression}</answer>", **fields).reward


def test_the_target_is_full_marks() -> None:
    """Every number once, and the value is the target."""
    assert judge("<answer> 3*(8+5) </answer>").outcome is Outcome.PASSED
    assert reward("(8+5)*3") == 1.0


@pytest.mark.parametrize(
    ("fields", "expressions"),
    [
        ({"numbers": [8, 3, 8, 3], "target": 24}, ["8/(3-8/3)"]),
        ({"numbers": [1, 3], "target": 1 / 3}, []),  # a third is no decimal fraction
        ({"numbers": [1, 2], "target": 0.5}, ["1/2"]),
        ({"numbers": [1, 2], "target": -1}, ["1-2", "-2+1", "-(2-1)"]),
        ({"numbers": [1, 1], "target": 2}, ["1+1"]),
    ],
)
def test_fractions_are_exact(fields: dict[str, Any], expressions: list[str]) -> None:
    """No rounding comes between a value and its target."""
    assert [reward(expression, **fields) for expression in expressions] == [1.0] * len(expressions)


@pytest.mark.parametrize("expression", ["3+8+5", "3*8", "3*8+5+8-8", "38+5", "3*(8+5", "3*8+5=39", "3 x (8+5)", "five"])
def test_what_falls_short_earns_the_format_score(expression: str) -> None:
    """Another value, other numbers, and what is no expression."""
    verdict = judge(f"<answer>{expression}</answer>")

    assert (verdict.reward, verdict.outcome) == (0.1, Outcome.FAILED)
    assert verdict.message


def test_scores_are_apart() -> None:
    """Each way to fall short has its own score."""
    scores = {"wrong_value": 0.4, "wrong_numbers": 0.3, "unreadable": 0.2, "empty": 0.1, "missing": 0.05}

    given = [reward("3+8+5", **scores), reward("3*8", **scores), reward("1/0", **scores), reward(" ", **scores)]

    assert given == [0.4, 0.3, 0.2, 0.1]
    assert judge("3*(8+5)", **scores).reward == 0.05


@pytest.mark.parametrize("completion", ["3*(8+5)", "<answer>3*(8+5)", "<answer></answer>", "<answer>\n</answer>"])
def test_no_answer_is_none(completion: str) -> None:
    """Without a block, or with nothing in it, there is nothing to judge and nothing is paid."""
    verdict = judge(completion)

    assert (verdict.reward, verdict.outcome) == (0.0, Outcome.NO_ANSWER)


def test_the_last_block_is_read() -> None:
    """Earlier attempts do not count."""
    assert judge("<answer>1</answer> <answer>3*(8+5)</answer>").reward == 1.0
    assert judge("<answer>3*(8+5)</answer> <answer>1</answer>").reward == 0.1


@pytest.mark.parametrize(
    ("expression", "fields"),
    [
        ("2.5*4", {"numbers": [2, 5, 4], "target": 10}),
        ("2**3", {"numbers": [2, 3], "target": 8}),
        ("7//2+1", {"numbers": [7, 2, 1], "target": 4}),
        ("1/999999", {"numbers": [1, 999999], "target": 0}),
        ("4**(1/2)", {"numbers": [4, 1, 2], "target": 2}),
    ],
)
def test_holes_of_the_released_rules_are_closed_by_default(expression: str, fields: dict[str, Any]) -> None:
    """Glued decimals, powers, floor divisions and an absolute tolerance pay in the profile of the code only."""
    assert reward(expression, profile="d1/code", **fields) == 1.0
    assert reward(expression, profile="tinyzero/code", **fields) == 1.0
    assert reward(expression, **fields) == 0.1


def test_the_released_rules_pay_any_block() -> None:
    """Even an empty one."""
    assert reward("", profile="d1/code") == 0.1
    assert reward("", profile="tinyzero/code") == 0.1


def test_the_paper_pays_wrong_values_only() -> None:
    """The right numbers without the value earn 0.1; anything else nothing."""
    given = [reward(text, profile="d1/paper") for text in ("3*(8+5)", "3+8+5", "3+8", "three", "")]

    assert given == [1.0, 0.1, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("completion", "tinyzero", "d1"),
    [
        ("Assistant: <answer>3*(8+5)</answer>\nDone.", 0.0, 1.0),
        ("Assistant: so\n<answer>3*(8+5)</answer>", 1.0, 1.0),
        ("<answer>1</answer> <|im_start|>assistant <answer>3*(8+5)</answer>", 1.0, 1.0),
        ("<answer>3*(8+5)</answer> Assistant:", 0.0, 1.0),
        ("<answer>3*(8+5)</answer>", 1.0, 1.0),
    ],
)
def test_tinyzero_reads_the_last_line_after_the_marker(completion: str, tinyzero: float, d1: float) -> None:
    """One sentence after the answer costs everything there; without a marker the completion is the answer."""
    assert judge(completion, profile="tinyzero/code").reward == tinyzero
    assert judge(completion, profile="d1/code").reward == d1


def test_a_marker_can_be_required() -> None:
    """The released function gives nothing without one."""
    assert judge("<answer>3*(8+5)</answer>", profile="tinyzero/code", role_marker="required").reward == 0.0


@pytest.mark.parametrize(
    ("text", "score"),
    [("3*(8+5)", 1.0), ("3+8+5", 0.05), ("3*(8+6)", 0.05), ("three times", 0.01), ("", 0.01), ("1/0", 0.01)],
)
def test_reasoning_gym_reads_the_whole_text(text: str, score: float) -> None:
    """No tags; a floor of 0.01 for what is no expression, 0.05 for a wrong one."""
    assert judge(text, profile="reasoning-gym/code").reward == score


def test_the_left_side_of_an_equation_can_be_asked_for() -> None:
    """By default an equation is no expression."""
    assert reward("3*(8+5)=39", equation="left_side") == 1.0
    assert reward("=39", equation="left_side") == 0.0


@pytest.mark.parametrize("profile", CountdownTask.PROFILES, ids=lambda profile: profile.name)
@pytest.mark.parametrize(
    "text",
    [
        "9**9**9",
        "9**9**9**9**9",
        "(" * 10**6,
        "1+" * (10**6 // 2) + "1",
        "9" * 10**6,
        "-" * 10**6 + "9",
        "9" + "\n" * 10**6,
        "</answer>" * 10**5,
        "=" * 10**6,
        "9*9*9" + " " * 10**6 + "x",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_answers_end_at_once(profile: Any, text: str) -> None:
    """No tower, no depth and no length holds the worker, and none is paid in full."""
    started = time.process_time()

    given = judge(f"<answer>{text}</answer>", numbers=[9, 9, 9], target=9, profile=profile.name).reward

    assert given is not None
    assert given <= 0.1
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    "fields",
    [
        {"numbers": []},
        {"numbers": [-1]},
        {"numbers": [2.5]},
        {"target": float("nan")},
        {"target": 1e30},
        {"wrong_value": 1.5},
        {"operators": ["%"]},
        {"tolerance": -1},
    ],
)
def test_impossible_tasks_are_refused(fields: dict[str, Any]) -> None:
    """Numbers that no digits spell, and parameters out of their range, are faults of the request."""
    with pytest.raises(InvalidRequest):
        judge("", **fields)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.lists(st.integers(0, 99), min_size=2, max_size=5), st.data())
def test_a_right_expression_passes_in_every_profile(numbers: list[int], data: st.DataObject) -> None:
    """Whatever the order and grouping, the exact target is full marks, and one more is not."""
    text, value = str(numbers[0]), Fraction(numbers[0])
    for number in numbers[1:]:
        sign = data.draw(st.sampled_from("+-*"))
        text = f"({text}{sign}{number})"
        value = {"+": value + number, "-": value - number, "*": value * number}[sign]
    shuffled = data.draw(st.permutations(numbers))

    for profile in ("d1/code", "tinyzero/code", "countdown/hardened"):
        target = {"numbers": shuffled, "target": int(value), "profile": profile}
        assert reward(text, **target) == 1.0
        assert reward(text, **target | {"target": int(value) + 1}) == 0.1


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.text(alphabet="0123456789+-*/(). =<>answer\n", max_size=60))
def test_any_text_has_a_reward_within_the_range(text: str) -> None:
    """Nothing raises, and nothing leaves 0 to 1."""
    for profile in CountdownTask.PROFILES:
        given = judge(f"<answer>{text}</answer>", profile=profile.name).reward
        assert given is not None
        assert 0.0 <= given <= 1.0
