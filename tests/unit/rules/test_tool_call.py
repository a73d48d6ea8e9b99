"""`tool_call`: the right tools with the right arguments, in any order."""

import json
import re
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from attempts import judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.verifiers.rules.calls.layout import has_layout
from assay.verifiers.rules.calls.matching import heaviest

FEW = settings(deadline=None, max_examples=100, derandomize=True)
OSLO = {"name": "weather", "parameters": {"city": "Oslo", "days": 3}}
MAIL = {"name": "mail", "parameters": {"to": "bo"}}


def written(*calls: Any, response: str = "") -> str:
    """A completion that makes these calls."""
    lines = "\n".join(call if isinstance(call, str) else json.dumps(call) for call in calls)
    return f"<think>t</think>\n<tool_call>\n{lines}\n</tool_call>{response}"


def correctness(completion: str, *calls: Any, **fields: Any) -> float:
    """The raw term of the released rule, unless the fields say otherwise."""
    return judge("tool_call", completion, calls=list(calls), **{"profile": "toolrl/code", **fields}).terms[
        "correctness"
    ]


def hardened(completion: str, *calls: Any) -> float:
    """The raw term of the default rule."""
    return judge("tool_call", completion, calls=list(calls)).terms["correctness"]


@pytest.mark.parametrize(
    ("made", "value"),
    [
        ([OSLO], 3), ([OSLO | {"parameters": {"city": "Oslo", "days": 4}}], 1.5), ([MAIL], -3),
        ([OSLO | {"parameters": {"city": "Oslo"}}], -3 + 6 * 2.5 / 4), ([OSLO, OSLO], -3 + 6 * 3.5 / 4),
        ([OSLO | {"parameters": {}}], -3 + 6 / 4), ([OSLO | {"parameters": {"city": "Oslo", "days": "3"}}], 1.5),
        ([OSLO | {"id": 1}], 3), ([OSLO | {"parameters": {"city": "Oslo", "days": 3.0}}], 3),
    ],
)  # fmt: skip
def test_names_parameters_and_values_count(made: list[Any], value: float) -> None:
    """Name overlap, key overlap and equal values over 1 + 1 + 2, scaled to [-3, 3]."""
    assert correctness(written(*made), OSLO) == pytest.approx(value)


def test_order_does_not_matter() -> None:
    """Of the calls."""
    assert correctness(written(MAIL, OSLO), OSLO, MAIL) == 3


@pytest.mark.parametrize(
    "block",
    [
        "{name: weather}", "[1]", '"weather"', "{}", '{"name": "weather"}', '{"name": "weather", "parameters": 1}',
        '{"name": ["weather"], "parameters": {}}', f"{json.dumps(OSLO)}\n\n{json.dumps(MAIL)}", "[" * 10_000,
        '{"name": "weather", "parameters": {"city": ' + "[" * 900 + "]" * 900 + "}", "", "9" * 5000,
    ],
    ids=lambda block: block[:40],
)  # fmt: skip
def test_what_cannot_be_read_is_worth_the_low_end(block: str) -> None:
    """Its format may still be right, as in the released code."""
    verdict = judge("tool_call", written(block), calls=[OSLO], profile="toolrl/code")

    assert verdict.terms == {"correctness": -3.0, "format": 1.0}


def test_the_hardened_format_needs_calls_that_can_be_read() -> None:
    """A broken call has no format."""
    assert judge("tool_call", written("{name: weather}"), calls=[OSLO]).reward == -3


def test_a_text_without_calls_is_no_answer() -> None:
    """Where some are expected."""
    verdict = judge("tool_call", "<think>t</think>\n<response>Sunny</response>", calls=[OSLO])

    assert verdict.outcome is Outcome.NO_ANSWER
    assert verdict.reward == -3


@pytest.mark.parametrize(
    ("completion", "code", "strict"),
    [("<think>t</think>\n<response>Hi</response>", 0.0, 3.0), (written(OSLO), 0.0, -3.0)],
)
def test_where_no_call_is_expected_only_the_hardened_rule_judges_calls(
    completion: str, code: float, strict: float
) -> None:
    """The released one is always 0."""
    assert correctness(completion) == code
    assert hardened(completion) == strict


def test_full_marks_are_passed_where_no_call_is_expected() -> None:
    """The range of correctness is then a point."""
    verdict = judge("tool_call", "<think>t</think>\n<response>Hi</response>", calls=[], profile="toolrl/code")

    assert verdict.outcome is Outcome.PASSED
    assert verdict.reward == 1


def test_blocks_behind_the_first_count_in_the_hardened_rule_only() -> None:
    """The released code reads one."""
    completion = f"{written(OSLO)}\n<tool_call>\n{json.dumps(MAIL)}\n</tool_call>"

    assert correctness(completion, OSLO) == 3
    assert hardened(completion, OSLO) < 3
    assert hardened(completion, OSLO, MAIL) == 3


def test_trying_values_does_not_pay_in_the_hardened_rule() -> None:
    """Every spare call costs what it could have earned."""
    sprayed = written(*[{"name": "weather", "parameters": {"city": "Oslo", "days": days}} for days in range(9)])

    assert correctness(sprayed, OSLO) > 1
    assert hardened(sprayed, OSLO) < -2


def test_booleans_are_no_numbers_in_the_hardened_rule() -> None:
    """In Python they are."""
    wanted = {"name": "f", "parameters": {"a": [1]}}
    made = written({"name": "f", "parameters": {"a": [True]}})

    assert correctness(made, wanted) == 3
    assert hardened(made, wanted) == pytest.approx(-3 + 6 * 2 / 3)


def test_more_than_250_calls_are_worth_the_low_end() -> None:
    """Whatever they say."""
    assert correctness(written(*[OSLO] * 251), OSLO) == -3


def test_ranges_are_the_tasks() -> None:
    """Both of them."""
    verdict = judge("tool_call", written(OSLO), calls=[OSLO], range=[0, 10], format_range=[-1, 2])

    assert verdict.terms == {"correctness": 10.0, "format": 2.0}
    assert verdict.outcome is Outcome.PASSED


@pytest.mark.parametrize(
    "fields", [{"range": [1, 1]}, {"format_range": [0, float("inf")]}, {"calls": [{"name": ""}]}, {"calls": [1]}]
)
def test_bad_tasks_are_refused(fields: dict[str, Any]) -> None:
    """Where they are sent in."""
    with pytest.raises(InvalidRequest):
        judge("tool_call", "", **{"calls": [OSLO], **fields})


PIECES = ["<think>", "</think>", "\n", "<tool_call>", "</tool_call>", "<response>", "</response>", "x"]
_PATTERNS = {
    (True, False): r"^<think>.*?</think>\n<tool_call>\n.*?\n</tool_call>$",
    (False, True): r"^<think>.*?</think>\n<response>.*?</response>$",
    (True, True): r"^<think>.*?</think>\n<tool_call>\n.*?\n</tool_call>\n<response>.*?</response>$",
    (False, False): r"^<think>.*?</think>$",
}
_FRAME = st.builds(
    lambda bits, seed: "".join(bits) + seed,
    st.lists(st.sampled_from(PIECES), max_size=6),
    st.sampled_from(
        [
            "", "</think>", "</think>\n<tool_call>\nx\n</tool_call>", "</think>\n<response>x</response>",
            "</think>\n<tool_call>\n\n</tool_call>\n<response></response>", "</think>\n<tool_call>\n</tool_call>",
        ]
    ),
)  # fmt: skip


@settings(deadline=None, max_examples=100, derandomize=True)
@given(_FRAME, st.lists(st.sampled_from(PIECES), max_size=2))
def test_the_layout_agrees_with_the_published_patterns(text: str, tail: list[str]) -> None:
    """ToolRL's, run as they stand on the trimmed text, with its counts of tags."""
    for whole in (text, f"<think>{text}", f"<think>{text}{''.join(tail)}"):
        for (calls, response), pattern in _PATTERNS.items():
            once = [tag for tag, on in (("tool_call", calls), ("response", response)) if on]
            counted = all(whole.count(f"<{tag}>") == 1 == whole.count(f"</{tag}>") for tag in once)

            matched = re.search(pattern, whole.strip(), re.DOTALL) is not None

            assert has_layout(whole.strip(), calls, response) == (matched and counted), (whole, calls, response)


CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["f", "g"]),
            "parameters": st.dictionaries(st.sampled_from("abc"), st.sampled_from([1, 2, True, "x"]), max_size=3),
        }
    ),
    min_size=1,
    max_size=4,
)


@FEW
@given(CALLS, CALLS, st.randoms(use_true_random=False))
def test_the_hardened_value_is_bounded_and_free_of_order(wanted: list[Any], made: list[Any], chance: Any) -> None:
    """Shuffling either side changes nothing, and only the right calls earn everything."""
    shuffled = chance.sample(wanted, len(wanted)), chance.sample(made, len(made))

    value = hardened(written(*made), *wanted)

    assert -3 <= value <= 3 + 1e-9
    assert hardened(written(*shuffled[1]), *shuffled[0]) == pytest.approx(value)
    assert hardened(written(*wanted), *wanted) == pytest.approx(3)
    assert -3 <= correctness(written(*made), *wanted) <= 3 + 1e-9


@FEW
@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_assignment_is_the_heaviest(rows: int, columns: int, data: st.DataObject) -> None:
    """As trying all of them."""
    weights = st.lists(st.integers(0, 5), min_size=columns, max_size=columns)
    worths = np.array(data.draw(st.lists(weights, min_size=rows, max_size=rows)), dtype=float)
    tall = worths if rows <= columns else worths.T

    orders = permutations(range(tall.shape[1]), tall.shape[0])
    best = max(sum(tall[row, column] for row, column in enumerate(order)) for order in orders)

    assert heaviest(worths) == pytest.approx(best)
