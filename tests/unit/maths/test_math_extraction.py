"""Where the answer stands in a completion."""

import time

import pytest

from assay.verifiers.maths.extraction import Extraction, Reasoning, after_reasoning, boxes, extract, last_box

MEGABYTE = 10**6


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (r"\boxed{4} and \boxed{9}", "9"),
        (r"\boxed{\frac{1}{\sqrt{2}}}", r"\frac{1}{\sqrt{2}}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{a\}b}", r"a\}b"),
        (r"\boxed{3} or \boxed{}", "3"),
        (r"\boxed{3} or \boxed{ ... }", "3"),
        (r"\boxed{3} or \boxed", "3"),
        (r"\boxed {5}", "5"),
        (r"$\boxed 8$", "8"),
        (r"$\boxed -12.5$", "-12.5"),
        (r"\boxed\pi", r"\pi"),
        (r"\boxed\frac{1}{2}", r"\frac{1}{2}"),
        (r"\fbox{2}", "2"),
        (r"\boxed{1}\fbox{2}", "2"),
        (r"\boxed{x=\boxed{5}}", "5"),
        (r"\boxed{5", None),
        (r"\boxed{4} but \boxed{5", None),
        ("", None),
        ("5", None),
    ],
)
def test_the_last_box(text: str, content: str | None) -> None:
    """By counting braces; empty ones are passed over, one that does not end is no answer."""
    assert last_box(text) == content


def test_all_boxes_in_order() -> None:
    """Up to the first that does not end."""
    assert list(boxes(r"\boxed{1} \boxed{} \fbox{2} \boxed 3 \boxed{4")) == ["1", "2", "3"]


@pytest.mark.parametrize(
    ("text", "strip", "required", "first"),
    [
        ("a</think>b", "b", "b", "b"),
        ("<think>a</think>b</think>c", "c", "c", "b"),
        ("a", "a", None, None),
        ("<think>a", "", None, None),
        ("a<think>b", "a", None, None),
        ("<think>a</think>b<think>c", "b", "b", "b<think>c"),
        ("</think>", "", "", ""),
    ],
)
def test_the_reasoning_is_left_out(text: str, strip: str, required: str | None, first: str | None) -> None:
    """After the last end of it, or between the first two, as the task says."""
    assert after_reasoning(text, Reasoning.STRIP) == strip
    assert after_reasoning(text, Reasoning.REQUIRED) == required
    assert after_reasoning(text, Reasoning.FIRST) == first
    assert after_reasoning(text, Reasoning.KEEP) == text


@pytest.mark.parametrize(
    ("place", "text", "found"),
    [
        (Extraction.FIRST_BOX, r"\boxed{} \boxed{1} \boxed{2}", "1"),
        (Extraction.ALL_BOXES, r"\boxed{1} \boxed{2}", r"1 \text{ and } 2"),
        (Extraction.TAG, r"<answer>1</answer><answer>x \boxed{2}</answer>", "2"),
        (Extraction.TAG, "<answer>1", None),
        (Extraction.HASHES, "#### 1\n#### 2 \nmore", "2"),
        (Extraction.ANSWER_LINE, "Answer: 1\nthe final answer is **2**\nmore", "2**"),
        (Extraction.ANSWER_LINE, "so 3\nA: 4", "4"),
        (Extraction.ANSWER_LINE, "no mark", None),
        (Extraction.LAST_FORMULA, "$1$ and $x+1$.", "x+1"),
        (Extraction.LAST_FORMULA, "$$1$$ and $$x+1$$", "x+1"),
        (Extraction.LAST_FORMULA, "costs $5", None),
        (Extraction.LAST_NUMBER, "from 3 to $1,234.50 each.", "1,234.50"),
        (Extraction.LAST_NUMBER, "about -2/3", "-2/3"),
        (Extraction.LAST_NUMBER, "none", None),
        (Extraction.WHOLE, " 42 ", "42"),
    ],
)
def test_other_places(place: Extraction, text: str, found: str | None) -> None:
    """Each finds what it names, or nothing."""
    assert extract(text, (place,)) == found


def test_the_first_place_that_holds_an_answer_counts() -> None:
    """Places are tried in order."""
    assert extract("#### 7", (Extraction.LAST_BOX, Extraction.HASHES, Extraction.WHOLE)) == "7"


BODIES = [
    "\\boxed{", "\\boxed{}", "\\boxed{{}", "\\boxed{(.", "\\boxed ", "\\fbox{", "{", "}", "\\", "$", "$$ ", "#",
    "answer is ",
    "answer", "answer*", "A:", "\nA:", "<answer>", "</answer>", "<think>", "</think>", "9", "1 ", "-", "1,", ".",
    " ", "\n",
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_a_megabyte_is_read_in_linear_time(body: str) -> None:
    """Far below what quadratic search would take, for every place and every kind of text."""
    text = body * (MEGABYTE // len(body))

    started = time.process_time()
    for reasoning in Reasoning:
        after_reasoning(text, reasoning)
    for place in Extraction:
        extract(text, (place,))

    assert time.process_time() - started < 2.0  # a tenth of it is usual; quadratic search takes minutes


def test_a_colon_of_full_width_marks_an_answer_too() -> None:
    """As models of Chinese write it."""
    assert extract("Answer：18", (Extraction.ANSWER_LINE,)) == "18"


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("18, as required.", "18"),
        ("$1,234, which is more than a thousand.", "$1,234"),
        ("x = 3, so she has 3 of them.", "x = 3"),
        ("18, so", "18, so"),
        ("3, x, and y", "3, x, and y"),
        ("red, as well as blue", "red, as well as blue"),
    ],
)
def test_a_clause_behind_the_number_of_an_answer_line_is_no_part_of_it(line: str, answer: str) -> None:
    """Only behind a number: words may be the answer."""
    assert extract(f"So the answer is {line}", (Extraction.ANSWER_LINE,)) == answer
