"""The named checks of the verifier `format`: what each returns as published, and what hardened."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from assay.verifiers.rules import d1_layouts, layouts, sirl_layout
from assay.verifiers.rules.layouts import THINK_ANSWER

LONGEST_PREFILL = 1_000
"""Characters that a chat template may have written of a completion."""


class CheckName(StrEnum):
    """Every named check."""

    THINK_ANSWER_FULLMATCH = "think_answer_fullmatch"
    THINK_ANSWER_FULLMATCH_STRIPPED = "think_answer_fullmatch_stripped"
    THINK_ANSWER_GLUE = "think_answer_glue"
    OPEN_RS_FORMAT = "open_rs_format"
    OPEN_RS_TAG_COUNT = "open_rs_tag_count"
    OPEN_R1_FORMAT = "open_r1_format"
    OPEN_R1_TAG_COUNT = "open_r1_tag_count"
    OPEN_R1_REASONING_STEPS = "open_r1_reasoning_steps"
    TRL_THINK_FORMAT = "trl_think_format"
    LOGIC_RL_STRUCTURE = "logic_rl_structure"
    SIRL_STAGE1 = "sirl_stage1"
    D1_XMLCOUNT = "d1_xmlcount"
    D1_SOFT = "d1_soft"
    D1_STRICT = "d1_strict"
    D1_INT = "d1_int"
    D1_BOXED_AND_TAGS = "d1_boxed_and_tags"


@dataclass(frozen=True)
class Check:
    """One check: its range, where it comes from, and both of its functions from the text to the value."""

    high: float
    source: str
    about: str
    published: Callable[[str], float]
    hardened: Callable[[str], float]
    low: float = 0.0


_GLUE = ("think", "answer", "glue")
_LONGEST = 1_000_000 + LONGEST_PREFILL  # characters of a completion and what stands before it
_D1 = "dllm-reasoning/d1@837888f reward_func.py"
_OPEN_R1 = "huggingface/open-r1@1416fa0 rewards.py"
_OPEN_RS = "knoveleng/open-rs@2889c47 rewards.py"

CHECKS: Mapping[CheckName, Check] = {
    CheckName.THINK_ANSWER_FULLMATCH: Check(
        1, "Liuziyu77/Visual-RFT@9486633", "the text is a think block, white space, an answer block; nothing stripped; "
        "hardened: each tag once, no body blank",
        layouts.think_answer,
        lambda text: layouts.hardened_blocks_in_order(text, THINK_ANSWER),
    ),
    CheckName.THINK_ANSWER_FULLMATCH_STRIPPED: Check(
        1, "OpenGVLab/VideoChat-R1@73b2ea9", "the same after white space at both ends was stripped",
        lambda text: layouts.think_answer(text.strip()),
        lambda text: layouts.hardened_blocks_in_order(text.strip(), THINK_ANSWER),
    ),
    CheckName.THINK_ANSWER_GLUE: Check(
        1, "OpenGVLab/VideoChat-R1@73b2ea9, grounded QA", "stripped, the text is a think, an answer and a glue block; "
        "hardened: each tag once, no body blank",
        lambda text: layouts.blocks_in_order(text.strip(), _GLUE),
        lambda text: layouts.hardened_blocks_in_order(text.strip(), _GLUE),
    ),
    CheckName.OPEN_RS_FORMAT: Check(
        1, _OPEN_RS, "`</think>` is a line of its own exactly once; "
        "hardened: no other closing tag, neither side blank",
        layouts.closed_on_a_line,
        layouts.hardened_closed_on_a_line,
    ),
    CheckName.OPEN_RS_TAG_COUNT: Check(
        1, _OPEN_RS, "half for each think tag that stands on its line exactly once; hardened: the same",
        layouts.count_open_rs_tags,
        layouts.count_open_rs_tags,
    ),
    CheckName.OPEN_R1_FORMAT: Check(
        1, _OPEN_R1, "both blocks, tags on lines of their own, any lines after the answer; "
        "hardened: nothing after the answer, each tag once, no body blank",
        layouts.own_lines,
        layouts.hardened_own_lines,
    ),
    CheckName.OPEN_R1_TAG_COUNT: Check(
        1, _OPEN_R1, "a quarter for each of four tags that stands on its line exactly once; hardened: the same",
        layouts.count_open_r1_tags,
        layouts.count_open_r1_tags,
    ),
    CheckName.OPEN_R1_REASONING_STEPS: Check(
        1, _OPEN_R1, "a third for each marker of a step, numbered lists at the start of the text only; "
        "hardened: the rule that was meant, with lists anywhere",
        layouts.count_step_markers,
        layouts.hardened_count_step_markers,
    ),
    CheckName.TRL_THINK_FORMAT: Check(
        1, "huggingface/trl@f2cd577 format_rewards.py", "the text opens with the only think tag, closed somewhere; "
        "hardened: closed once, not blank, something after it",
        layouts.think_first,
        layouts.hardened_think_first,
    ),
    CheckName.LOGIC_RL_STRUCTURE: Check(
        1, "Unakar/Logic-RL@9d2c457 kk.py", "1 if each of four tags occurs once and in order, else -1; "
        "hardened: the same",
        lambda text: 1.0 if layouts.once_each(text, THINK_ANSWER) else -1.0,
        lambda text: 1.0 if layouts.once_each(text, THINK_ANSWER) else -1.0,
        low=-1,
    ),
    CheckName.SIRL_STAGE1: Check(
        1, "Cardinal-Operations/SIRL@8e85194", "half of 2 less deductions for tags miscounted or out of order; "
        "hardened: a missing tag is out of order too",
        sirl_layout.deduct,
        sirl_layout.hardened_deduct,
    ),
    CheckName.D1_XMLCOUNT: Check(
        0.5, _D1, "0.125 for each of four tags, less 0.001 twice per character after the answer, or once for the text "
        "if the last line break is missing; hardened: at least 0, and only characters after a closing tag count",
        d1_layouts.count_tags,
        d1_layouts.hardened_count_tags,
        low=-0.002 * _LONGEST,
    ),
    CheckName.D1_SOFT: Check(
        0.5, _D1, "0.5 if the text opens with both blocks, each on one line; "
        "hardened: over any lines, each tag once, no body blank",
        d1_layouts.soft,
        d1_layouts.hardened_soft,
    ),
    CheckName.D1_STRICT: Check(
        0.5, _D1, "0.5 if the text is both blocks with tags on their lines and one line in each; "
        "hardened: any number of lines, each tag once, no body blank, no last line break needed",
        d1_layouts.strict,
        d1_layouts.hardened_strict,
    ),
    CheckName.D1_INT: Check(
        0.5, _D1, "0.5 if the answer, or the text without one, is digits only; "
        "hardened: if there is an answer block that holds an integer, with or without a sign",
        d1_layouts.integer,
        d1_layouts.hardened_integer,
    ),
    CheckName.D1_BOXED_AND_TAGS: Check(
        1, _D1, "0.75 with an answer tag, 0.25 without: the box is never seen; "
        "hardened: 1, 0.75, 0.5 or 0.25 for a box in an answer block, the block, a box alone, neither",
        d1_layouts.boxed_and_tags,
        d1_layouts.hardened_boxed_and_tags,
        low=0.25,
    ),
}  # fmt: skip
"""Every check by its name."""
