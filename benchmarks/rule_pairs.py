"""Attempts for `rules.py`: tasks that rules judge, with completions as long as a reasoning model's.

No two completions are equal, so that nothing can be remembered; every call makes the same ones.
"""

import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any  # Any: tasks are JSON documents

from maths_pairs import documents, symbolic_pairs

_TASKS = 256
_PER_TASK = 16
_CLASSES = ("golden retriever", "tabby cat", "red fox", "grey wolf", "snow leopard", "barn owl", "sea otter", "elk")
_THOUGHT = (
    "the picture shows an animal with long fur standing in snow near a fence and its ears point upwards so it is "
    "rather the second than the first of the two although the light from the left makes the colour hard to tell "
)
_BOXES = 5
_SIDE_PX = 1000

Document = Mapping[str, Any]


@dataclass(frozen=True)
class Pairs:
    """Tasks of one kind and attempts at them."""

    name: str
    tasks: Sequence[Document]
    attempts: Sequence[Document]


def detection(count: int) -> Pairs:
    """Find five boxes; four in five of the answered ones are moved a little, the rest are elsewhere."""
    chance = random.Random("boxes")
    tasks = [
        {"id": f"boxes-{number}", "verifier": "detection", "boxes": [_box(chance) for _ in range(_BOXES)]}
        for number in range(_TASKS)
    ]
    return _answered("iou", tasks, count, _find_boxes)


def classification(count: int) -> Pairs:
    """Name the animal; three answers in four are right."""
    tasks = [
        {"id": f"class-{number}", "verifier": "classification", "label": _CLASSES[number % len(_CLASSES)]}
        for number in range(_TASKS)
    ]
    return _answered("class", tasks, count, _name_animal)


def layout(count: int) -> Pairs:
    """Keep a layout; every attempt does."""
    tasks = [{"id": f"format-{number}", "verifier": "format", "tags": ["think", "answer"]} for number in range(_TASKS)]
    return _answered("format", tasks, count, _name_animal)


def symbolic_maths(count: int) -> Pairs:
    """Give a right answer that only a process can tell from a wrong one; one task for each."""
    tasks, attempts = documents(symbolic_pairs(count))
    return Pairs("maths", tasks, attempts)


def write_lines(documents: Iterable[Document]) -> str:
    """Return documents as JSON lines."""
    return "".join(json.dumps(document) + "\n" for document in documents)


def _answered(
    name: str, tasks: Sequence[Document], count: int, write: Callable[[random.Random, Document], str]
) -> Pairs:
    """Answer the tasks in turn, sixteen times each, until there are enough attempts."""
    chance = random.Random(name)
    attempts = []
    for number in range(count):
        task = tasks[number // _PER_TASK % len(tasks)]
        completion = f"<think>{_thought(chance)} ({number})</think>\n<answer>{write(chance, task)}</answer>"
        attempts.append({"task_id": task["id"], "completion": completion})
    return Pairs(name, tasks, attempts)


def _name_animal(chance: random.Random, task: Document) -> str:
    right: str = task.get("label", _CLASSES[0])
    return chance.choice([right] * 3 + [chance.choice(_CLASSES)])


def _find_boxes(chance: random.Random, task: Document) -> str:
    found = []
    for box in task["boxes"]:
        seen = [side + chance.randint(-9, 9) for side in box] if chance.random() < 0.8 else _box(chance)
        found.append({"Position": seen, "Confidence": round(chance.uniform(0.3, 1.0), 2)})
    return json.dumps(found)


def _box(chance: random.Random) -> list[int]:
    left, top = chance.randint(10, _SIDE_PX // 2), chance.randint(10, _SIDE_PX // 2)
    return [left, top, left + chance.randint(40, _SIDE_PX // 2 - 10), top + chance.randint(40, _SIDE_PX // 2 - 10)]


def _thought(chance: random.Random) -> str:
    start, length = chance.randrange(len(_THOUGHT)), chance.randint(200, 600)
    return (_THOUGHT * 4)[start : start + length]
