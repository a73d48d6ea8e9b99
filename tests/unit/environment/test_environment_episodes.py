"""Episodes in gymnasium's environments, and how the task's functions judge them."""

import sys
from types import ModuleType
from typing import Any

import pytest
from environment_episodes import SOLVED, episode, following, gymnasium, parse, script

from assay.verifiers.environment.played import score_record
from assay.verifiers.environment.record import Record, Script
from assay.verifiers.environment.stage import Failed, judge, play, set_up
from assay.verifiers.environment.task import script_of
from assay.verifiers.split.plan import Broken


@gymnasium
def test_a_list_of_actions_is_an_episode() -> None:
    """Over the ice to the goal."""
    stage, record = episode(SOLVED)

    assert (record.steps, record.total, record.terminated, record.verified) == (6, 1.0, True, 1.0)
    assert [step["observation"] for step in stage.trajectory] == [0, 4, 8, 9, 10, 14]
    assert stage.observation == 15


@gymnasium
def test_the_same_seed_is_the_same_trajectory() -> None:
    """Slippery ice included; another seed is another."""

    def walk(seed: int) -> list[Any]:
        stage, _ = episode([1, 2] * 20, kwargs={"is_slippery": True}, seed=seed)
        return [step["observation"] for step in stage.trajectory]

    assert walk(3) == walk(3)
    assert len({tuple(walk(seed)) for seed in range(8)}) > 1


@gymnasium
@pytest.mark.parametrize(
    ("actions", "fields", "verified"),
    [
        ([], {}, 0.0),
        ([0], {}, 0.0),
        ([7], {}, 0.0),
        ([7] * 200, {"illegal": "ignore"}, 0.0),
        ([0] * 200, {"success_return": -200}, 1.0),
        ([0] * 200, {"success_return": -200, "max_steps": 200}, 1.0),
        ([1] * 100, {"success_return": -120, "max_steps": 100}, 0.0),
        ([1] * 199, {"success_return": -199, "max_steps": 199}, 0.0),
        ([1] * 99 + [7], {"success_return": -120, "max_steps": 100, "illegal": "noop", "noop_action": 1}, 0.0),
        ([0] * 200, {}, 0.0),
    ],
)
def test_what_was_not_played_has_achieved_nothing(actions: list[int], fields: dict[str, Any], verified: float) -> None:
    """Each step in the mountains costs 1, so that no step at all has the best return."""
    task = parse(env="MountainCar-v0", kwargs={}, return_range=[-200, -100], **{"success_return": -110, **fields})
    stage = set_up(script_of(task, wall_s=5.0))
    record = play(stage, following(actions))
    judge(stage, record)

    assert (record.verified, score_record(task, record).terms["return"]) == (verified, 0.0)


@gymnasium
@pytest.mark.parametrize(
    ("actions", "fields", "said"),
    [
        (SOLVED, {}, "verified, but other terms earn less than they could: terminated after 6 steps with the return 1"),
        (SOLVED[:1], {}, "not verified: left off after 1 step with the return 0"),
        ([0] * 9, {"max_steps": 9}, "not verified: cut by max_steps after 9 steps with the return 0"),
        ([0, 2] * 60, {}, "not verified: truncated after 100 steps with the return 0"),
        (["fly", 1], {}, "not verified: ended by an illegal action after 0 steps with the return 0; action 1: 'fly'"),
        ([1, 9], {}, "not verified: ended by an illegal action after 1 step with the return 0; action 2: 9"),
        ([9, 1], {"illegal": "ignore"}, "not verified: left off after 2 steps with the return 0; action 1: 9"),
        (
            SOLVED,
            {"source": "def verify(t, f): return 0.5", "success_return": None},
            "verified to 0.5 of 1: terminated after 6 steps with the return 1",
        ),
        (SOLVED, {"source": "def verify(t, f): return 1, 'as told'", "success_return": None}, "as told"),
    ],
)
def test_what_is_said_of_an_episode_follows_its_term(actions: list[Any], fields: dict[str, Any], said: str) -> None:
    """And tells who ended it, after how many actions."""
    _, record = episode(actions, **fields)

    assert score_record(parse(**fields), record).message.startswith(said)


@pytest.mark.parametrize(("is_lost", "flags"), [(False, ("surplus_actions",)), (True, ())])
def test_actions_are_surplus_where_the_episode_was_over(is_lost: bool, flags: tuple[str, ...]) -> None:
    """Not where an illegal one has ended it."""
    record = Record(steps=6, terminated=not is_lost, is_lost=is_lost, surplus=2)

    assert score_record(parse(), record).flags == flags


@gymnasium
def test_a_return_above_nothing_counts_when_the_player_leaves_off() -> None:
    """Ten steps of balance are a fifth of fifty."""
    task = parse(env="CartPole-v1", kwargs={}, success_return=5, return_range=[-50, 50])
    stage = set_up(script_of(task, wall_s=5.0))
    record = play(stage, following([0, 1] * 5))
    judge(stage, record)

    assert (record.total, record.verified, score_record(task, record).terms["return"]) == (10.0, 1.0, 0.2)


@gymnasium
def test_episodes_are_cut() -> None:
    """At the task's steps, which the functions are told."""
    source = "def verify(trajectory, final): return final['truncated'] and len(trajectory) == final['steps'] == 3"

    _, record = episode([0] * 9, source=source, success_return=None, max_steps=3)

    assert (record.steps, record.truncated, record.verified) == (3, True, 1.0)


@gymnasium
def test_the_tasks_functions_see_the_trajectory_and_the_final_state() -> None:
    """And the environment itself, which no policy ever does."""
    source = (
        "def verify(trajectory, final):\n"
        "    first, *_, last = trajectory\n"
        "    assert sorted(first) == ['action', 'info', 'observation', 'reward', 'terminated', 'truncated']\n"
        "    assert (first['action'], last['reward'], final['return']) == (1, 1.0, 1.0)\n"
        "    return 0.5, f\"stands at {final['env'].s}\"\n"
        "def progress(trajectory, final): return final['observation'] / 15\n"
    )

    _, record = episode(SOLVED, source=source, success_return=None, progress=True)

    assert (record.verified, record.progress, record.said) == (0.5, 1.0, "stands at 15")


@gymnasium
@pytest.mark.parametrize(
    "body", ["1 / 0", "None", "2", "-1", "float('nan')", "'yes'", "{'a': 1}", "exit()", "[0 for _ in iter(int, 1)]"]
)
def test_functions_that_fail_say_so(body: str) -> None:
    """They raise, do not end, or return what is no share."""
    stage = set_up(script(source=f"def verify(t, f): return {body}", success_return=None))
    stage.script = Script(**{**vars(stage.script), "wall_s": 0.2})
    record = play(stage, following(SOLVED))

    with pytest.raises(Failed, match="verify"):
        judge(stage, record)


@gymnasium
@pytest.mark.parametrize(
    "fields",
    [
        {"env": "Nowhere-v0"},
        {"kwargs": {"no_such": 1}},
        {"kwargs": {"map_name": "no_such"}},
        {"requires": ["no_such_module"]},
        {"source": "x = 1", "success_return": None},
        {"source": "def verify(:", "success_return": None},
        {"source": "raise SystemExit", "success_return": None},
        {"source": "def verify(t, f): return 1", "success_return": None, "progress": True},
    ],
)
def test_what_cannot_be_set_up_is_the_tasks_fault(fields: dict[str, Any]) -> None:
    """No completion has a part in it."""
    with pytest.raises(Broken):
        set_up(script(**fields))


@gymnasium
def test_an_environment_that_fails_at_a_legal_action_says_so() -> None:
    """Whatever it raises, and if it gives what is no observation or reward, or does not return."""
    for broken in (
        "raise SystemExit",
        "return object(), 0, False, False, {}",
        "return 0, float('nan'), False, False, {}",
        "return 0, 0",
        "while True: pass",
    ):
        stage = set_up(script())
        stage.script = Script(**{**vars(stage.script), "wall_s": 0.2})
        namespace: dict[str, Any] = {}
        exec(f"def step(action):\n    {broken}", namespace)
        stage.env.step = namespace["step"]
        with pytest.raises(Failed, match="environment"):
            play(stage, following([1]))


@gymnasium
def test_observations_that_would_fill_the_memory_are_refused() -> None:
    """Before anything is played."""
    module = ModuleType("large_rooms")
    exec(
        "import gymnasium, numpy\n"
        "class Large(gymnasium.Env):\n"
        "    action_space = gymnasium.spaces.Discrete(2)\n"
        "    observation_space = gymnasium.spaces.Box(0, 1, (100_000,))\n"
        "    def reset(self, **kwargs): return numpy.zeros(100_000), {}\n"
        "gymnasium.register('Large-v0', Large)\n",
        vars(module),
    )
    sys.modules["large_rooms"] = module

    with pytest.raises(Broken, match="lower max_steps"):
        set_up(script(env="Large-v0", kwargs={}, requires=["large_rooms"], max_steps=1000))
    set_up(script(env="Large-v0", kwargs={}, requires=["large_rooms"], max_steps=10))
