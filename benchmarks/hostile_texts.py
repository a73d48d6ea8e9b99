"""Hostile megabytes and tasks for `extractors.py`."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any  # Any: tasks are JSON documents

Document = Mapping[str, Any]

MEGABYTE = 1_000_000
_FRAGMENTS = (
    "<answer>", "</answer>", "<answer>a</answer>", "<answer>1 to 2</answer>", "<think>", "</think>", "<", "</", "<a",
    "<tool_call>", "</tool_call>\n", '{"name": "f", "parameters": {}}\n', '<tool_call>{"name": "f"}</tool_call>\n',
    "#### ", "#### 1\n", "Answer: ", "The answer is ", "\\boxed{", "\\boxed{1}", "\\frac", "\\text{", "\\", "\\\\", "$",
    "{", "}", "{}", "[", "]", "[]", "[[],", "(", ")", "()", '"', "'", '"a",', "{'a':", '{"a":', '{"a":1,', "[1,",
    "[1,2,3,4],", "(1,2),", "{'Position': [1, 2, 3, 4], 'Confidence': 0.5},", '{"point_2d": [1, 2]},', "'action':",
    "9", "1 ", "1.", "1,", "-1 ", "1/", "1:", "1 to ", "1e9", "0x", "=1", "+", "*", "**", "(1+", "^{9", "_", "%",
    " ", "\n", "\n\n", "\t", "\r\n", "\u00a0", "\u2028",
    "a", "a ", "A ", "A. ", "A.\n", "the ", "ab", "aab ", "a\n\n", "a-", "word ",
    "- ", "* ", "1. ", "***", "* * *\n", "```\n", "```json\n", "P.S. ", "<<", ">>", "<<a>>", ". ", "e.g. ", "?", "!",
    "e\u0301", "\u0301", "\U0001f600", "\U0001f468\u200d\U0001f469\u200d",
    "\u6f22", "\u6f22\u5b57\u3002", "\u0915\u093e ", "\u0130", "\ufdfa", "\ud83d", "\x00",
    "\u0663", "\u00df", "model_id = [", "subtasks = ['", "access_list = [[",
    "1234\n", "12 34\n", "Ann is a knight. ", "Bob knave ",
)  # fmt: skip
_MIXED = (
    ("<answer>", "a b ", "</answer>"), ("{", '"a": ', "[", "1, "), ("\\boxed{", "1", "}"), ("(", "[", "{"),
    ("a ", "b ", "c "), ("'", '"', "\\"), ("1", "+", "(", "2"), ("<think>", "</think>", "<answer>", "</answer>"),
)  # fmt: skip
_FRAMES = (
    "{}", "<think>t</think>\n<answer>{}</answer>", "<think>{}</think><answer>1 to 2</answer>", "<answer>[{}]</answer>",
    "<think>t</think>\n<tool_call>\n{}\n</tool_call>", "#### {}", "\\boxed{{}}", "```json\n{}\n```", "Answer: {}",
    "<think>t</think><answer>B</answer><glue>[{}]</glue>", "[{}]", '{"a": "{}"}', "'{}'",
    "<think>t</think><answer>[{'action': 'type', 'point': [1, 2], 'input_text': '{}'}]</answer>",
    "model_id = [{}]\nsubtasks = ['a']\naccess_list = [[]]",
    "<reasoning>\n{}\n</reasoning>\n<answer>\n1\n</answer>\n",
)  # fmt: skip
_RECURSIVE = {"anyOf": [{"items": {"$ref": "#"}, "minItems": 2}, {"items": {"$ref": "#"}}, {"type": "object"}]}
_CALLS = [{"name": "f", "parameters": {"a": 1, "b": [1, {"c": "x"}]}}, {"name": "g"}]
_LONG = " ".join(map(str, range(900)))

MORE: Sequence[Document] = (
    {"verifier": "exact_match", "answers": ["18", "a"], "normalise": "squad", "extract": "whole"},
    {"verifier": "exact_match", "answers": [f"answer {number}" for number in range(50)], "extract": "whole"},
    {"verifier": "tool_call", "calls": _CALLS},
    {"verifier": "json_schema", "json_schema": _RECURSIVE, "expected": [[]]},
    {"verifier": "json_schema", "json_schema": _RECURSIVE, "extract": "fence"},
    {"verifier": "regex", "patterns": ["^(a+)+$", "(a|aa)*b"], "forbidden": ["(x+x+)+y"]},
    {"verifier": "regex", "patterns": [r"\d+(,\d{3})*", r"<answer>.*</answer>"], "dot_all": True},
    {"verifier": "text_overlap", "references": [_LONG], "metrics": ["rouge1", "rouge2", "rougeL", "bleu"]},
    {"verifier": "repetition", "ngram": 40},
    {"verifier": "repetition", "ngram": 1},
    {"verifier": "length", "kind": "soft_overlong", "max_len": 1000, "cache": 100},
    {"verifier": "detection", "boxes": [[at, 0, at + 9, 9] for at in range(8)], "untagged": "search"},
    {"verifier": "detection", "boxes": [], "block": "only", "confidence": "absent", "duplicates": "keep"},
    {"verifier": "gui", "box": [0, 0, 9, 9], "kind": "multi_point"},
    {"verifier": "gui", "box": [0, 0, 9, 9], "kind": "box_iou"},
    {"verifier": "plan", "pool_size": 3, "chain_correct": True},
)  # fmt: skip
_CHECKS = Path(__file__).resolve().parents[1] / "tests/unit/rules/instruction_checks.json"


def instruction_checks() -> Iterator[Document]:
    """Yield a task for each check of `instructions`, read in both ways."""
    for check, arguments in json.loads(_CHECKS.read_text(encoding="utf-8")).items():
        for reading in ("released", "strict"):
            yield {"verifier": "instructions", "checks": [{"check": check, **arguments}], "reading": reading}


def texts(share: float) -> Iterator[tuple[str, str]]:
    """Yield names and megabytes: every filling bare, and in a share of the frames, always the same ones."""
    chance = random.Random(0)
    for name, filling in _fillings():
        for frame in _FRAMES:
            if frame == "{}" or chance.random() < share:
                yield f"{frame} of {name}", frame.replace("{}", filling)


def _fillings() -> Iterator[tuple[str, str]]:
    for fragments in (*((fragment,) for fragment in _FRAGMENTS), *_MIXED):
        size = sum(map(len, fragments)) // len(fragments)
        yield ascii(" ".join(fragments)), "".join(islice(cycle(fragments), MEGABYTE // size + 1))[:MEGABYTE]
    yield "open and closed brackets", "[" * (MEGABYTE // 2) + "]" * (MEGABYTE // 2)
    yield "open and closed braces", "\\boxed{" + "{" * (MEGABYTE // 2 - 4) + "}" * (MEGABYTE // 2 - 4)
    yield "different words", " ".join(map(str, range(150_000)))[:MEGABYTE]
    chance = random.Random(1)
    yield "random letters", "".join(chance.choices("ab \n", k=MEGABYTE))
    yield "random fragments", "".join(chance.choices(_FRAGMENTS, k=MEGABYTE // 4))[:MEGABYTE]
