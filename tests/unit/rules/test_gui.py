"""The verifier `gui`."""

import json
import math
import re
from itertools import combinations
from typing import Any

import pytest
from attempts import answer, is_sound, judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome

PROPERTY = settings(deadline=None, max_examples=50, derandomize=True)
BOX = [100, 200, 180, 240]
CODE = {"profile": "gui-r1/code"}
_PUBLISHED = re.compile(r"\{.*\[(\d+),\s*(\d+)]\s*.*\}")  # cubic, fine for short texts


def action(name: str = "click", point: object = (140, 220), text: str = "no input text") -> str:
    """A completion that takes an action."""
    return answer([{"action": name, "point": list(point) if isinstance(point, tuple) else point, "input_text": text}])


def points(*places: tuple[float, float]) -> str:
    """A completion that offers several points."""
    return "<think>t</think>" + json.dumps([{"point_2d": list(place)} for place in places])


def test_a_click_inside_passes() -> None:
    """0.8 for the place and 0.2 for the format."""
    verdict = judge("gui", action(), box=BOX)

    assert verdict.outcome is Outcome.PASSED
    assert verdict.terms == {"action": 1.0, "accuracy": 1.0, "format": 1.0}
    assert verdict.reward == 1.0


def test_no_action_is_no_answer() -> None:
    """Another action failed."""
    assert judge("gui", answer("there"), box=BOX).outcome is Outcome.NO_ANSWER
    assert judge("gui", action("wait"), box=BOX).outcome is Outcome.FAILED


@pytest.mark.parametrize(("border", "accuracy"), [("inside", 1.0), ("outside", 0.0)])
def test_the_border_is_an_option(border: str, accuracy: float) -> None:
    """A click on the left edge."""
    assert judge("gui", action(point=(100, 220)), box=BOX, border=border).terms["accuracy"] == accuracy


def test_answers_are_scaled() -> None:
    """From the model's unit to the box's; UI-R1 cuts to whole numbers."""
    text, scale = action(point=(70, 81)), (2, 2.5)
    between = [140, 202.2, 141, 202.8]  # 81 times 2.5 is 202.5

    assert judge("gui", text, box=between, scale=scale).terms["accuracy"] == 1.0
    assert judge("gui", text, box=between, scale=scale, profile="ui-r1/code").terms["accuracy"] == 0.0


def test_without_a_point_nothing_is_hit() -> None:
    """Even where the origin is inside: the releases take it for the answer."""
    text = answer("[{'action': 'click'}]")

    for profile in ("gui-r1/hardened", "gui-r1/code", "ui-r1/code"):
        assert judge("gui", text, box=[0, 0, 50, 50], profile=profile).terms["accuracy"] == 0.0


@pytest.mark.parametrize("text", ["print('x')", "__import__('os').system('true')", "(lambda: 'left')()", "'a' * 9"])
def test_model_text_is_never_evaluated(text: str) -> None:
    """The release's format check does; ours reads literals."""
    completion = answer(f"[{{'action': 'click', 'point': [140, 220], 'input_text': {text}}}]")

    assert judge("gui", completion, box=BOX, **CODE).terms == {"action": 1.0, "accuracy": 1.0, "format": 0.0}
    assert judge("gui", completion, box=BOX).terms == {"action": 0.0, "accuracy": 0.0, "format": 0.0}


@pytest.mark.parametrize(
    ("match", "values"),
    [("f1", (1, 0, 0)), ("f1_or_part", (1, 1, 0)), ("exact", (0, 0, 0)), ("ignore", (1, 1, 1))],
)
def test_how_texts_agree_is_an_option(match: str, values: tuple[float, ...]) -> None:
    """Half of the words, part of the one word, nothing of it."""
    texts = [("hello world", "hello"), ("password", "pass"), ("password", "key")]

    got = [
        judge("gui", action("type", text=typed), action="type", input_text=right, text_match=match).terms["accuracy"]
        for right, typed in texts
    ]

    assert got == list(values)


@pytest.mark.parametrize(
    ("places", "reward"),
    [
        ([(140, 220)], 2.0), ([(1, 1), (140, 220)], 1.5), ([(140, 220), (1, 1)], 1 + 1 / math.sqrt(2)),
        ([(1, 1)], 0.0), ([(1, 1), (2, 2)], 0.5), ([(1, 1), (140, 220), (279, 439)], -1.0), ([], 0.0),
    ],
)  # fmt: skip
def test_several_points(places: list, reward: float) -> None:
    """Early hits and few points pay; three on a line cost."""
    assert judge("gui", points(*places), profile="infigui-g1/code", box=BOX).reward == pytest.approx(reward)


@pytest.mark.parametrize(("places", "reward"), [([(1, 1)], -1.0), ([(1, 1), (2, 9)], -0.5), ([(140, 220)], 2.0)])
def test_points_without_a_hit_are_not_paid_for_their_format(places: list, reward: float) -> None:
    """As published, 64 wrong points earn nearly 1; by default a miss is never positive."""
    verdict = judge("gui", points(*places), kind="multi_point", box=BOX)

    assert verdict.reward == reward
    assert verdict.outcome is (Outcome.PASSED if reward == 2.0 else Outcome.FAILED)


@PROPERTY
@given(st.lists(st.tuples(st.integers(-5, 9), st.integers(-5, 9)), max_size=7))
def test_three_points_on_a_line_are_always_found(places: list) -> None:
    """Whichever three of them."""
    in_line = any(
        (y2 - y1) * (x3 - x1) == (y3 - y1) * (x2 - x1) for (x1, y1), (x2, y2), (x3, y3) in combinations(places, 3)
    )

    assert judge("gui", points(*places), profile="infigui-g1/code", box=BOX).terms["format"] == float(not in_line)


@pytest.mark.parametrize(
    ("text", "fields", "reward"),
    [
        ("[100, 200, 140, 240]", {}, 1.0), ("[100, 200, 140, 240]", {"threshold_rule": "above"}, 0.0),
        ("[100, 200, 140, 240]", {"weights": {"hit": 0, "iou": 1}}, 0.5), ("[0, 0, 1, 1]", {"threshold": 0}, 0.0),
        ("box: [100.0,200.0,180.0,240.0]", {}, 1.0), ("[100, 200, 180]", {}, 0.0), ("[1e2, 200, 180, 240]", {}, 0.0),
    ],
)  # fmt: skip
def test_a_box_counts_by_its_iou(text: str, fields: dict[str, Any], reward: float) -> None:
    """From the threshold on; the raw value is a term."""
    assert judge("gui", answer(text), kind="box_iou", box=BOX, **fields).reward == reward


@pytest.mark.parametrize(
    ("right", "said", "accuracy"),
    [
        ("up", "up down", 0.0), ("up", "left up down", 0.0), ("up", "UP", 1.0), ("password", "a password b", 0.0),
        ("hello world", "hello", 1.0), ("[up]", "up", 1.0),
    ],
)  # fmt: skip
def test_one_word_agrees_with_itself_alone(right: str, said: str, accuracy: float) -> None:
    """Naming three of the four directions has half the F1 of the right one, and is no scroll."""
    completion = action("type", text=said)

    assert judge("gui", completion, action="type", input_text=right).terms["accuracy"] == accuracy
    assert judge("gui", completion, action="type", input_text=right, **CODE).terms["accuracy"] == 1.0


@pytest.mark.parametrize(("app", "accuracy"), [("Maps", 1.0), ("Mail", 0.0)])
def test_an_app_is_judged_where_the_task_names_it(app: str, accuracy: float) -> None:
    """By its name alone otherwise, as published."""
    completion = action("open_app", text="maps")

    assert judge("gui", completion, action="open_app", input_text=app).terms["accuracy"] == accuracy
    assert judge("gui", completion, action="open_app").terms["accuracy"] == 1.0


def test_points_and_boxes_are_scaled_too() -> None:
    """The factors hold for every kind."""
    box, scale = [140, 202, 141, 203], (2, 2.5)

    assert judge("gui", points((70, 81)), kind="multi_point", box=box, scale=scale).reward == 2.0
    assert judge("gui", answer([70, 80.8, 70.5, 81.2]), kind="box_iou", box=box, scale=scale).terms["iou"] == 1.0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "box_iou", "box": BOX, "radius": 3}, "radius"), ({"box": BOX, "threshold": 0.7}, "threshold"),
        ({"kind": "multi_point", "box": BOX, "border": "outside"}, "border"),
        ({"box": BOX, "format_needs_hit": False}, "format_needs_hit"),
        ({"kind": "multi_point", "box": BOX, "input_text": "x"}, "input_text"),
        ({"action": "scroll", "input_text": "sideways"}, "left, right, up"),
        ({"kind": "box_iou", "box": BOX, "threshold": 1, "threshold_rule": "above"}, "at_least"),
        ({"kind": "box_iou", "box": [5, 5, 5, 9]}, "without area"),
        ({"action": "type", "input_text": "[]"}, "another"),
        ({"action": "type", "input_text": "no input text"}, "another"),
        ({"action": "open_app", "input_text": "x", "profile": "gui-r1/code"}, "leave it out"),
        ({"action": "press_home", "input_text": "x"}, "leave it out"), ({"action": "", "box": BOX}, "action"),
    ],
)  # fmt: skip
def test_what_is_not_read_or_cannot_be_right_is_refused(fields: dict[str, Any], said: str) -> None:
    """Fields of another kind, and texts that no answer could have."""
    with pytest.raises(InvalidRequest) as refusal:
        judge("gui", action(), **fields)

    assert said in str(refusal.value)


@pytest.mark.parametrize(
    "fields",
    [
        {}, {"box": BOX, "point": [1, 2]}, {"box": [9, 9, 1, 1]}, {"action": "type"},
        {"action": "type", "input_text": " "},
        {"action": "wait", "box": BOX}, {"box": BOX, "input_text": "x"}, {"kind": "multi_point"},
        {"kind": "box_iou", "box": BOX, "action": "click"}, {"box": BOX, "scale": [0, 1]},
        {"box": BOX, "scale": [1, float("inf")]}, {"point": [1, 2], "radius": 0},
    ],
)  # fmt: skip
def test_tasks_that_cannot_be_judged_are_refused(fields: dict[str, Any]) -> None:
    """Nothing to compare with, too much of it, or a field that nothing reads."""
    with pytest.raises(InvalidRequest):
        judge("gui", action(), **fields)


@PROPERTY
@given(st.lists(st.sampled_from(["{", "}", "[1, 2]", "[3,4]", "[5\n, 6]", "[7,\n8]", " ", "\n", "x"]), max_size=14))
def test_the_released_point_is_reproduced_in_linear_time(parts: list[str]) -> None:
    """Its greedy pattern finds the last pair of the first line that has one between braces."""
    text = f"'action': 'click' {''.join(parts)}"
    match = _PUBLISHED.search(text.strip())
    places = [(1, 2), (3, 4), (7, 8)]

    hits = [
        judge("gui", answer(text), box=[x, y, x, y], **{**CODE, "border": "inside"}).terms["accuracy"]
        for x, y in places
    ]

    assert hits == [float(match is not None and (int(match[1]), int(match[2])) == place) for place in places]


_text = st.text() | st.text("{}[]'\":,0123456789actionpointclick \n", max_size=80)


@PROPERTY
@given(_text, st.sampled_from(["gui-r1/hardened", "gui-r1/paper", "gui-r1/code", "ui-r1/code"]))
def test_rewards_stay_in_their_range(text: str, profile: str) -> None:
    """Whatever is answered."""
    assert is_sound(judge("gui", answer(text), box=BOX, profile=profile), 0, 3)
    assert is_sound(judge("gui", f"<think>t</think>{text}", box=BOX, kind="multi_point"), -1, 2)
    assert is_sound(judge("gui", answer(text), box=BOX, kind="box_iou"), 0, 1)


@pytest.mark.parametrize(("kind", "found"), [("action", action()), ("box_iou", answer(str(BOX)))])
def test_a_draft_within_reasoning_is_no_answer(kind: str, found: str) -> None:
    """Unless the profile is a published one, which looks for a block anywhere."""
    drafted = f"<think>Perhaps {found} or so.</think> I cannot tell."

    assert judge("gui", drafted, box=BOX, kind=kind).reward == 0.0
    assert judge("gui", drafted, box=BOX, kind=kind, reasoning="kept").reward > 0.0
