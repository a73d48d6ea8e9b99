"""Layouts: exactly what the published patterns accept, in linear time; hardened never pays what they refuse to."""

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.verifiers.rules import d1_layouts, layouts, sirl_layout
from assay.verifiers.rules.format_checks import CHECKS, CheckName

_TAGS = [f"<{slash}{tag}>" for tag in ("think", "answer", "reasoning", "glue") for slash in ("", "/")]
_PIECES = [*_TAGS, "\n", "\n", " ", "\x0b", "a", "-4", "7", "1.", "-", "*", "Step 1:", "First,", "\\boxed", "\boxed"]
_SIRL = ["<think>", "</think>", "<model", "<model>", "</model>", "<python>", "</python>", "x", "<modeling>"]

texts = st.lists(st.sampled_from(_PIECES), max_size=12).map("".join)


def _laid_out(*parts: str) -> st.SearchStrategy[str]:
    """Texts near a layout: its parts in order, with something in some of the gaps."""
    filling = st.sampled_from(["", "", "", "\n", " ", "a", "a\nb", *_TAGS[:4]])
    return st.tuples(*(filling for _ in range(len(parts) + 1))).map(
        lambda gaps: gaps[0] + "".join(part + gap for part, gap in zip(parts, gaps[1:], strict=True))
    )


near = st.one_of(
    texts,
    _laid_out("<think>", "</think>", "<answer>", "</answer>"),
    _laid_out("<think>\n", "\n</think>\n", "<answer>\n", "\n</answer>", "\n"),
    _laid_out("<reasoning>", "</reasoning>", "<answer>", "</answer>", "</answer>"),
    _laid_out("<reasoning>\n", "\n</reasoning>\n", "<answer>\n", "\n</answer>\n"),
    _laid_out("<reasoning>", "</reasoning> ", "</reasoning>\n", "<answer>", "</answer>"),
    _laid_out("<think>", "</think>", "<answer>", "</answer>", "<glue>", "</glue>"),
)

_FULL = re.compile(r"<think>.*?</think>\s*<answer>.*?</answer>", re.DOTALL)
_GLUE = re.compile(r"<think>.*?</think>\s*<answer>.*?</answer>\s*<glue>.*?</glue>", re.DOTALL)
_OPEN_R1 = re.compile(r"^<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>$", re.DOTALL | re.MULTILINE)
_TRL = re.compile(r"^<think>(?!.*<think>)(.*?)</think>.*$", re.DOTALL | re.MULTILINE)
_SOFT = re.compile(r"<reasoning>.*?</reasoning>\s*<answer>.*?</answer>")
_STRICT = re.compile(r"^<reasoning>\n.*?\n</reasoning>\n<answer>\n.*?\n</answer>\n$")
_STEPS = re.compile(r"(Step \d+:|^\d+\.|\n-|\n\*|First,|Second,|Next,|Finally,)")

PATTERNS: dict[CheckName, Callable[[str], float]] = {
    CheckName.THINK_ANSWER_FULLMATCH: lambda text: bool(_FULL.fullmatch(text)),
    CheckName.THINK_ANSWER_FULLMATCH_STRIPPED: lambda text: bool(_FULL.fullmatch(text.strip())),
    CheckName.THINK_ANSWER_GLUE: lambda text: bool(_GLUE.fullmatch(text.strip())),
    CheckName.OPEN_R1_FORMAT: lambda text: bool(_OPEN_R1.match(text)),
    CheckName.TRL_THINK_FORMAT: lambda text: bool(_TRL.match(text)),
    CheckName.D1_SOFT: lambda text: 0.5 * bool(_SOFT.match(text)),
    CheckName.D1_STRICT: lambda text: 0.5 * bool(_STRICT.match(text)),
    CheckName.OPEN_R1_REASONING_STEPS: lambda text: min(1.0, len(_STEPS.findall(text)) / 3),
}


@settings(deadline=None, max_examples=100, derandomize=True)
@given(near)
def test_the_published_patterns_accept_the_same(text: str) -> None:
    """Plain search finds a match exactly where the lazy pattern does."""
    found = {name: float(CHECKS[name].published(text)) for name in PATTERNS}

    assert found == {name: float(pattern(text)) for name, pattern in PATTERNS.items()}


@settings(deadline=None, max_examples=100, derandomize=True)
@given(near)
def test_values_are_within_their_range(text: str) -> None:
    """Whatever the text, both variants of a check stay within the range that it states."""
    outside = [
        name
        for name, check in CHECKS.items()
        for value in (check.published(text), check.hardened(text))
        if not check.low <= value <= check.high
    ]

    assert outside == []


_ONLY_TAKE_AWAY = (
    CheckName.THINK_ANSWER_FULLMATCH,
    CheckName.THINK_ANSWER_FULLMATCH_STRIPPED,
    CheckName.THINK_ANSWER_GLUE,
    CheckName.OPEN_RS_FORMAT,
    CheckName.TRL_THINK_FORMAT,
    CheckName.LOGIC_RL_STRUCTURE,
    CheckName.SIRL_STAGE1,
)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(near)
def test_hardened_is_never_looser(text: str) -> None:
    """Where hardening only takes away, nothing that the published rule refuses is paid."""
    looser = [name for name in _ONLY_TAKE_AWAY if CHECKS[name].hardened(text) > CHECKS[name].published(text)]

    assert looser == []


@settings(deadline=None, max_examples=100, derandomize=True)
@given(st.lists(st.sampled_from(_SIRL), max_size=9).map("".join))
def test_deductions_are_those_of_the_definition(text: str) -> None:
    """Counts and places are judged one by one, missing tags stand before the text."""
    tags = ("<think>", "</think>", "<model", "</model>", "<python>", "</python>")
    at = {tag: text.find(tag) for tag in tags}
    deducted = sum((1 / 4 if "python" in tag else 1 / 8) for tag in tags if text.count(tag) != 1)
    deducted += (at["</think>"] > min(at["<model"], at["</model>"], at["<python>"])) / 3
    deducted += any(at[a] > at[b] for a, b in zip(tags[::2], tags[1::2], strict=True)) / 3
    deducted += (at["<python>"] <= max(at[tag] for tag in tags[:4])) / 3

    assert sirl_layout.deduct(text) == pytest.approx((2 - deducted) / 2, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<reasoning>\nx\n</reasoning>\n<answer>\n4\n</answer>\n", 0.5),
        ("<reasoning>\nx\n</reasoning>\n<answer>\n4\n</answer>\nabc", 0.494),
        ("<reasoning>\nx\n</reasoning>\n<answer>\n4", 0.338),  # the whole text of 37 characters is deducted
        ("\n<answer>\n" + "x" * 1000, -0.885),
        ("\n</answer>", 0.126),
        ("\n<answer>\n\n</answer>\n</answer>\nabc", 0.112),  # of two that overlap the first is the last
        ("", 0.0),
    ],
)
def test_the_tag_count_of_d1_has_no_lower_bound(text: str, value: float) -> None:
    """Characters after the answer cost 0.001 twice; without its last line the whole text does once."""
    assert d1_layouts.count_tags(text) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("<reasoning>\nx\n</reasoning>\n<answer>\n4\n</answer>", 0.5),
        ("<reasoning>\nx\n</reasoning>\n<answer>\n4", 0.375),
        ("<reasoning>\nx\n</reasoning>\n<answer>\n4\n</answer>\nabc", 0.494),
        ("<reasoning>\nx\n</reasoning>\n<answer>\n4\n</answer>\n" + "x" * 1000, 0.0),
    ],
)
def test_the_hardened_tag_count_has_one(text: str, value: float) -> None:
    """Only what follows a closing tag is deducted, down to 0."""
    assert d1_layouts.hardened_count_tags(text) == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "text", "published", "hardened"),
    [
        (CheckName.THINK_ANSWER_FULLMATCH, "<think></think><answer></answer>", 1, 0),
        (CheckName.THINK_ANSWER_FULLMATCH, "<think>a</think><answer>1</answer><answer>2</answer>", 1, 0),
        (CheckName.THINK_ANSWER_FULLMATCH, "<think>a</think> \n <answer>1</answer>", 1, 1),
        (CheckName.OPEN_RS_FORMAT, "a\n</think>\nb", 1, 1),
        (CheckName.OPEN_RS_FORMAT, "<think>\n</think>\n", 1, 0),
        (CheckName.OPEN_RS_FORMAT, "a</think>b\n</think>\nc", 1, 0),
        (CheckName.OPEN_RS_TAG_COUNT, "\n</think>\n<think>\n", 1, 1),
        (CheckName.OPEN_R1_FORMAT, "<think>\na\n</think>\n<answer>\nb\n</answer>\nmore", 1, 0),
        (CheckName.OPEN_R1_FORMAT, "<think>\na\n</think>\n<answer>\nb\n</answer>\n", 1, 1),
        (CheckName.OPEN_R1_FORMAT, "<think>\na\n</think>\n<answer>\nb\n</answer> more", 0, 0),
        (CheckName.TRL_THINK_FORMAT, "a</think>b", 0, 0),
        (CheckName.TRL_THINK_FORMAT, "<think> </think>b", 1, 0),
        (CheckName.LOGIC_RL_STRUCTURE, "x<think></think>y<answer></answer>z", 1, 1),
        (CheckName.LOGIC_RL_STRUCTURE, "<answer></answer><think></think>", -1, -1),
        (CheckName.SIRL_STAGE1, "", 1 / 3, 0),
        (CheckName.SIRL_STAGE1, "<think>t</think><model>m</model><python>p</python>", 1, 1),
        (CheckName.D1_SOFT, "<reasoning>a\nb</reasoning><answer>c</answer>", 0, 0.5),
        (CheckName.D1_SOFT, "<reasoning>a</reasoning>\n<answer>c</answer>d", 0.5, 0.5),
        (CheckName.D1_STRICT, "<reasoning>\na\n</reasoning>\n<answer>\nc\n</answer>\n\n", 0.5, 0.5),
        (CheckName.D1_STRICT, "<reasoning>\na\n</reasoning>\n<answer>\nc\n</answer>", 0, 0.5),
        (CheckName.D1_INT, "12", 0.5, 0),
        (CheckName.D1_INT, "<answer> 12 </answer>", 0.5, 0.5),
        (CheckName.D1_INT, "<answer>-12</answer>", 0, 0.5),
        (CheckName.D1_INT, "<answer>12.0</answer>", 0, 0),
        (CheckName.D1_INT, "<answer>\u00b2</answer>", 0.5, 0),  # a superscript is a digit to the released rule
        (CheckName.D1_BOXED_AND_TAGS, "<answer>\\boxed{1}</answer>", 0.75, 1),
        (CheckName.D1_BOXED_AND_TAGS, "<answer>1</answer>", 0.75, 0.75),
        (CheckName.D1_BOXED_AND_TAGS, "<answer>1", 0.75, 0.25),
        (CheckName.D1_BOXED_AND_TAGS, "\\boxed{1}", 0.25, 0.5),
        (CheckName.OPEN_R1_REASONING_STEPS, "1. a\n2. b\n3. c", 1 / 3, 1),
        (CheckName.OPEN_R1_REASONING_STEPS, "- a\n- b\n- c", 2 / 3, 1),
        (CheckName.OPEN_R1_REASONING_STEPS, "First, a. Next, b. Finally, c. Step 4: d", 1, 1),
    ],
)
def test_what_sets_the_variants_apart(name: CheckName, text: str, published: float, hardened: float) -> None:
    """Published values are those of the released functions; hardened ones refuse what games them."""
    assert CHECKS[name].published(text) == pytest.approx(published)
    assert CHECKS[name].hardened(text) == pytest.approx(hardened)


MILLION = 10**6
HOSTILE = [
    piece * (MILLION // len(piece))
    for piece in (
        "<think>", "</think>", "</think> ", "</think><answer>", "</answer>", "\n</answer>", "\n</think>\n<answer>\n",
        "</reasoning>", "</reasoning> ", "</reasoning><answer>", "<reasoning>", "<answer>", "\n", " ", "1", "Step 1",
        "1.", "\n-", "<model", "a",
    )
]  # fmt: skip
OPENINGS = ("<think>\n", "<reasoning>")


@pytest.mark.parametrize("body", HOSTILE, ids=lambda body: repr(body[:22]))
def test_a_megabyte_takes_no_time(body: str) -> None:
    """Every check is linear: all of them on several openings take less than one quadratic search would."""
    started = time.process_time()

    for opening in OPENINGS:
        for check in CHECKS.values():
            check.published(opening + body)
            check.hardened(opening + body)

    assert time.process_time() - started < 20  # 64 readings; one quadratic search takes minutes


def test_any_number_of_blocks_can_be_asked_for() -> None:
    """One block of each tag, in order, whatever their bodies hold."""
    assert layouts.blocks_in_order("<a>1</a>\n<b></b><c>3</c>", ("a", "b", "c"))
    assert layouts.blocks_in_order("<a></a>", ("a",))
    assert not layouts.blocks_in_order("<a>1</a><c>3</c><b>2</b>", ("a", "b", "c"))
    assert not layouts.blocks_in_order("<a></a", ("a",))
