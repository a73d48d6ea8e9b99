"""Hostile completions against every rule for pictures, clips, options and screens: sound verdicts, in linear time."""

import random
import time
from typing import Any

import pytest
from attempts import REGISTRY, is_sound

from assay.sandboxes.fakes import FakeSlot

MEGABYTE = 1_000_000
BOUND_S = 20  # of processor time, for a megabyte; what is quadratic takes minutes
_BOXES = [[i, 0, i + 9, 9] for i in range(8)]

TASKS: list[dict[str, Any]] = [
    {"verifier": "classification", "label": "cat", "labels": ["cat", "dog"]},
    {"verifier": "detection", "boxes": _BOXES},
    {"verifier": "detection", "boxes": _BOXES, "profile": "visual-rft/code"},
    {"verifier": "detection", "boxes": _BOXES, "matching": "optimal", "untagged": "search", "block": "last"},
    {"verifier": "detection", "boxes": [], "block": "only", "confidence": "absent", "duplicates": "keep"},
    {"verifier": "temporal", "interval": [1, 2]},
    {"verifier": "temporal", "interval": [1, 2], "profile": "videochat-r1/code"},
    {"verifier": "tracking", "boxes": _BOXES},
    {"verifier": "tracking", "boxes": _BOXES, "profile": "videochat-r1/code"},
    {"verifier": "multiple_choice", "answer": "B", "choices": ["x", "y"]},
    {"verifier": "multiple_choice", "answer": "B", "profile": "videochat-r1/code"},
    {"verifier": "grounded_qa", "answer": "B", "segments": [[1, 2]]},
    {"verifier": "grounded_qa", "answer": "B", "segments": [[1, 2]], "profile": "videochat-r1/code"},
    {"verifier": "gui", "box": [0, 0, 9, 9]},
    {"verifier": "gui", "box": [0, 0, 9, 9], "profile": "gui-r1/code"},
    {"verifier": "gui", "box": [0, 0, 9, 9], "profile": "ui-r1/code"},
    {"verifier": "gui", "action": "type", "input_text": "a", "profile": "gui-r1/code"},
    {"verifier": "gui", "box": [0, 0, 9, 9], "kind": "multi_point"},
    {"verifier": "gui", "box": [0, 0, 9, 9], "kind": "box_iou"},
]
PARSED = [REGISTRY.parse_task({"id": "t", **fields}) for fields in TASKS]
RANGES = {"classification": (0, 2), "detection": (0, 3), "temporal": (0, 2), "tracking": (0, 2),
          "multiple_choice": (0, 2), "grounded_qa": (0, 3), "gui": (-1, 3)}  # fmt: skip

UNITS = [
    "<answer>", "<answer>\n", "</answer>", "</think><answer>", "</answer><glue>", "</think> ", "[", "{", "{},", "[],",
    "'", '"', "1", "1 ", "1.", "1:", "1 to ", "1 to 2 ", "-1", "(1,2),", " ", "\n", "A", "(B) ", "[1,2]", "{[1,2]\n",
    "{[1,2] ", "[1,\n", "'action':", "'input_text':'", "{'action': 'click', 'point': [1, 2], 'input_text': 'x'},",
    "{'Position': [1, 2, 3, 4], 'Confidence': 0.5},", '{"point_2d": [1, 2]},', "[1,2,3,", "9", "\\", "\ud83d", "\x00",
    "\u0663", "\u0130", "(", "-", "1+1j,", "1or 2 ", "#",
]  # fmt: skip
FRAMES = [
    "{}", "<think>t</think><answer>{}</answer>", "<think>t</think><answer>[{}]</answer>", "<answer>{}",
    "<think>t</think><answer>B</answer><glue>[{}]</glue>", "<think>t</think>[{}]",
    "<think>{}</think><answer>1 to 2</answer>",
    "<think>t</think><answer>{{'action': 'type', 'input_text': '{}', [1, 2] }}</answer>",
]  # fmt: skip


def judge_all(text: str) -> None:
    """Judge by every task, and look at what comes back."""
    for task in PARSED:
        verdict = REGISTRY.get(task.verifier).judge(task, text, FakeSlot())
        assert is_sound(verdict, *RANGES[task.verifier]), (task, text[:100], verdict)


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_a_megabyte_of_anything_takes_no_time(unit: str) -> None:
    """Every rule is linear in the completion, in whichever place the repetition stands."""
    filling = (unit * (MEGABYTE // len(unit) + 1))[:MEGABYTE]
    for frame in FRAMES[UNITS.index(unit) % 3 :: 3]:
        text = frame.format(filling)
        for task in PARSED:
            started = time.process_time()
            verdict = REGISTRY.get(task.verifier).judge(task, text, FakeSlot())

            assert time.process_time() - started < BOUND_S, (task.verifier, frame)
            assert is_sound(verdict, *RANGES[task.verifier])


@pytest.mark.parametrize("seed", range(4))
def test_mixtures_of_fragments_get_a_sound_verdict(seed: int) -> None:
    """Tags, brackets, numbers and text in any order raise nothing, and no term is infinite."""
    chance = random.Random(seed)
    for _ in range(150):
        filling = "".join(chance.choices(UNITS, k=chance.randrange(1, 12)))
        judge_all(chance.choice(FRAMES).format(filling))


@pytest.mark.parametrize(
    "value", ["1e999", "-1e999", "NaN", "9" * 4301, "9" * 400, "1e308", "-0.0", "5e-324", "true", "None", "1j", "[]"]
)
def test_absurd_numbers_get_a_sound_verdict(value: str) -> None:
    """In every place that takes a number."""
    judge_all(f"<think>t</think><answer>[{{'Position': [0, 0, {value}, 9], 'Confidence': 0.5}}]</answer>")
    judge_all(f"<think>t</think><answer>[{{'Position': [0, 0, 9, 9], 'Confidence': {value}}}]</answer>")
    judge_all(f"<think>t</think><answer>[{', '.join([f'[0, 0, {value}, 9]'] * 8)}]</answer>")
    judge_all(f"<think>t</think><answer>{value} to {value}</answer>")
    judge_all(f"<think>t</think><answer>B</answer><glue>[(0, {value})]</glue>")
    judge_all(f"<think>t</think><answer>[{{'action': 'click', 'point': [{value}, 1], 'input_text': ''}}]</answer>")
    judge_all(f'<think>t</think>[{{"point_2d": [{value}, 1]}}]')
