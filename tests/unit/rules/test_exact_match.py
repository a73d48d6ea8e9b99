"""`exact_match`: where the answer is read, and when it is one of the right ones."""

import re
from typing import Any

import pytest
from attempts import REGISTRY, judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.verifiers.rules.answers.extraction import Source, read
from assay.verifiers.rules.answers.minerva import minerva
from assay.verifiers.rules.answers.squad import squad

FEW = settings(deadline=None, max_examples=100, derandomize=True)


def score(completion: str, answers: str | list[str] = "18", **fields: Any) -> float:
    """The raw term."""
    return judge("exact_match", completion, answers=answers, **fields).terms["exact_match"]


@pytest.mark.parametrize(
    ("completion", "right"),
    [
        ("#### 18", 1), ("#### 17\n#### 18", 1), ("#### 18\n#### 17", 0), ("#### 1,8", 1), ("#### 18 bags", 1),
        ("#### 18.", 0), ("#### 18.0", 0), ("#### $18", 0), ("####18", 0), ("18", 0), ("#### 18" + " " * 300, 0),
    ],
)  # fmt: skip
def test_verl_reads_the_number_behind_the_hashes(completion: str, right: int) -> None:
    """In the last 300 characters, as a string without commas."""
    assert score(completion, profile="verl-gsm8k/code") == right


@pytest.mark.parametrize(
    ("completion", "right"),
    [("so 18", 1), ("$18", 1), ("18 of 20", 0), ("It is 18.", 0), ("18 . .", 1), ("18, or so, on", 0), ("1,8", 0)],
)
def test_verl_flexibly_reads_the_last_number_with_its_punctuation(completion: str, right: int) -> None:
    """A lone dot is passed over, a lone comma is not."""
    assert score(completion, profile="verl-gsm8k-flexible/code") == right


@pytest.mark.parametrize(
    ("completion", "right"),
    [
        ("#### 18.", 1), ("#### 18.00", 1), ("#### $18", 1), ("####18", 1), ("#### **18**", 1), ("####\n18", 1),
        ("#### 18 bags", 1), ("#### 18" + " x" * 300, 1), ("#### 18-20", 0), ("#### 18 or 19", 0), ("18", 0),
        ("#### -18", 0), ("#### 1.8", 0), ("#### 18 (that is 3 * 6).", 1), ("#### 3 * 6 = 18", 1), ("#### 18 - 20", 0),
    ],
)  # fmt: skip
def test_hardened_hashes_compare_by_value(completion: str, right: int) -> None:
    """Punctuation, currency, emphasis and later text do not matter; another value does."""
    assert score(completion, profile="verl-gsm8k/hardened") == right


@pytest.mark.parametrize(
    ("gold", "completion", "right"),
    [
        ("42", "Answer: $42$", True), ("42", "answer :42", True), ("42", "Answer:\n42", True), ("42", "42", False),
        ("42", "Answer: 41\nAnswer: 42", True), ("12 feet", "Answer: 12 inches", True), ("x", "Answer: y = x", True),
        ("1000", "Answer: 1,000", True), ("(1,000)", "Answer: (1000)", False), ("0.5", "Answer: \\frac12", False),
        ("\\frac{1}{2}", "Answer: \\frac12", True), ("\\sqrt{2}", "Answer: \\sqrt2", True),
        ("5", "Answer: \\boxed{5}", True), ("5", "Answer: \\text{5}", True), ("5", "Answer: 5" + "!" * 300, False),
    ],
)  # fmt: skip
def test_dapo_compares_minervas_strings(gold: str, completion: str, right: bool) -> None:
    """The last answer line of the last 300 characters; 1 or -1."""
    assert score(completion, gold, profile="verl-math-dapo/code") == (1 if right else -1)


@pytest.mark.parametrize(
    ("gold", "completion", "right"),
    [
        ("42", "\\boxed{42}", True), ("42", "**Answer:** 42.", True), ("12 feet", "Answer: 12 inches", False),
        ("12 feet", "Answer: 12", True), ("\\frac{1}{2}", "Answer: 0.5", True), ("50\\%", "Answer: 1/2", True),
        ("50", "Answer: 50\\%", False), ("1000", "Answer: $1{,}000$", True), ("-5", "Answer: \u22125", True),
        ("3/2", "Answer: 1 1/2", True), ("(1,2)", "Answer: (1, 2)", True), ("yes", "Answer: Yes", True),
        ("x", "Answer: X", False), ("1", "Answer: 1/0", False), ("42", "Answer: 43\n\\boxed{42}", False),
        ("42", "\\boxed{42", False), ("100", "Answer: 1e2", True), ("cat", "Answer:", False),
    ],
)  # fmt: skip
def test_hardened_answer_lines_compare_by_value(gold: str, completion: str, right: bool) -> None:
    """Exact numbers with their units; text as text."""
    assert score(completion, gold, profile="verl-math-dapo/hardened") == (1 if right else -1)


def test_the_strict_box_stands_in_the_last_hundred_characters() -> None:
    """As a string."""
    assert score("\\boxed{18}", profile="verl-math-dapo-box/code") == 1
    assert score("\\boxed{18}" + " " * 100, profile="verl-math-dapo-box/code") == -1
    assert score("\\boxed{18.0}", profile="verl-math-dapo-box/code") == -1


@pytest.mark.parametrize(
    ("gold", "text", "released", "hardened"),
    [
        ("hague", "The Hague.", 1, 1), ("well known", "well-known", 0, 1), ("wellknown", "well-known", 1, 1),
        ("The", "a", 1, 0), ("The", "the", 1, 1), ("-5", "5", 1, 0), ("1.5", "15", 1, 0), ("1,000", "1000", 1, 1),
        ("caf\u00e9", "CAF\u00c9", 1, 1), ("rock \u2019n\u2019 roll", "rock n roll", 0, 1), ("?", "!", 1, 0),
        ("New York", "York New", 0, 0),
    ],
)  # fmt: skip
def test_words_are_compared_as_squad_does_or_more_carefully(gold: str, text: str, released: int, hardened: int) -> None:
    """The hardened form keeps signs, decimal points and what is left of nothing."""
    completion = f"<answer>{text}</answer>"

    assert score(completion, gold, profile="verl-search-r1/code") == released
    assert score(completion, gold) == hardened


def test_any_of_several_answers_counts() -> None:
    """Aliases."""
    assert score("<answer>NYC</answer>", ["New York City", "NYC"]) == 1


@pytest.mark.parametrize(("tags", "worth"), [(10, 1.0), (11, 0.25)])
def test_more_than_ten_tags_quarter_a_right_answer(tags: int, worth: float) -> None:
    """Opening or closing ones."""
    assert score("<answer>18</answer>" * tags, profile="verl-search-r1/code") == worth


def test_the_original_search_r1_needs_the_prompts_block_too() -> None:
    """One block is the prompt's example."""
    assert score("<answer>18</answer>", profile="search-r1/code") == 0
    assert score("<answer>Beijing</answer><answer>18</answer>", profile="search-r1/code") == 1


@pytest.mark.parametrize(("block", "right"), [("first", 0), ("last", 1), ("only", 0)])
def test_the_task_says_which_block_is_the_answer(block: str, right: int) -> None:
    """Several blocks are no answer where only one may be."""
    assert score("<answer>17</answer><answer>18</answer>", block=block) == right


def test_f1_is_the_overlap_with_the_nearest_answer() -> None:
    """Reported beside exact_match, and weighed where the task says so."""
    verdict = judge(
        "exact_match", "<answer>the big red dog</answer>", answers=["cat", "a red dog"],
        weights={"exact_match": 0, "f1": 1},
    )  # fmt: skip

    assert verdict.terms == {"exact_match": 0.0, "f1": pytest.approx(0.8)}
    assert verdict.reward == pytest.approx(0.8)


SAKE = {"tags": ["think", "select", "answer"], "answers": "yes"}
GOOD = "<think>q</think><select>g</select><answer>yes</answer>"


@pytest.mark.parametrize(
    ("completion", "code", "hardened"),
    [
        (GOOD, 1.0, 1.0),
        (GOOD.replace("yes", "no"), 0.2, 0.2),
        (GOOD.replace("</select>", ""), 0.8, 0.8),
        ("</think></select></answer>", 0.2, 0.0),
        ("</answer></select></think>", 0.2, 0.0),
        (GOOD + "<answer>yes</answer>", 1.0, 0.0),
        (GOOD.replace("g", " "), 1.0, 0.8),
        (GOOD.replace("<select>g</select>", "") + "<select>g</select>", 1.0, 0.8),
        (GOOD.replace("yes", "Yes."), 0.2, 1.0),
    ],
)
def test_sake_adds_a_layout_to_the_match(completion: str, code: float, hardened: float) -> None:
    """Released: closing tags alone; hardened: pairs in order, once, not blank."""
    assert judge("exact_match", completion, profile="sake-7b/paper", **SAKE).reward == pytest.approx(code)
    assert judge("exact_match", completion, profile="sake/hardened", **SAKE).reward == pytest.approx(hardened)


def test_d1_reads_from_the_last_opening_tag_on() -> None:
    """Also where it is never closed; 2 on equal strings."""
    assert judge("exact_match", "<answer>1</answer> <answer>\n18", answers="18", profile="d1-gsm8k/code").reward == 2


@pytest.mark.parametrize("completion", ["", "cat", "<answer></answer>", "<answer> </answer>", "<answer>cat"])
def test_nothing_to_compare_is_no_answer(completion: str) -> None:
    """The reward is that of a wrong answer."""
    verdict = judge("exact_match", completion, answers="cat")

    assert verdict.outcome is Outcome.NO_ANSWER
    assert verdict.reward == 0


def test_full_marks_are_passed_and_a_wrong_answer_is_told() -> None:
    """The message shows what was read."""
    assert judge("exact_match", "<answer>Cat</answer>", answers="cat").outcome is Outcome.PASSED
    assert "'dog'" in judge("exact_match", "<answer>dog</answer>", answers="cat").message


def test_an_answer_of_twenty_thousand_characters_is_wrong() -> None:
    """Whatever it says."""
    assert score("<answer>18" + " ." * 10_000 + "</answer>") == 0
    assert score("<answer>18" + " ." * 9_000 + "</answer>") == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"answers": []}, {"answers": [""]}, {"layout": "pairs"}, {"tags": ["a"]}, {"scores": [1, 0]},
        {"scores": [0, float("inf")]}, {"extract": "box", "block": "first"}, {"tag": "a b"}, {"tag": "<a>"},
        {"extract": "somewhere"}, {"most_tags": 10, "scores": [0.5, 1]}, {"window": 0}, {"answers": ["a" * 20_001]},
    ],
)  # fmt: skip
def test_tasks_that_contradict_themselves_are_refused(fields: dict[str, Any]) -> None:
    """Where they are sent in."""
    with pytest.raises(InvalidRequest):
        judge("exact_match", "", **{"answers": "a", **fields})


def test_a_term_that_is_not_there_cannot_be_weighed() -> None:
    """F1 is of words."""
    with pytest.raises(InvalidRequest, match="f1"):
        judge("exact_match", "<answer>1</answer>", answers="1", normalise="value", weights={"f1": 1})


TEXTS = st.text(st.sampled_from("#Answer: 18.,-$\n\\boxed{}<>/answertheAN"), max_size=60)


@FEW
@given(TEXTS)
def test_extraction_agrees_with_the_published_patterns(text: str) -> None:
    """verl's patterns, run as they stand."""
    strict = re.findall(r"#### (\-?[0-9\.\,]+)", text)
    numbers = re.findall(r"(\-?[0-9\.\,]+)", text)
    lines = re.findall(r"(?i)Answer\s*:\s*([^\n]+)", text)
    blocks = re.findall(r"<answer>(.*?)</answer>", text, re.DOTALL)

    assert read(text, Source.HASH_NUMBER, "answer") == (strict[-1].replace(",", "") if strict else None)
    assert (read(text, Source.LAST_NUMBER, "answer") is None) == (numbers == [])
    assert read(text, Source.ANSWER_LINE, "answer") == (lines[-1] if lines else None)
    assert read(text, Source.TAG, "answer") == (blocks[-1].strip() if blocks else None)


@FEW
@given(st.text(max_size=30), st.sampled_from(["exact", "squad", "words", "minerva", "value"]))
def test_every_answer_is_its_own_gold(text: str, normalise: str) -> None:
    """Unless nothing is left of it; and the verdict is the same whichever of the two is the gold."""
    completion = f"<answer>{text}</answer>"
    fields = {"normalise": normalise}

    right = bool(text.strip()) and score(completion, text, **fields) == 1

    assert right or squad(text) == "" or normalise in ("words", "value")


SHORT = st.text(st.sampled_from("1a. -$%"), min_size=1, max_size=8).map(str.strip).filter(bool)


@FEW
@given(SHORT, SHORT)
def test_comparison_is_symmetric(one: str, other: str) -> None:
    """However it is done."""
    for normalise in ("exact", "words", "squad", "minerva", "value"):
        fields = {"extract": "whole", "normalise": normalise}

        assert score(one, other, **fields) == score(other, one, **fields)


def test_minervas_form_is_stable_on_plain_numbers() -> None:
    """What is in its normal form stays."""
    assert [minerva(text) for text in ("42", "x+1", "\\frac{1}{2}", "1,2,a")] == ["42", "x+1", "\\frac{1}{2}", "1,2,a"]


def test_every_profile_is_accepted() -> None:
    """With what it leaves to the task."""
    for profile in REGISTRY.get("exact_match").task_model.PROFILES:
        needs = {"tags": ["answer"]} if "layout" in profile.fields else {}
        assert judge("exact_match", "x", answers="1", profile=profile.name, **needs).reward is not None


@pytest.mark.parametrize("profile", ["verl-gsm8k/code", "verl-gsm8k/hardened"])
def test_a_gold_with_its_working_is_refused(profile: str) -> None:
    """A data set's raw field would make every completion wrong."""
    with pytest.raises(InvalidRequest, match="behind it"):
        judge("exact_match", "#### 42", profile=profile, answers="Tom has 4.\n#### 42")


@pytest.mark.parametrize(
    ("completion", "dropped", "kept"),
    [
        ("<think>so <answer>18</answer></think> I cannot tell.", 0, 1),
        ("<think>so <answer>18</answer>", 0, 1),
        ("<answer>18</answer> <thinking>or <answer>17</answer>?</thinking>", 1, 0),
        ("so <answer>17</answer></think><answer>18</answer>", 1, 1),
    ],
)
def test_a_draft_in_the_reasoning_is_no_answer(completion: str, dropped: int, kept: int) -> None:
    """But by published profiles, which read the whole text."""
    assert score(completion) == dropped
    assert score(completion, reasoning="kept") == kept
    assert score(completion, profile="verl-search-r1/code") == kept
