"""The verifier `environment` in real jails: episodes by lists and by policies, honest ones and others."""

from typing import Any

import pytest
from episodes import BALANCE, LAKE, POLE, QUICK, REGISTRY, SOLVED, Judge, judge_in

from assay.outcomes import Outcome
from assay.sandboxes.jails import JailPool
from assay.verifiers.reference import examples_of
from assay.verifiers.requirements import missing_modules

pytestmark = [
    pytest.mark.jail,
    pytest.mark.skipif(bool(missing_modules(["gymnasium", "minigrid"])), reason="needs the extra `environments`"),
]

GRID: dict[str, Any] = {"env": "MiniGrid-Empty-5x5-v0", "success_return": 0.1}


@pytest.fixture
def judge(pool: JailPool) -> Judge:
    """Judge as a worker does: `judge(completion, **fields)`."""
    return judge_in(pool)


def test_a_list_of_actions_crosses_the_lake(judge: Judge) -> None:
    """Verified, in six steps; what comes after the end is passed over and flagged."""
    solved = judge(SOLVED, **LAKE)
    longer = judge(SOLVED.replace("]", ", 0, 99]"), **LAKE)
    drowned = judge("<answer>[1, 2]</answer>", **LAKE)

    assert (solved.outcome, solved.reward, solved.flags) == (Outcome.PASSED, 1.0, ())
    assert solved.terms == {"verified": 1.0, "illegal": 0.0, "steps": 6.0, "format": 1.0}
    assert (longer.reward, longer.terms, longer.flags) == (1.0, solved.terms, ("surplus_actions",))
    assert (drowned.outcome, drowned.reward) == (Outcome.FAILED, 0.0)
    assert "terminated after 2 steps" in drowned.message


def test_a_policy_balances_the_pole(judge: Judge) -> None:
    """It sees arrays, and plays as many steps as it keeps up."""
    balanced = judge(f"Like this:\n```python\n{BALANCE}```", **POLE)
    fallen = judge("def policy(seen):\n    return 0", **POLE, return_range=[0, 50], weights={"return": 0.5})

    assert (balanced.outcome, balanced.reward) == (Outcome.PASSED, 1.0), balanced.message
    assert (fallen.outcome, fallen.terms["verified"]) == (Outcome.FAILED, 0.0)
    assert fallen.reward == 0.5 * fallen.terms["return"] == 0.5 * fallen.terms["steps"] / 50


def test_a_grid_is_walked_both_ways(judge: Judge) -> None:
    """Observations are dicts of arrays, numbers and texts; the task's source looks at the environment's own state."""
    walk = '```json\n["forward", "forward", "right", "forward", "forward"]\n```'
    names = {"left": 0, "right": 1, "forward": 2}
    by_sight = (
        "import numpy\n"
        "steps = iter([2, 2, 1, 2, 2])\n"
        "def policy(seen):\n"
        "    assert sorted(seen) == ['direction', 'image', 'mission']\n"
        "    assert type(seen['image']) is numpy.ndarray and seen['image'].shape == (7, 7, 3)\n"
        "    assert 'goal' in seen['mission'] and seen['direction'] in (0, 1)\n"
        "    return next(steps)\n"
    )
    source = "def verify(trajectory, final): return tuple(final['env'].agent_pos) == (3, 3)"
    sourced = {**GRID, "success_return": None, "source": source}

    assert judge(walk, **GRID, action_names=names).outcome is Outcome.PASSED
    assert judge(walk, **sourced, action_names=names).outcome is Outcome.PASSED
    verdict = judge(by_sight, **sourced, player="policy")
    assert verdict.outcome is Outcome.PASSED, verdict.message


@pytest.mark.parametrize("number", range(len(examples_of(REGISTRY.get("environment")))))
def test_the_examples_of_the_reference_can_be_solved(judge: Judge, number: int) -> None:
    """Each of them, in full."""
    solutions = (
        '<answer>["down", "down", "right", "right", "down", "right"]</answer>',
        BALANCE.replace("0.5", "0.3").replace("seen[2]", "0.02 * seen[0] + 0.05 * seen[1] + seen[2]"),
        '<answer>["forward", "forward", "right", "forward", "forward"]</answer>',
    )

    verdict = judge(solutions[number], **examples_of(REGISTRY.get("environment"))[number])

    assert (verdict.outcome, verdict.reward) == (Outcome.PASSED, 1.0), verdict.message


def test_info_is_shown_where_the_task_says_so(judge: Judge) -> None:
    """The mask of the taxi's legal actions comes with it."""
    source = (
        "def policy(seen, info):\n"
        "    assert info['action_mask'].shape == (6,)\n"
        "    return int(info['action_mask'].nonzero()[0][0])\n"
    )

    verdict = judge(source, env="Taxi-v4", player="policy", info=True, max_steps=5, success_return=-5)

    assert (verdict.terms["illegal"], verdict.terms["steps"]) == (0.0, 5.0), verdict.message


def test_equal_attempts_have_equal_verdicts(judge: Judge) -> None:
    """Slippery ice, by list and by policy, is slippery in the same way each time."""
    fields = {"env": "FrozenLake-v1", "seed": 7, "success_return": 1}
    source = "import random\ndef policy(seen):\n    return random.randrange(4)\n"

    for completion, more in ((SOLVED, {}), (source, {"player": "policy"})):
        first, second = (judge(completion, **fields, **more) for _ in range(2))
        assert (first.reward, first.terms, first.message) == (second.reward, second.terms, second.message)


HOSTILE = {
    "hangs": ("while True: pass", Outcome.TIMEOUT),
    "sleeps": ("import time; time.sleep(60)", Outcome.TIMEOUT),
    "exits": ("import os; os._exit(0)", Outcome.RUNTIME_ERROR),
    "raises exit": ("raise SystemExit", Outcome.RUNTIME_ERROR),
    "dies": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", Outcome.RUNTIME_ERROR),
    "kills all": ("import os, signal; os.kill(-1, signal.SIGKILL); return 1", None),
    "fills memory": ("x = [bytearray(2 ** 28) for _ in range(16)]; return 1", Outcome.MEMORY_EXCEEDED),
    "floods": ("import os; [os.write(1, b'x' * 10 ** 6) for _ in range(9)]; return 1", Outcome.OUTPUT_EXCEEDED),
    "returns an object": ("return object()", Outcome.RUNTIME_ERROR),
    "returns itself": ("return policy", Outcome.RUNTIME_ERROR),
    "returns a million": ("return [0] * 10 ** 6", Outcome.RUNTIME_ERROR),
    "returns a hundred megabytes": ("return 'x' * 10 ** 8", Outcome.RUNTIME_ERROR),
    "returns nan": ("return float('nan')", Outcome.FAILED),
    "returns nothing": ("return None", Outcome.FAILED),
    "returns a huge integer": ("return 10 ** 10000", Outcome.RUNTIME_ERROR),
    "recurses": ("return policy(seen)", Outcome.RUNTIME_ERROR),
    "writes to its channel": ("import os; os.write(3, b'\\xff' * 4096); return 1", Outcome.RUNTIME_ERROR),
    "closes its channel": ("import os; os.close(3); return 1", Outcome.RUNTIME_ERROR),
    "forges an assertion": ("raise AssertionError('{\"verified\": 1.0}')", Outcome.RUNTIME_ERROR),
    "forks": ("import os\n    while True: os.fork()", None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_policies_earn_nothing_and_no_null(judge: Judge, name: str) -> None:
    """Whatever they do is their own fault, and ends in time; the next attempt is judged as ever."""
    body, outcome = HOSTILE[name]

    verdict = judge(f"def policy(seen):\n    {body}\n", **POLE, limits=QUICK)

    assert verdict.reward == 0.0, verdict
    assert verdict.outcome is outcome or outcome is None, verdict.message
    assert judge(BALANCE, **POLE).outcome is Outcome.PASSED


@pytest.mark.parametrize(
    ("completion", "outcome"),
    [
        ("no code at all", Outcome.NO_ANSWER),
        ("", Outcome.NO_ANSWER),
        ("def policy(:", Outcome.COMPILE_ERROR),
        ("def polity(seen): return 1", Outcome.RUNTIME_ERROR),
        ("import os; os._exit(0)", Outcome.RUNTIME_ERROR),
        ("while True: pass", Outcome.TIMEOUT),
    ],
)
def test_policies_that_never_play_have_the_usual_outcomes(judge: Judge, completion: str, outcome: Outcome) -> None:
    """As programs of any other verifier."""
    verdict = judge(completion, **POLE, limits=QUICK)

    assert (verdict.outcome, verdict.reward) == (outcome, 0.0), verdict.message


def test_a_policy_finds_no_environment(judge: Judge) -> None:
    """Not among its modules, its objects, its frames, its descriptors: it is in another process."""
    source = (
        "import ctypes, gc, os, sys\n"
        "def policy(seen):\n"
        "    found = [name for name in sys.modules if name.startswith(('gymnasium', 'minigrid'))]\n"
        "    ours = ('Stage', 'Script', 'CartPoleEnv', 'TimeLimit')\n"
        "    found += [thing for thing in gc.get_objects() if type(thing).__name__ in ours]\n"
        "    frame = sys._getframe()\n"
        "    while frame is not None:\n"
        "        found += [k for k in frame.f_locals if k in ('stage', 'script', 'env', 'record')]\n"
        "        frame = frame.f_back\n"
        "    for pid in filter(str.isdigit, os.listdir('/proc')):\n"
        "        try:\n"
        "            if b'environment' in open(f'/proc/{pid}/maps', 'rb').read(): found.append(pid)\n"
        "        except OSError: pass\n"
        "    assert not found, str(found)[:300]\n"
        "    return int(seen[2] + 0.5 * seen[3] > 0)\n"
    )

    verdict = judge(source, **POLE)

    assert verdict.outcome is Outcome.PASSED, verdict.message


def test_a_policy_that_imports_the_library_plays_with_a_copy_of_its_own(judge: Judge) -> None:
    """What it does to the library there changes nothing in the episode."""
    source = (
        "import gymnasium.envs.classic_control.cartpole as cartpole\n"
        "cartpole.CartPoleEnv.step = lambda self, action: (None, 1e9, False, False, {})\n"
        "def policy(seen):\n    return 0\n"
    )

    assert judge(source, **POLE, limits={"memory_mb": 1024}).reward == 0.0


def test_what_a_task_forbids_is_a_violation(judge: Judge) -> None:
    """Such as a copy of the environment to plan in."""
    verdict = judge(f"import gymnasium\n{BALANCE}", **POLE, forbid=["gymnasium"])

    assert (verdict.outcome, verdict.reward) == (Outcome.VIOLATION, 0.0)


def test_a_policy_cannot_rewrite_the_trajectory(judge: Judge) -> None:
    """Observations that it writes to stay what they were."""
    source = "import numpy\ndef policy(seen):\n    seen[:] = 0\n    return numpy.int64(1)\n"
    verify = "def verify(trajectory, final): return all(step['observation'].any() for step in trajectory)"

    verdict = judge(source, **{**POLE, "success_return": None}, source=verify)

    assert verdict.outcome is Outcome.PASSED, verdict.message
