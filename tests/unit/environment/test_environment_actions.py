"""Which actions a space admits, and what those do that it does not."""

import math
from typing import Any

import pytest
from environment_episodes import episode, gymnasium, script

from assay.verifiers.environment.stage import set_up
from assay.verifiers.split.plan import Broken


@gymnasium
def test_illegal_actions_follow_the_tasks_rule() -> None:
    """They end the episode, or are passed over, or stand for another; each is counted."""
    mixed = [1, 9, 1, "up", 2, 2, 1, 2]

    _, failing = episode(mixed)
    _, ignoring = episode(mixed, illegal="ignore")
    _, standing_in = episode([1, None, 2, 2, 1, 2], illegal="noop", noop_action=1)

    assert (failing.steps, failing.illegal, failing.is_lost, failing.verified) == (1, 1, True, 0.0)
    assert (ignoring.steps, ignoring.illegal, ignoring.verified) == (8, 2, 1.0)
    assert (standing_in.steps, standing_in.illegal, standing_in.verified) == (6, 1, 1.0)


@gymnasium
@pytest.mark.parametrize("player", ["actions", "policy"])
@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"action_names": {"left": 0, "up": 4}}, "action_names: 'up'"),
        ({"action_names": {"left": "0"}}, "action_names: 'left'"),
        ({"action_names": {"left": 0.0}}, "action_names: 'left'"),
        ({"action_names": {"left": True}}, "action_names: 'left'"),
        ({"illegal": "noop", "noop_action": 9}, "noop_action"),
        ({"env": "Pendulum-v1", "kwargs": {}, "action_names": {"push": 2}}, "action_names: 'push'"),
    ],
)
def test_actions_that_the_task_names_wrongly_are_its_own_fault(fields: dict[str, Any], named: str, player: str) -> None:
    """Whatever a completion says: it could not have meant anything else."""
    with pytest.raises(Broken, match=named):
        set_up(script(**fields, player=player))


@gymnasium
def test_names_stand_for_actions() -> None:
    """As the task gives them."""
    _, record = episode(["down", 1, "right", "right", "down", 2], action_names={"down": 1, "right": 2})

    assert (record.illegal, record.verified) == (0, 1.0)


@gymnasium
@pytest.mark.parametrize(
    ("action", "names", "said"),
    [
        ("Down", {"down": 1, "on": 2}, "is no integer of Discrete(4); names of actions, letter case counts: down, on"),
        ("fly", {f"way{n}": 1 for n in range(20)}, "way6, way7 and 12 more"),
        ("fly", {}, "action 1: 'fly' is no integer of Discrete(4); the task has no action_names"),
        (9, {"down": 1}, "action 1: 9 is not in Discrete(4)"),
    ],
)  # fmt: skip
def test_of_a_text_that_is_no_action_it_is_said_which_are(action: Any, names: dict[str, int], said: str) -> None:
    """As far as that is short, and that letter case counts."""
    _, record = episode([action], action_names=names)

    assert record.note.endswith(said)


@gymnasium
@pytest.mark.parametrize("value", [True, 1.0, "1", [1], None, 4, -1, 10**30, {"a": 1}, math.nan])
def test_discrete_actions_are_integers_of_the_space(value: Any) -> None:
    """Nothing is rounded or read as a number."""
    _, record = episode([value])

    assert record.is_lost


@gymnasium
@pytest.mark.parametrize(
    ("value", "legal"),
    [([0.5], True), ([1], True), ([2.0], True), ([2.1], False), (0.5, False), ([[0.5]], False), ([math.inf], False),
     ([math.nan], False), ([1e300], False), (["1"], False), ([True], False), ([], False), ([[1], [1, 2]], False)],
)  # fmt: skip
def test_box_actions_have_its_shape_and_bounds(value: Any, legal: bool) -> None:
    """As arrays of finite numbers."""
    _, record = episode([value], env="Pendulum-v1", kwargs={})

    assert (record.illegal == 0) is legal


@gymnasium
def test_no_value_gets_past_a_space_or_breaks_it() -> None:
    """Not by being rounded to infinity where anything finite is allowed, nor by what the space itself cannot bear."""
    from gymnasium import spaces

    from assay.verifiers.environment.actions import Illegal, as_action

    class Fragile(spaces.Discrete):
        def contains(self, x: Any) -> bool:
            raise OverflowError(x)

    for space, value in ((spaces.Box(-math.inf, math.inf, (1,)), [1e300]), (Fragile(2), 1)):
        with pytest.raises(Illegal):
            as_action(space, value)


@gymnasium
def test_a_space_without_a_text_of_its_own_is_called_by_its_class() -> None:
    """An address in memory is another one each time."""
    from gymnasium import spaces

    from assay.verifiers.environment.actions import Illegal, as_action

    class Odd(spaces.Space[Any]):
        def contains(self, x: Any) -> bool:
            return x is None

    with pytest.raises(Illegal, match=r"^1 is not in Odd$"):
        as_action(Odd(), 1)


@gymnasium
def test_composed_spaces_take_composed_actions() -> None:
    """Tuples, dicts and arrays of integers, part by part."""
    from gymnasium import spaces

    from assay.verifiers.environment.actions import Illegal, as_action

    space = spaces.Dict({"go": spaces.Discrete(3, start=1), "keys": spaces.MultiBinary(2),
                         "at": spaces.Tuple([spaces.MultiDiscrete([2, 3]), spaces.Text(4)])})  # fmt: skip

    made = as_action(space, {"go": 3, "keys": [1, 0], "at": [[1, 2], "ab"]})

    assert (made["go"], made["at"][1]) == (3, "ab")
    for value in (
        {"go": 3, "keys": [1, 0]},
        {"go": 0, "keys": [1, 0], "at": [[1, 2], "ab"]},
        {"go": 3, "keys": [1, 2], "at": [[1, 2], "ab"]},
        {"go": 3, "keys": [1, 0.0], "at": [[1, 2], "ab"]},
        {"go": 3, "keys": [1, 0], "at": [[1, 3], "ab"]},
        {"go": 3, "keys": [1, 300], "at": [[1, 2], "ab"]},
        {"go": 3, "keys": [1, 0], "at": [[1, 2], "abcde"]},
        {"go": 3, "keys": [1, 0], "at": [[1, 2]]},
    ):
        with pytest.raises(Illegal):
            as_action(space, value)
