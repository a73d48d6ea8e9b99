"""The verifier `environment` without a jail: tasks, action lists, values that cross, episodes, and what marks mean."""

import json
import math
import subprocess
import sys
from enum import IntEnum
from types import ModuleType
from typing import Any

import pytest

from assay.errors import InvalidRequest, SandboxFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.nowhere import Nowhere
from assay.verifiers.builtin import default_registry
from assay.verifiers.environment import verifier as judging
from assay.verifiers.environment.answers import MOST_ACTIONS, NoActions, read_actions
from assay.verifiers.environment.policy_program import PolicyFailed, chooser
from assay.verifiers.environment.record import BadRecord, Record, Script, pack_record, script_of, unpack_record
from assay.verifiers.environment.stage import Choose, Failed, Over, Stage, judge, play, set_up
from assay.verifiers.environment.task import EnvironmentTask
from assay.verifiers.environment.values import NotPlain, informed, observed, plain_action
from assay.verifiers.requirements import missing_modules
from assay.verifiers.scoring import Mark, Trace
from assay.verifiers.split.placement import Placement
from assay.verifiers.split.plan import Broken
from assay.verifiers.split.session import Judged
from assay.verifiers.split.subject import InProcess

REGISTRY = default_registry()
LAKE: dict[str, Any] = {"env": "FrozenLake-v1", "kwargs": {"is_slippery": False}, "success_return": 1}
SOLVED = [1, 1, 2, 2, 1, 2]
gymnasium = pytest.mark.skipif(bool(missing_modules(["gymnasium"])), reason="needs the extra `environments`")


def parse(**fields: Any) -> EnvironmentTask:
    """A task in the frozen lake."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "environment", **LAKE, **fields})
    assert isinstance(task, EnvironmentTask)
    return task


def script(**fields: Any) -> Script:
    """What the jail is told of such a task."""
    return script_of(parse(**fields), wall_s=5.0)


def following(actions: list[Any]) -> Choose:
    """A player that makes these actions."""
    left = iter(actions)

    def choose(observation: Any, info: dict[str, Any]) -> Any:
        del observation, info
        for action in left:
            return action
        raise Over

    return choose


def episode(actions: list[Any], **fields: Any) -> tuple[Stage, Record]:
    """Play and judge a list of actions."""
    stage = set_up(script(**fields))
    record = play(stage, following(actions))
    judge(stage, record)
    return stage, record


@pytest.mark.parametrize(
    "fields",
    [
        {"success_return": None},
        {"source": "def verify(t, f): return 1"},
        {"env": ""},
        {"env": "a b"},
        {"seed": -1},
        {"max_steps": 0},
        {"max_steps": 10**6},
        {"illegal": "noop"},
        {"noop_action": 0},
        {"illegal": "skip"},
        {"progress": True},
        {"info": True},
        {"forbid": ["gymnasium"]},
        {"player": "policy", "answer_tag": "answer"},
        {"return_range": [1, 1]},
        {"kwargs": {"render_mode": "human"}},
        {"kwargs": {"x": float("inf")}},
        {"success_return": float("nan")},
        {"scoring": "all"},
        {"weights": {"progress": 1}},
    ],
)
def test_faulty_tasks_are_refused(fields: dict[str, Any]) -> None:
    """Each field has its meaning, and is refused where it has none."""
    task = {"id": "t", "verifier": "environment", **LAKE, **fields}
    with pytest.raises((InvalidRequest, TaskFault)):
        REGISTRY.get("environment").judge(REGISTRY.parse_task(task), "[", Nowhere())


def test_libraries_are_always_required() -> None:
    """Workers without them never get the task."""
    assert parse().requires == ("gymnasium",)
    assert parse(requires=["ale_py"]).requires == ("ale_py", "gymnasium")
    assert parse(env="MiniGrid-Empty-5x5-v0").requires == ("minigrid", "gymnasium")
    assert parse(env="BabyAI-GoToObj-v0", requires=["minigrid"]).requires == ("minigrid", "gymnasium")


def test_the_paper_profile_is_the_verification_alone() -> None:
    """1 or 0, nothing shaped."""
    task = parse(profile="sima2/paper")

    assert task.weights == {"verified": 1.0}


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
        ("<answer>[]</answer>", []),
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


def test_without_a_tag_the_whole_completion_is_the_list() -> None:
    """As a task may say."""
    assert read_actions(" [1, 2]\n", None) == [1, 2]


@pytest.mark.parametrize(
    "text",
    ["", "1", "{}", "'left'", "[1", "left, left", "[f()]", "[b'1']", "[{1, 2}]", "[1j]", "[" * 5000 + "]" * 5000,
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


def test_a_long_list_is_read_in_linear_time() -> None:
    """Of as many actions as there is room for, in blocks of every kind."""
    text = json.dumps([7] * MOST_ACTIONS)
    for completion in (f"<answer>{text}</answer>", "```\n" * 100_000 + text, "<answer>" * 50_000 + text):
        try:
            read_actions(completion, "answer")
        except NoActions:
            continue


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
    record = Record(3, 1, 0.5, True, False, False, 2, 1.0, 0.25, "é" * 1000, "said")

    assert unpack_record(pack_record(record)).said == "said"
    assert len(pack_record(record)) < 2000
    for text in ("", "[]", "{", '{"steps": "3"}', '{"verified": NaN}', '{"verified": 1}', '{"other": 1}', "null"):
        with pytest.raises(BadRecord):
            unpack_record(text)


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
def test_illegal_actions_follow_the_tasks_rule() -> None:
    """They end the episode, or are passed over, or stand for another; each is counted."""
    mixed = [1, 9, 1, "up", 2, 2, 1, 2]

    _, failing = episode(mixed)
    _, ignoring = episode(mixed, illegal="ignore")
    _, standing_in = episode([1, None, 2, 2, 1, 2], illegal="noop", noop_action=1)

    assert (failing.steps, failing.illegal, failing.is_lost, failing.verified) == (2, 1, True, 0.0)
    assert (ignoring.steps, ignoring.illegal, ignoring.verified) == (8, 2, 1.0)
    assert (standing_in.steps, standing_in.illegal, standing_in.verified) == (6, 1, 1.0)
    with pytest.raises(Failed, match="noop_action"):
        episode([9], illegal="noop", noop_action=9)


@gymnasium
def test_names_stand_for_actions() -> None:
    """As the task gives them."""
    _, record = episode(["down", 1, "right", "right", "down", 2], action_names={"down": 1, "right": 2})

    assert (record.illegal, record.verified) == (0, 1.0)


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
@pytest.mark.parametrize(
    ("actions", "fields", "verified"),
    [
        ([], {}, 0.0),
        ([0], {}, 0.0),
        ([7], {}, 0.0),
        ([7] * 200, {"illegal": "ignore"}, 0.0),
        ([0] * 200, {"success_return": -200}, 1.0),
        ([0] * 200, {}, 0.0),
    ],
)
def test_what_was_not_played_has_achieved_nothing(actions: list[int], fields: dict[str, Any], verified: float) -> None:
    """Each step in the mountains costs 1, so that no step at all has the best return."""
    task = parse(env="MountainCar-v0", kwargs={}, return_range=[-200, -100], **{"success_return": -110, **fields})
    stage = set_up(script_of(task, wall_s=5.0))
    record = play(stage, following(actions))
    judge(stage, record)

    assert (record.verified, judging._scored(task, record).terms["return"]) == (verified, 0.0)


@gymnasium
def test_a_return_above_nothing_counts_when_the_player_leaves_off() -> None:
    """Ten steps of balance are a fifth of fifty."""
    task = parse(env="CartPole-v1", kwargs={}, success_return=5, return_range=[-50, 50])
    stage = set_up(script_of(task, wall_s=5.0))
    record = play(stage, following([0, 1] * 5))
    judge(stage, record)

    assert (record.total, record.verified, judging._scored(task, record).terms["return"]) == (10.0, 1.0, 0.2)


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


def policy(source: str, *, with_info: bool = False) -> Choose:
    """A policy in this process."""
    module = ModuleType("solution")
    exec(source, vars(module))
    return chooser(InProcess(module, None), with_info=with_info)


@gymnasium
def test_a_policy_plays_by_what_it_sees() -> None:
    """Observations, and info where the task says so."""
    plan = "PLAN = {0: 1, 4: 1, 8: 2, 9: 2, 10: 1, 14: 2}\n"
    for with_info, source in (
        (False, "def policy(seen): return PLAN[seen]"),
        (True, "def policy(seen, info): return PLAN[seen]"),
    ):
        stage = set_up(script())
        record = play(stage, policy(plan + source, with_info=with_info))
        assert (record.steps, record.terminated, record.total) == (6, True, 1.0)


def test_a_policy_writes_to_copies() -> None:
    """The trajectory is what it was, whatever a policy does to what it sees."""
    seen = {"image": [1, 2]}

    policy("def policy(seen, info): seen['image'].clear(); info['x'] = 1; return 0", with_info=True)(seen, {})

    assert seen == {"image": [1, 2]}


@pytest.mark.parametrize(
    ("source", "outcome"),
    [
        ("def policy(seen): raise AssertionError", Outcome.RUNTIME_ERROR),
        ("def policy(seen): raise MemoryError", Outcome.MEMORY_EXCEEDED),
        ("def policy(seen): raise SystemExit", Outcome.RUNTIME_ERROR),
        ("def policy(): return 1", Outcome.RUNTIME_ERROR),
        ("def policy(seen): return object()", Outcome.RUNTIME_ERROR),
        ("policy = 3", Outcome.RUNTIME_ERROR),
        ("def polity(seen): return 1", Outcome.RUNTIME_ERROR),
    ],
)
def test_a_policy_that_fails_is_the_completions_own_fault(source: str, outcome: Outcome) -> None:
    """Never the task's: there is no null to be had."""
    with pytest.raises(PolicyFailed) as caught:
        policy(source)(0, {})

    assert caught.value.outcome is outcome


def judged(*marks: Mark, refused: tuple[Outcome, str] | None = None) -> Judged:
    """What a session comes to."""
    return Judged(marks, tuple(range(len(marks))), len(marks), refused, Trace(), Placement.APART)


def test_marks_say_whose_fault_it_was() -> None:
    """The completion's own end; a failure of environment or source; or an episode with its record."""
    well = Mark(Outcome.PASSED, pack_record(Record(verified=1.0)))

    assert judging._read_marks(judged(refused=(Outcome.NO_ANSWER, "none"))).end == (Outcome.NO_ANSWER, "none")
    assert judging._read_marks(judged(Mark(Outcome.TIMEOUT, "slow"))).end == (Outcome.TIMEOUT, "slow")
    assert judging._read_marks(judged(Mark(Outcome.TASK_ERROR, "env"))).failure == "env"
    assert judging._read_marks(judged(well, Mark(Outcome.TASK_ERROR, "source"))).failure == "source"
    assert "did not end" in judging._read_marks(judged(well, Mark(Outcome.TIMEOUT, "slow"))).failure
    assert judging._read_marks(judged(well, well)).record == Record(verified=1.0)
    assert judging._read_marks(judged(well, Mark(Outcome.PASSED, "{}"))).record == Record()
    assert "report" in judging._read_marks(judged(well, Mark(Outcome.PASSED, "["))).failure


def test_no_episode_earns_the_least() -> None:
    """Also where the task charges for steps: giving no answer must not be cheaper than trying."""
    task = parse(weights={"verified": 1, "steps": -0.01, "format": 0.5}, max_steps=50)

    verdict = REGISTRY.get("environment").judge(task, "no list", FakeSlot())

    assert (verdict.outcome, verdict.reward) == (Outcome.NO_ANSWER, -0.5)
    assert verdict.terms == {"verified": 0.0, "illegal": 0.0, "steps": 50.0, "format": 0.0}


def test_nothing_heavy_is_imported_here() -> None:
    """API and workers load no environment, not even to judge in one."""
    program = (
        "import sys\n"
        "from assay.verifiers.builtin import default_registry\n"
        "import assay.verifiers.environment.actions_program, assay.verifiers.environment.policy_program\n"
        "default_registry()\n"
        "print(sorted({'gymnasium', 'minigrid', 'pygame'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_lists_run_in_the_oracles_jail_alone() -> None:
    """No process holds the completion's code; where none can be started, nobody guesses."""
    slot = FakeSlot()
    with pytest.raises((SandboxFault, IndexError)):
        REGISTRY.get("environment").judge(parse(), "<answer>[1]</answer>", slot)

    (launch,) = slot.launches
    assert (str(launch.role), launch.flavour, launch.network) == ("oracle", "environments", False)
