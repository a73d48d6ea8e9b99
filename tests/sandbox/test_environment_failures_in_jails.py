"""Environments and sources that fail, in real jails: whose fault it is, and that nothing stays behind."""

import os

import pytest
from episodes import BALANCE, LAKE, POLE, QUICK, REGISTRY, SOLVED, Judge, judge_in
from process_trees import descendants

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.verifiers.requirements import missing_modules

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(bool(missing_modules(["gymnasium", "minigrid"])), reason="needs the extra `environments`"),
]


@pytest.fixture
def judge(pool: JailPool) -> Judge:
    """Judge as a worker does: `judge(completion, **fields)`."""
    return judge_in(pool)


FAILING = {
    "raises": "def verify(t, f): 1 / 0",
    "hangs": "def verify(t, f):\n    while True: pass",
    "sleeps": "import time\ndef verify(t, f): time.sleep(60)",
    "exits": "import os\ndef verify(t, f): os._exit(0)",
    "hangs in C": "def verify(t, f): return 9 ** 9 ** 8 > 0",
    "returns nothing": "def verify(t, f): pass",
    "fills memory": "def verify(t, f): return len(bytearray(2 ** 34)) > 0",
    "kills itself": "import os\ndef verify(t, f): os.kill(os.getpid(), 9)",
    **{
        f"environment {name}": (
            "from gymnasium.envs.toy_text.frozen_lake import FrozenLakeEnv\n"
            f"def step(self, action):\n    {body}\n"
            "FrozenLakeEnv.step = step\n"
            "def verify(t, f): return 1"
        )
        for name, body in {
            "raises": "raise RuntimeError",
            "hangs": "while True: pass",
            "hangs in C": "9 ** 9 ** 8",
            "exits": "import os; os._exit(0)",
            "crashes": "import os; os.abort()",
            "kills itself": "import os; os.kill(os.getpid(), 9)",
            "fills memory": "bytearray(2 ** 34)",
        }.items()
    },
}


@pytest.mark.parametrize("player", ["actions", "policy"])
@pytest.mark.parametrize("name", FAILING)
def test_a_source_or_environment_that_fails_gives_no_reward(judge: Judge, name: str, player: str) -> None:
    """Nothing is known of the episode then, however its process ended; a task may say that it is worth the least."""
    fields = {**LAKE, "success_return": None, "source": FAILING[name], "player": player}
    fields |= {"limits": {**QUICK, "attempt_wall_s": 4}}
    completion = SOLVED if player == "actions" else "def policy(seen):\n    return {0: 1, 4: 1, 10: 1}.get(seen, 2)"

    unknown = judge(completion, **fields)
    least = judge(completion, **fields, on_error="lowest")

    assert (unknown.outcome, unknown.reward) == (Outcome.TASK_ERROR, None), unknown
    assert (least.outcome, least.reward, least.flags) == (Outcome.FAILED, 0.0, ("undecided",)), least


def test_a_gold_proves_the_source(judge: Judge) -> None:
    """Upsetting it is then the completion's loss; a gold that upsets it is the task's fault."""
    source = "def verify(trajectory, final): return len(trajectory) == 6 or 1 / 0"
    fields = {**LAKE, "success_return": None, "source": source}

    upsetting = judge("<answer>[0]</answer>", **fields, gold=SOLVED)
    broken = judge(SOLVED, **fields, gold="<answer>[0]</answer>")

    assert (upsetting.outcome, upsetting.reward, upsetting.flags) == (Outcome.FAILED, 0.0, ("undecided",))
    assert (broken.outcome, broken.reward) == (Outcome.TASK_ERROR, None)


@pytest.mark.parametrize("env", ["Nowhere-v0", "FrozenLake-v99", "nowhere:Nowhere-v0", "Humanoid-v5"])
def test_an_environment_that_is_not_there_is_the_tasks_fault(judge: Judge, env: str) -> None:
    """Whatever is played in it."""
    for completion, player in ((SOLVED, "actions"), (BALANCE, "policy")):
        verdict = judge(completion, env=env, success_return=1, player=player)
        assert (verdict.outcome, verdict.reward) == (Outcome.TASK_ERROR, None)


def test_a_list_of_a_million_actions_is_no_answer(judge: Judge) -> None:
    """And one of a hundred thousand is an episode."""
    million = judge(f"<answer>{'[' + '0,' * 499_990 + '0]'}</answer>", **LAKE)
    many = judge(f"<answer>{[0] * 100_000}</answer>", **LAKE, illegal="ignore", max_steps=100_000)

    assert (million.outcome, million.reward) == (Outcome.NO_ANSWER, 0.0)
    assert (many.outcome, many.reward, many.terms["steps"]) == (Outcome.FAILED, 0.0, 100.0)  # the lake's own limit


def test_nothing_stays_behind(judge: Judge) -> None:
    """No process and no descriptor, after policies and sources that hang."""
    judge(BALANCE, **POLE)
    before, processes = len(os.listdir("/proc/self/fd")), descendants(os.getpid())

    for _ in range(2):
        judge("def policy(seen):\n    while True: pass", **POLE, limits=QUICK)
        judge(SOLVED, **{**LAKE, "success_return": None}, source=FAILING["sleeps"], limits=QUICK)

    assert len(os.listdir("/proc/self/fd")) <= before + 2
    assert len(descendants(os.getpid())) <= len(processes) + 2  # another slot's hosts


def test_a_worker_without_the_library_says_so(pool: JailPool) -> None:
    """Nobody's reward depends on what is installed."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "environment", **LAKE, "requires": ["no_such_module"]})

    with pool.slot() as slot, pytest.raises(InfraFault, match="no_such_module"):
        REGISTRY.get("environment").judge(task, SOLVED, slot)
