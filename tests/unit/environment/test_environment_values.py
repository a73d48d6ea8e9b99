"""What crosses between completion, environment and worker: lists of actions, observations, records."""

import json
import time
from enum import IntEnum
from typing import Any

import pytest

from assay.verifiers.environment.answers import MOST_ACTIONS, NoActions, read_actions
from assay.verifiers.environment.record import BadRecord, Record, pack_record, unpack_record
from assay.verifiers.environment.values import NotPlain, informed, observed, plain_action


@pytest.mark.parametrize(
    ("completion", "actions"),
    [
        ("<answer>[0, 1]</answer>", [0, 1]),
        ("<think>[9]</think><answer>[1]</answer><answer> [0.5, [1], 'left'] </answer>", [0.5, [1], "left"]),
        ("<answer>\n```json\n[1, 2]\n```\n</answer>", [1, 2]),
        ("So:\n```json\n[3]\n```\nand\n```\n[1, 2]\n```", [1, 2]),
        ("```python\n(1, 2)\n```", [1, 2]),
        ("```python\nx = 1\n```\n```json\n[1, 2]\n```", [1, 2]),
        ("<answer>\n```\n[1, 2]\n", [1, 2]),
        ("```json\n[1, 2]", [1, 2]),
        ("```python\nactions = [1, 2]\n```", [1, 2]),
        ("<answer>plan =\n  (1, 2)</answer>", [1, 2]),
        ("<answer>plan = [1, 2] * 2</answer>", None),
        ("<answer>a = b = [1, 2]</answer>", None),
        ("<answer>a == [1, 2]</answer>", None),
        ("<answer>[]</answer>", []),
        ("<answer>left, up,\n left</answer>", ["left", "up", "left"]),
        ('<answer>{"actions": [1, 2]}</answer>', [1, 2]),
        ('<answer>{"actions": [1], "why": 2}</answer>', None),
        ("So <answer>[1, 2]", [1, 2]),
        ("<answer>[1]</answer> or <answer>[1, 2]", [1]),
        ("So <answer>left, up", ["left", "up"]),
        ("No <answer> tag is needed.\n\n[1, 2]", [1, 2]),
        ("So <answer>[[1],\n[2]]", [[1], [2]]),
        ("First down, then right.\n\n[1, 2]\n", [1, 2]),
        ('{"actions": [1, 2]}', [1, 2]),
        ("I move [1, 2]", None),
        ("<answer>[true, null, {'a': 1}]</answer>", None),
        ('<answer>[true, null, {"a": 1}]</answer>', [True, None, {"a": 1}]),
    ],
)
def test_lists_are_found_in_tags_and_fences(completion: str, actions: list[Any] | None) -> None:
    """The last block counts; JSON or a Python literal."""
    if actions is None:
        with pytest.raises(NoActions):
            read_actions(completion, "answer")
    else:
        assert read_actions(completion, "answer") == actions


@pytest.mark.parametrize(
    ("completion", "actions"),
    [
        ("<think><answer>[1]</answer></think> I give up", None),
        ("<think><answer>[1]</answer>", None),
        ("<think><answer>[1]</answer></think>\n```json\n[2]\n```", [2]),
        ("<answer>[1]</answer> no</think><answer>[2]</answer>", [2]),
        ("<thinking>x</thinking><answer>[2]</answer><think>right?", [2]),
    ],
)
def test_drafts_in_the_reasoning_are_no_actions(completion: str, actions: list[object] | None) -> None:
    """Nor is what follows a reasoning that does not end."""
    if actions is None:
        with pytest.raises(NoActions):
            read_actions(completion, "answer")
    else:
        assert read_actions(completion, "answer") == actions


def test_without_a_tag_the_whole_completion_is_the_list() -> None:
    """As a task may say."""
    assert read_actions(" [1, 2]\n", None) == [1, 2]


@pytest.mark.parametrize(
    "text",
    ["", "1", "{}", "'left'", "[1", "left", "left, 1", "left, none", "left left",
     "[f()]", "[b'1']", "[{1, 2}]", "[1j]", "[" * 5000 + "]" * 5000,
     "[" + "1, " * MOST_ACTIONS + "1]", '[{"a": [[[[[[[[[[1]]]]]]]]]]}]', "[" + "9" * 5000 + "]", "[NaN]",
     "[0x" + "f" * 10_000 + "]", '[[{"a": 0x' + "f" * 10_000 + "}]]",
     json.dumps([list(range(20_000))])],
)  # fmt: skip
def test_anything_else_is_no_list(text: str) -> None:
    """Nothing of it is run, and nothing is unbounded."""
    with pytest.raises(NoActions):
        read_actions(f"<answer>{text}</answer>", "answer")
    with pytest.raises(NoActions):
        read_actions(text, "answer")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("<answer>", "</answer>", MOST_ACTIONS),
        ("```\n" * 100_001, "", MOST_ACTIONS),
        ("```\n" * 100_000, "", None),
        ("<answer>" * 50_000, "", MOST_ACTIONS),
        ("<answer>" * 50_000, "</answer>", None),
        ("</answer>" * 50_000, "", None),
    ],
)
def test_as_many_actions_as_there_is_room_for_are_read_in_time(before: str, after: str, found: int | None) -> None:
    """Whatever tags and fences stand before them: what takes quadratic time takes far longer than this."""
    completion = f"{before}{json.dumps([7] * MOST_ACTIONS)}{after}"
    started = time.process_time()

    assert count(completion) == found
    assert time.process_time() - started < 20


def count(completion: str) -> int | None:
    """How many actions it has; None: it has no list."""
    try:
        return len(read_actions(completion, "answer"))
    except NoActions:
        return None


class Move(IntEnum):
    """An action with a name."""

    LEFT = 0
    DOWN = 1


class Lying(int):
    """An integer whose own methods are never to be asked."""

    def __int__(self) -> int:
        raise AssertionError

    __index__ = __eq__ = __hash__ = __int__  # type: ignore[assignment]


def test_actions_become_plain_without_asking_them() -> None:
    """Subclasses count as what they are stored as."""
    numpy = pytest.importorskip("numpy")

    values = [Move.DOWN, Lying(3), (1, [2.5]), {"a": numpy.int64(4)}, numpy.ones(2), numpy.float32(0.5), "left", None]

    found = plain_action(values)
    assert found == [1, 3, [1, [2.5]], {"a": 4}, [1.0, 1.0], 0.5, "left", None]
    assert [type(value) for value in found[:2]] == [int, int]
    assert type(plain_action(numpy.longdouble(0.5))) is float


def test_what_is_no_action_is_refused() -> None:
    """Objects, endless or huge values, texts that nobody would write."""
    numpy = pytest.importorskip("numpy")
    endless: list[Any] = []
    endless.append(endless)

    for value in (object(), endless, [0] * 20_000, "x" * 20_000, {1: 2}, {1}, b"1", 1j, numpy.zeros(20_000),
                  numpy.array(["a"]), numpy.array([None]), type, lambda: 1,
                  10**5000, -(10**5000), [10**5000]):  # fmt: skip
        with pytest.raises(NotPlain):
            plain_action(value)


def test_observations_are_copies_of_bounded_size() -> None:
    """What an environment does later to its arrays is not seen; what is not plain is refused, or left out of info."""
    numpy = pytest.importorskip("numpy")
    held = numpy.zeros(3)

    seen = observed({"image": held, "at": (numpy.int64(1), Move.LEFT), "mission": "go"})
    held[0] = 1

    assert seen["image"].tolist() == [0, 0, 0]
    assert seen["at"] == (1, 0)
    assert [type(value) for value in seen["at"]] == [int, int]
    for value in (object(), numpy.zeros(10**6), "x" * 2_000_000):
        with pytest.raises(NotPlain):
            observed(value)
    assert informed({"prob": 1.0, "env": object()}) == {"prob": 1.0}


def test_records_survive_their_journey_and_nothing_else_does() -> None:
    """Types and finiteness are checked: the other side may be confused."""
    record = Record(3, 1, 0.5, True, False, False, False, 2, 1.0, 0.25, "é" * 1000, "said")

    assert unpack_record(pack_record(record)).said == "said"
    assert len(pack_record(record)) < 2000
    for text in ("", "[]", "{", '{"steps": "3"}', '{"verified": NaN}', '{"verified": 1}', '{"other": 1}', "null"):
        with pytest.raises(BadRecord):
            unpack_record(text)
