"""What all rules have in common: profiles, weights, outcomes, and reading a completion in linear time."""

import random
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from assay.errors import InvalidRequest, VerifierFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.rules.blocks import first_block, last_block
from assay.verifiers.rules.layouts import think_answer
from assay.verifiers.rules.literal import finite, read_literal
from assay.verifiers.rules.rule import RuleTask, Scored, Term, conclude, range_of

RIGHT = "<think>t</think><answer>cat</answer>"


def judge(completion: str, **fields: Any) -> Verdict:
    """Judge one completion by the verifier that a rule has become."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "classification", "label": "cat", **fields})
    return registry.get(task.verifier).judge(task, completion, FakeSlot())


def test_the_reward_is_the_weighted_sum_of_raw_terms() -> None:
    """Terms are handed back as they are, weights apply to the reward alone."""
    verdict = judge(RIGHT, weights={"format": 0.5})

    assert verdict.reward == 1.5
    assert verdict.terms == {"accuracy": 1.0, "format": 1.0}
    assert verdict.outcome is Outcome.PASSED


def test_less_than_full_marks_is_failed_unless_the_threshold_says_otherwise() -> None:
    """An attempt that misses one term failed; a task may ask for less."""
    loose = f"Well. {RIGHT}"

    assert judge(loose).outcome is Outcome.FAILED
    assert judge(loose, pass_threshold=1.0).outcome is Outcome.PASSED


def test_no_reward_leaves_its_range_by_a_rounding() -> None:
    """Whatever the weights: terms that miss an end of their range by the blur of floats count as that end."""
    numbers = random.Random(7)
    for _ in range(200):
        declared = [Term(name, 0, numbers.choice([1, 10, 0.1]), "", numbers.uniform(-3, 3)) for name in "abcde"]
        blurred = {term.name: numbers.choice([term.low - 1e-12, term.high + 1e-12]) for term in declared}

        verdict = conclude(RuleTask(id="t", verifier="x"), declared, Scored(blurred))

        low, high = range_of(declared, {})
        assert low <= (verdict.reward or 0.0) <= high
        assert all(term.low <= verdict.terms[term.name] <= term.high for term in declared)


@pytest.mark.parametrize(
    ("terms", "said"),
    [
        ({"day": 7.0, "hour": 0.5}, "7 for the term 'day', which lies between 0 and 1"),
        ({"day": -0.1, "hour": 0.5}, "-0.1 for the term 'day'"),
        ({"day": float("nan"), "hour": 0.5}, "nan for the term 'day'"),
        ({"day": float("inf"), "hour": 0.5}, "inf for the term 'day'"),
        ({"day": 0.5}, "other terms than it declares: 'hour'"),
        ({}, "other terms than it declares: 'day', 'hour'"),
        ({"day": 0.5, "hour": 0.5, "year": 0.0}, "other terms than it declares: 'year'"),
        ({"day": "0.5", "hour": 0.5}, "a str for the term 'day'"),
        ({"day": None, "hour": 0.5}, "a NoneType for the term 'day'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_terms_are_those_that_were_declared_within_their_ranges(terms: dict[str, Any], said: str) -> None:
    """Whatever else a rule gives would be paid, or missed, unnoticed: it is the rule's own fault."""
    declared = (Term("day", 0, 1, "a"), Term("hour", 0, 1, "b", weight=0.0))

    with pytest.raises(VerifierFault) as caught:
        conclude(RuleTask(id="t", verifier="clock"), declared, Scored(terms))

    assert caught.value.verifier == "clock"
    assert said in str(caught.value)


@pytest.mark.parametrize("value", [True, 1, Fraction(1), 1.0 + 1e-12, np.float32(1), np.int64(1)])
def test_any_real_number_is_a_term(value: Any) -> None:
    """Sums of floats may miss their bounds by as little as floats do."""
    verdict = conclude(RuleTask(id="t", verifier="clock"), (Term("day", 0, 1, "a"),), Scored({"day": value}))

    assert (verdict.outcome, type(verdict.terms["day"])) == (Outcome.PASSED, float)


def test_nothing_to_judge_is_no_answer() -> None:
    """Without an answer block there is a reward, and it says so."""
    verdict = judge("cat")

    assert verdict.outcome is Outcome.NO_ANSWER
    assert verdict.reward == 0.0


def test_a_profile_is_laid_under_the_task() -> None:
    """A preset fills in what the task leaves open."""
    text = RIGHT.replace("cat", "cat.")

    assert judge(text).terms["accuracy"] == 1.0
    assert judge(text, profile="videochat-r1/code").terms["accuracy"] == 0.0
    assert judge(text, profile="videochat-r1/code", normalise="names").terms["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"profile": "nobody/paper"}, "unknown profile"),
        ({"limits": {"wall_s": 1}}, "runs nothing"),
        ({"scoring": "all"}, "weighted sum"),
        ({"weights": {"accuracy": float("inf")}}, "finite"),
        ({"weights": {"accuracy": 1e10}}, "1000000000"),
        ({"pass_threshold": float("nan")}, "finite"),
    ],
)
def test_what_nothing_reads_is_refused(fields: dict[str, Any], said: str) -> None:
    """A field that would be ignored is a fault of the request."""
    with pytest.raises(InvalidRequest, match=said):
        judge(RIGHT, **fields)


def test_a_misspelled_field_is_named_beside_the_missing_one() -> None:
    """Whoever writes `lable` is told of it, not only that `label` is missing."""
    with pytest.raises(InvalidRequest) as caught:
        default_registry().parse_task({"id": "t", "verifier": "classification", "lable": "cat"})

    assert caught.value.path == "task.label"
    assert "'lable'" in caught.value.fix


@pytest.mark.parametrize("name", default_registry().names)
@pytest.mark.parametrize("profile", [[], {"name": "visual-rft/code"}, 1])
def test_a_profile_that_is_no_text_is_refused(name: str, profile: object) -> None:
    """As any value of a wrong type is, whatever the verifier."""
    with pytest.raises(InvalidRequest):
        default_registry().parse_task({"id": "t", "verifier": name, "profile": profile})


def test_a_weight_for_a_term_that_is_not_there_is_refused() -> None:
    """By its path, before anything is judged; the terms that are there are named."""
    with pytest.raises(InvalidRequest, match="accuracy, format") as refusal:
        judge(RIGHT, weights={"fromat": 1})

    assert refusal.value.path == "task.weights.fromat"


def test_weights_that_leave_no_reward_are_refused() -> None:
    """With all of them 0 every completion would have full marks."""
    with pytest.raises(InvalidRequest, match="all weights are 0") as refusal:
        judge(RIGHT, weights={"accuracy": 0, "format": 0})

    assert refusal.value.path == "task.weights"


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("<a>1</a> <a>2</a>", "1", "2"),
        ("<a><a>1</a></a>", "<a>1", "<a>1"),
        ("<a>1", None, None),
        ("</a>1<a>", None, None),
        ("<a></a>", "", ""),
    ],
)
def test_blocks(text: str, first: str | None, last: str | None) -> None:
    """A block runs to the next closing tag."""
    assert first_block(text, "a") == first
    assert last_block(text, "a") == last


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 2.5]", [1, 2.5]),
        ("{'a': (1, None)}", {"a": (1, None)}),
        ('{"a": true}', {"a": True}),
        (r"['\d', '\'']", [r"\d", "'"]),
    ],
)
def test_literals_are_read(text: str, value: object) -> None:
    """JSON and Python literals come out as values, unknown escapes as they stand."""
    assert read_literal(text) == value


@pytest.mark.parametrize(
    "text", ["f(1)", "[1", "", "__import__('os')", "NaN", "[" * 10**6, "-" * 19_000 + "1", "1" * 10**6]
)
def test_what_is_no_literal_is_refused(text: str) -> None:
    """Calls, broken, deep and long texts are no values."""
    with pytest.raises(ValueError):  # noqa: PT011 - the caller needs no more than the type
        read_literal(text)


@pytest.mark.parametrize("text", ["[down]", "f(1)", "{[]: 1}", "1 + x", "[lambda: 1]", "{*a}", "not 1"])
def test_what_is_said_of_no_literal_is_the_same_each_time(text: str) -> None:
    """And holds nothing of the parser's own objects."""
    with pytest.raises(ValueError, match="it holds more than numbers, quoted texts and containers of them"):
        read_literal(text)


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3.0), (-2.5, -2.5), (True, None), ("1", None), (1j, None), (None, None), (10**400, None), (1e999, None)],
)
def test_a_finite_number_is_one_that_a_float_holds(value: object, number: float | None) -> None:
    """Booleans and texts are none."""
    assert finite(value) == number


MILLION = 10**6
HOSTILE = [
    "<think>" + "</think><answer>" * (MILLION // 16),
    "<think>" + "</answer>" * (MILLION // 9),
    "<answer>" * (MILLION // 8),
    "</think>" + " " * MILLION,
    "<" * MILLION,
    "[" * MILLION,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:16])
def test_a_megabyte_takes_no_time(text: str) -> None:
    """Reading is linear: far below what quadratic search would take."""
    started = time.process_time()

    think_answer(text)
    list(map(first_block, [text] * 2, ["answer", "think"]))
    last_block(text, "answer")

    assert time.process_time() - started < 20  # quadratic search takes minutes
