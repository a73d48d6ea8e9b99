"""Hostile completions against every rule for texts: sound verdicts, in linear time, and nothing is run."""

import json
import math
import random
import time
from pathlib import Path
from typing import Any

import pytest
from attempts import REGISTRY

from assay.sandboxes.fakes import FakeSlot
from assay.schema import TaskBase, Verdict
from assay.verifiers.rules.answers.extraction import Source

MEGABYTE = 1_000_000
BOUND_S = 20  # of processor time, for a megabyte; what is quadratic takes minutes
CALLS = [{"name": "f", "parameters": {"a": 1, "b": [1, {"c": "x"}]}}, {"name": "g"}]
RECURSIVE = {"anyOf": [{"items": {"$ref": "#"}, "minItems": 2}, {"items": {"$ref": "#"}}, {"type": "object"}]}
ARGUMENTS: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "instruction_checks.json").read_text())
CHECKS = [{"check": check, **arguments} for check, arguments in ARGUMENTS.items()]
TASKS: list[dict[str, Any]] = [
    *(
        {"verifier": "exact_match", "answers": ["18", "a"], "extract": source, "normalise": normalise}
        for source, normalise in zip(Source, ["words", "squad", "minerva", "exact", "value"] * 2, strict=False)
    ),
    {"verifier": "exact_match", "answers": "18", "profile": "verl-gsm8k/hardened"},
    {"verifier": "exact_match", "answers": "18", "profile": "verl-math-dapo/hardened"},
    {"verifier": "exact_match", "answers": "a", "profile": "verl-search-r1/code", "layout": "pairs", "tags": ["b"]},
    {"verifier": "tool_call", "calls": CALLS},
    {"verifier": "tool_call", "calls": CALLS, "profile": "toolrl/code"},
    {"verifier": "plan", "pool_size": 3, "chain_correct": True},
    {"verifier": "regex", "patterns": ["^(a+)+$", "(a|aa)*b", "[ab]{0,30}c"], "forbidden": ["(x+x+)+y"]},
    {"verifier": "json_schema", "json_schema": RECURSIVE, "expected": [[]]},
    {"verifier": "json_schema", "json_schema": RECURSIVE, "extract": "fence"},
    {"verifier": "text_overlap", "references": "a b c " * 300, "metrics": ["rouge1", "rouge2", "rougeL", "bleu"]},
]  # fmt: skip
INSTRUCTIONS = [
    {"verifier": "instructions", "checks": [check], "reading": how}
    for check in CHECKS
    for how in ("released", "strict")
]
RANGES = {"exact_match": (-1, 2), "tool_call": (-3, 4), "json_schema": (0, 2)}
PARSED = [REGISTRY.parse_task({"id": "t", **fields}) for fields in (*TASKS, *INSTRUCTIONS)]

UNITS = [
    "<answer>", "</answer>", "<answer>a</answer>", "<tool_call>", "</tool_call>\n", '{"name": "f", "parameters": {}}\n',
    "#### ", "#### 1", "####", "1,", "1.", ".", "-1 ", "Answer:", "Answer: ", "\\boxed{", "{", "}", "{}", "\\text{",
    "$", "=1", "frac1", "sqrt", "a", "a ", "A. ", ". ", "a\n\n", "a-", "- ", "* ", "*", "* * *\n", "******", "***", "[",
    "]", "[]", "[\n", "[[],", "(", '"', "'", '"a",', "<<", ">>", "<<>>", "aa1 ", "P.", "p. ", "P. P. S", "model_id = [",
    "model_id", "access_list=[", "subtasks=['", "```\n", "```", "\\", "\ufdfa", "\u0130", "\u0915\u093e ", "\ud83d",
    "\x00", "the ", " ", "\n", "\t", ",", "&", "-\n", "e.g. ", 'a." ', "1e9", "1/", "\u0663",
    "__import__('os').getpid()",
]  # fmt: skip
FRAMES = [
    "{}", "<answer>{}</answer>", "<think>t</think>\n<tool_call>\n{}\n</tool_call>", "Answer: {}", "#### {}",
    "model_id = [{}]\nsubtasks = ['a']\naccess_list = [[]]", "```json\n{}\n```", "[{}]", "<think>{}",
]  # fmt: skip


def judged(task: TaskBase, text: str) -> Verdict:
    """One verdict."""
    return REGISTRY.get(task.verifier).judge(task, text, FakeSlot())


def is_sound(task: TaskBase, verdict: Verdict) -> bool:
    """Whether all numbers are finite, and the reward within its range."""
    low, high = RANGES.get(task.verifier, (0, 1))
    finite = all(map(math.isfinite, verdict.terms.values()))
    return finite and verdict.reward is not None and low <= verdict.reward <= high


@pytest.fixture(scope="module", autouse=True)
def _libraries_are_loaded() -> None:
    """The first task of some rules loads a library, which takes longer than judging."""
    for task in PARSED:
        judged(task, "a")


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_megabyte_of_anything_takes_no_time(unit: str) -> None:
    """Every rule is linear in the completion, in whichever place the repetition stands."""
    filling = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    place = UNITS.index(unit)
    text = FRAMES[place % len(FRAMES)].replace("{}", filling)
    for task in PARSED[place % 3 :: 3]:
        started = time.process_time()
        verdict = judged(task, text)

        assert time.process_time() - started < BOUND_S, task
        assert is_sound(task, verdict)


@pytest.mark.parametrize("seed", range(4))
def test_mixtures_of_fragments_get_a_sound_verdict(seed: int) -> None:
    """Tags, brackets, numbers and text in any order raise nothing, and no term is infinite."""
    chance = random.Random(seed)
    for _ in range(60):
        text = chance.choice(FRAMES).replace("{}", "".join(chance.choices(UNITS, k=chance.randrange(1, 12))))
        for task in PARSED:
            assert is_sound(task, judged(task, text)), (task, text)


@pytest.mark.parametrize(
    "value", ["1e999", "-1e999", "NaN", "9" * 4301, "9" * 400, "0x" + "f" * 9000, "1e308", "1/0", "1e-999", "[" * 2000]
)
def test_absurd_values_get_a_sound_verdict(value: str) -> None:
    """In every place that takes one."""
    call = f'<tool_call>\n{{"name": "f", "parameters": {{"a": {value}}}}}\n</tool_call>'
    plan = f"model_id = [{value}]\nsubtasks = ['a']\naccess_list = [[{value}]]"
    for text in (value, f"#### {value}", f"Answer: {value}", f"\\boxed{{{value}}}", call, plan, f"[{value}]"):
        for task in PARSED:
            assert is_sound(task, judged(task, text)), (task, text[:50])
