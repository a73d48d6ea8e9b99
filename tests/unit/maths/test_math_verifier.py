"""The verifier `math` where no process is needed: policies, faults, outcomes."""

from typing import Any

import pytest
from maths_attempts import judge, reward

from assay.errors import InvalidRequest, TaskFault
from assay.outcomes import Outcome


def test_a_right_answer_passes() -> None:
    """With its one term, and the versions of the libraries."""
    verdict = judge(r"<think>\boxed{1}</think>It is \boxed{0.5}.", r"\frac12")

    assert (verdict.outcome, verdict.reward, verdict.message) == (Outcome.PASSED, 1.0, "")
    assert verdict.terms == {"accuracy": 1.0}
    assert {"sympy", "math-verify"} <= verdict.versions.keys()


def test_a_wrong_answer_fails_and_is_named() -> None:
    """Cut short, for it may be long; the right one is not told."""
    verdict = judge(rf"\boxed{{{'4' * 500}}}", "12345")

    assert (verdict.outcome, verdict.reward) == (Outcome.FAILED, 0.0)
    assert "444..." in verdict.message
    assert "12345" not in verdict.message


@pytest.mark.parametrize(
    "completion", ["", "42", r"\boxed{}", r"<think>\boxed{42}", r"\boxed{42", r"\boxed{\text{ }}", r"\boxed{.}"]
)
def test_without_an_answer_there_is_none(completion: str) -> None:
    """The reward is 0 all the same."""
    verdict = judge(completion, "42")

    assert (verdict.outcome, verdict.reward) == (Outcome.NO_ANSWER, 0.0) or completion == r"\boxed{\text{ }}"
    assert verdict.reward == 0.0


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("", "empty"),
        ("$$", "empty"),
        (r"\frac{1}{", "does not end|ends too early"),
        ("see the attached figure", "prose"),
        ("see figure", "prose"),
        ("N/A", "not there"),
        (r"\frac{1}{0}", "no value"),
        (r"\{1, \frac{1}{0}\}", "no value"),
        ("1012_2", "base 2"),
        ("(1, 2", "'the end' stands where"),
        ("x < <", "'<' stands where a value should"),
    ],
)
def test_a_gold_that_cannot_be_judged_by_is_the_tasks_fault(answer: str, said: str) -> None:
    """For every completion, right, wrong or empty."""
    for completion in (r"\boxed{5}", "", rf"\boxed{{{answer}}}"):
        with pytest.raises(TaskFault, match=said):
            judge(completion, answer)


def test_a_gold_in_prose_may_hold_its_answer() -> None:
    """A box, a line after four hashes, a formula; else the whole of it."""
    golds = ["So \\boxed{9}.", "3 and 6 make 9.\n#### 9", "It is $9$.", "9"]

    assert [reward(gold, "9", gold_delimited=False) for gold in golds] == [1.0] * 4
    with pytest.raises(TaskFault, match="prose"):
        reward("see the attached figure", "9", gold_delimited=False)


@pytest.mark.parametrize(
    ("answer", "boxed", "fields", "expected"),
    [
        ("25\\%", "25", {}, 0.0),
        ("25\\%", "25", {"percent": "ignore"}, 1.0),
        ("25\\%", "25", {"percent": "either"}, 1.0),
        ("25\\%", "0.25", {"percent": "either"}, 1.0),
        ("5\\text{ cm}", "5", {}, 1.0),
        ("5\\text{ cm}", "5", {"units": "match"}, 0.0),
        ("5\\text{ cm}", "5\\text{ centimetres}", {"units": "match"}, 1.0),
        ("5", "5\\text{ cm}", {"units": "match"}, 0.0),
        ("5\\text{ m/s}", "5\\text{ s/m}", {"units": "match"}, 0.0),
        ("5\\text{ m/s}", "5\\mathrm{~m}/\\mathrm{s}", {"units": "match"}, 1.0),
        ("5\\text{ m/s}", "5\\mathrm{~s}/\\mathrm{m}", {"units": "match"}, 0.0),
        ("5\\text{ m/s}", "5 m/s", {"units": "match"}, 1.0),
        ("5\\text{ m/s}", "5 meters per second", {"units": "match"}, 1.0),
        ("5\\text{ m/s}", "5\\text{ m s}^{-1}", {"units": "match"}, 1.0),
        ("5\\text{ m/s}", "5\\text{ m s}", {"units": "match"}, 0.0),
        ("5\\text{ m/s}^2", "5\\text{ m}^2/\\text{s}", {"units": "match"}, 0.0),
        ("5\\text{ m}^2\\text{ s}", "5\\text{ m}\\text{ s}^2", {"units": "match"}, 0.0),
        ("\\frac{5\\text{ m}}{2\\text{ s}}", "\\frac{5\\text{ s}}{2\\text{ m}}", {"units": "match"}, 0.0),
        ("5\\text{ cm}^3", "5\\text{ cubic centimeters}", {"units": "match"}, 1.0),
        ("1\\text{ m}, 2\\text{ s}", "1\\text{ m/s}, 2", {"units": "match"}, 0.0),
        ("\\$5", "€5", {"units": "match"}, 0.0),
        ("\\$5", "\\pounds 5", {"units": "match"}, 0.0),
        ("\\$5", "5", {"units": "match"}, 0.0),
        ("5", "\\$5", {"units": "match"}, 0.0),
        ("\\$5", "5\\text{ dollars}", {"units": "match"}, 1.0),
        ("5\\text{ euros}", "\\text{€}5", {"units": "match"}, 1.0),
        ("\\$5", "€5", {}, 1.0),
        ("1,5", "1.5", {"numbers": "european"}, 0.0),
        ("1,5", "1,50", {"numbers": "european"}, 1.0),
        ("2,5", "5,2", {}, 1.0),
        ("2,5", "5,2", {"order": "ordered"}, 0.0),
        ("(2,5)", "(5,2)", {"order": "unordered"}, 1.0),
        ("[0,4)", "0\\le x<4", {}, 1.0),
        ("[0,4)", "0\\le x<4", {"intervals": "literal"}, 0.0),
        ("x=2y", "2x=4y", {}, 1.0),
        ("x=2y", "2x=4y", {"equations": "literal"}, 0.0),
        ("x=2y", "2y=x", {"equations": "literal"}, 1.0),
        ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "(1,2)", {}, 1.0),
        ("\\begin{pmatrix}1\\\\2\\end{pmatrix}", "(1,2)", {"matrices": "strict"}, 0.0),
        ("101_2", "101", {}, 0.0),
        ("101_2", "101", {"base": "implied"}, 1.0),
        ("1/3", "0.333333", {}, 1.0),
        ("1/3", "0.333333", {"decimals": None}, 0.0),
        ("1/3", "0.33", {"decimals": 2}, 1.0),
        ("100", "101", {"relative_tolerance": 0.02}, 1.0),
        ("100", "103", {"relative_tolerance": 0.02}, 0.0),
        ("-100", "-101", {"relative_tolerance": 0.02}, 1.0),
    ],
)
def test_policies(answer: str, boxed: str, fields: dict[str, Any], expected: float) -> None:
    """Each field does what it says."""
    assert reward(answer, boxed, **fields) == expected


@pytest.mark.parametrize(
    ("completion", "profile", "expected"),
    [
        (r"\boxed{9}", "math/hardened", 1.0),
        (r"\boxed{9}", "open-rs/paper", 1.0),
        (r"\boxed{9}", "open-r1/paper", 1.0),
        ("It is $9$.", "open-r1/paper", 1.0),
        ("It is $9$.", "open-rs/paper", 0.0),
        ("It is 9.", "trl/paper", 0.0),
        ("</think>It is 9.", "trl/paper", 1.0),
        ("</think>It is 9.</think>No, 8.", "exgrpo/paper", 1.0),
        (r"\boxed{9}", "exgrpo/paper", 0.0),
        ("9", "d1/paper", 2.0),
    ],
)
def test_profiles(completion: str, profile: str, expected: float) -> None:
    """What is looked for and where, as published."""
    assert judge(completion, "9", profile=profile).reward == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"answer": "9" * 5000},
        {"extract": []},
        {"extract": "second_box"},
        {"percent": "maybe"},
        {"decimals": -1},
        {"relative_tolerance": 1.5},
        {"relative_tolerance": float("nan")},
        {"tag": "<x>"},
        {"profile": "nobody/paper"},
        {"unit": "cm"},
        {"scoring": "all"},
    ],
)
def test_what_means_nothing_is_refused(fields: dict[str, Any]) -> None:
    """With the request, before anything is judged."""
    with pytest.raises(InvalidRequest):
        judge("", **{"answer": "9", **fields})


@pytest.mark.parametrize(
    ("gold", "answer", "right"),
    [
        ("B", "(B)", True), ("B", "b", True), ("B", "\\text{B}", True), ("B", "\\textbf{(B)} 42", True), ("B",
        "B: 42", True),
        ("B", "Option B", True), ("B", "C", False), ("B", "A or B", False), ("B", "(A)(B)", False), ("B",
        "\\text{B or C}", False),
        ("(B)", "B", True), ("\\text{yes}", "Yes.", True), ("\\text{yes}", "no", False), ("\\text{east}",
        "seat", False),
        ("Monday", "\\text{Monday}", True), ("\\text{does not exist}", "DNE", True), ("\\text{北}", "北", True),
        ("\\text{北}", "南", False),
    ],
)  # fmt: skip
def test_letters_and_words(gold: str, answer: str, right: bool) -> None:
    """Choices by their letter, words folded."""
    assert reward(gold, answer) == float(right)


def test_the_same_attempt_gets_the_same_verdict() -> None:
    """Also from another verifier of the same kind, and after other attempts."""
    first = judge(r"\boxed{(x+1)^2}", "x^2+2x+1")
    judge(r"\boxed{x}", "y")

    assert judge(r"\boxed{(x+1)^2}", "x^2+2x+1") == first
