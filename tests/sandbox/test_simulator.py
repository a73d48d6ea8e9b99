"""The verifier `simulator` in real jails: the race car, a simulator of another package, and hostile ones."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from isolation import skipped_without
from process_trees import descendants

from assay.cli.conformity.judging import Judge
from assay.cli.conformity.runner import read_entries, run_entries
from assay.cli.local import Scorer
from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes import cgroup
from assay.sandboxes.jails import Backend, JailPool
from assay.sandboxes.pool import Pool
from assay.sandboxes.warm import spawn
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.requirements import missing_modules
from assay.verifiers.simulator.task import EXTRA

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "simulator_plugin"
CENTRE = {"goal": {"measure": "centerline"}}
BOUND_S = 60  # for three tries of a second each
HEAD = "from assay.verifiers.simulator.interface import Parameter, SimulatedRun\nimport os, sys, time\n"
SIMULATOR = """
class {name}:
    name, version, parameters = "{name}", "1", {{"kp": Parameter(1.0, 0.0, 9.0)}}
    def run(self, parameters, fields, seed):
        {body}
        return SimulatedRun(1.0 / parameters["kp"])
"""
HOSTILE = {
    "hangs": "while True: pass",
    "sleeps": "time.sleep(1000)",
    "exits": "os._exit(0)",
    "leaves": "sys.exit(3)",
    "dies": "os.kill(os.getpid(), 9)",
    "floods": "[os.write(1, b'x' * 65536) for _ in iter(int, 1)]",
    "chatters": "[os.write(3, b'x' * 65536) for _ in iter(int, 1)]",
    "eats": "hoard = [bytearray(10_000_000) for _ in range(1000)]",
    "forks": "[os.fork() for _ in range(100)]; time.sleep(1000)",
    "raises": "raise ValueError('broken')",
    "lies": "return SimulatedRun(-1.0)",
    "dreams": "return SimulatedRun(float('nan'))",
    "contradicts": "return SimulatedRun(1.0, 'crashed')",
    "babbles": "return 'a fine lap'",
    "lingers": "os.fork() or time.sleep(1000)",
}
"""What simulators may do instead of driving."""
TWO_FACED = {
    "stalls": "time.sleep(1000 * (parameters['kp'] > 1))",
    "breaks": "assert parameters['kp'] <= 1",
    "fails": "return SimulatedRun(None, 'fell over') if parameters['kp'] > 1 else SimulatedRun(1.0)",
}
"""What they may do only with parameters that a completion gives."""
QUICK = {"wall_s": 1, "cpu_s": 1, "memory_mb": 200, "output_bytes": 100_000, "processes": 16}

Run = Callable[..., Verdict]

pytestmark = pytest.mark.jail


def answer(**parameters: float) -> str:
    """A completion with these parameters."""
    return f"<reasoning>r</reasoning><answer>new_mpc_params = {parameters}</answer>"


def evaluating(pool: Pool) -> Run:
    """Judge attempts in the slots of a pool: `run(completion, **fields)`; the baselines are remembered."""
    registry = default_registry()
    evaluator = Evaluator(registry, pool)

    def run(completion: str, **fields: Any) -> Verdict:
        task = registry.parse_task({"id": "t", "verifier": "simulator", **fields})
        return evaluator.evaluate(task, completion).verdict

    return run


@pytest.fixture
def drive(pool: JailPool) -> Run:
    """Judge attempts at the race car."""
    if missing_modules(EXTRA):
        pytest.skip("needs the extra `simulator`")
    return evaluating(pool)


def test_a_lap_in_a_jail_is_judged(drive: Run) -> None:
    """With what it was compared with, and what it used."""
    verdict = drive(answer(track_safety_margin=0.9, v_max=3.0), **CENTRE, pass_threshold=3.5)

    assert verdict.outcome is Outcome.PASSED
    assert 0.0 < verdict.terms["rmse"] < 0.5 * verdict.terms["baseline_rmse"]
    assert verdict.versions.keys() >= {"osqp", "simulator race_car"}
    assert verdict.usage.cpu_s > 0.0
    assert '"defaults":{"parameters":{"qv":10.0' in verdict.stdout


def test_the_same_attempt_gets_the_same_error_in_any_process(pool: JailPool) -> None:
    """To the last bit, though nothing is remembered."""
    if missing_modules(EXTRA):
        pytest.skip("needs the extra `simulator`")
    errors = {evaluating(pool)(answer(v_max=3.0), **CENTRE).terms["rmse"] for _ in range(3)}

    assert len(errors) == 1


def test_a_car_that_leaves_the_track_earns_the_least(drive: Run) -> None:
    """It is the parameters' doing."""
    verdict = drive(answer(v_max=12.0, alat_max=20.0), **CENTRE)

    assert (verdict.outcome, verdict.terms["driving"]) == (Outcome.FAILED, -4.0)
    assert "left the track" in verdict.message


def test_a_lap_that_takes_too_long_has_failed(drive: Run) -> None:
    """The defaults keep the limit that it exhausts."""
    slow = answer(**dict.fromkeys(("qv", "qn", "qalpha", "qac", "qddelta"), 0.0))

    verdict = drive(slow, **CENTRE, budget_s=120, limits={"cpu_s": 1})

    assert (verdict.outcome, verdict.reward) == (Outcome.TIMEOUT, -1.0)


@pytest.mark.parametrize("fields", [{"limits": {"cpu_s": 0.02}}, {"track": [[0, 0, 1, 1]] * 6}])
def test_a_task_that_cannot_be_driven_has_no_reward(drive: Run, fields: dict[str, Any]) -> None:
    """Limits too small for the defaults, a track that is none."""
    assert drive(answer(v_max=3.0), **CENTRE, **fields).outcome is Outcome.TASK_ERROR


def test_a_simulator_that_is_not_here_is_no_reward(drive: Run) -> None:
    """Of which only the worker can know."""
    verdict = drive(answer(kp=3.0), simulator="nobody", requires=["json"])

    assert (verdict.outcome, verdict.reward) == (Outcome.INFRA_ERROR, None)
    assert "no packages bring a simulator 'nobody'" in verdict.message


def beside(folder: Path) -> Iterator[JailPool]:
    """Jails whose interpreters find what is installed in `folder`; nothing else does."""
    controllers = cgroup.find_controllers()
    tuning = {"PYTHONPATH": str(folder)}
    pool = JailPool(Backend(Level.NAMESPACES, partial(spawn, tuning), controllers), slots=1, recycle_after=1000)
    try:
        with skipped_without(), pool.slot():
            pass
        yield pool
    finally:
        pool.close()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JailPool]:
    """Jails where the example package is installed, as a user installs it."""
    folder = tmp_path_factory.mktemp("simulator")
    source = shutil.copytree(EXAMPLE, folder / "source")  # builds leave files beside the sources
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*command, "--target", folder / "installed", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    yield from beside(folder / "installed")


CART = {"simulator": "cart", "requires": ["json"], "fields": {"amplitude_m": 1.0}}
"""A worker requires the package's own module; here only the jails have it."""


def test_the_example_simulator_drives(installed: JailPool) -> None:
    """Its own names, bounds, aliases and crashes, in its own unit."""
    run = evaluating(installed)

    better = run(answer(stiffness=50.0, damping=5.0), **CART)
    alias = run(answer(kp=50.0), **CART)
    crash = run(answer(stiffness=2.0, damping=-5.0), **CART)
    refused = run(answer(stiffness=1000.0), **CART)

    assert better.terms["driving"] > 0.5
    assert better.versions == {"simulator cart": "1"}
    assert "defaults are stiffness 4, damping 1" in better.message
    assert (alias.terms["names"], alias.terms["driving"] > 0.0) == (0.5, True)
    assert crash.terms["driving"] == refused.terms["driving"] == -4.0
    assert "fell off the rail" in crash.message
    assert "0 to 200 N/m" in refused.message


def test_fields_that_it_refuses_are_the_tasks_fault(installed: JailPool) -> None:
    """The simulator alone knows them."""
    verdict = evaluating(installed)(answer(stiffness=50.0), **{**CART, "fields": {}})

    assert verdict.outcome is Outcome.TASK_ERROR
    assert "amplitude_m" in verdict.message


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JailPool]:
    """Jails where hostile simulators are installed."""
    folder = tmp_path_factory.mktemp("hostile") / "installed"
    folder.mkdir(mode=0o755)  # jails have a user of their own
    everyone = {**HOSTILE, **TWO_FACED}
    source = HEAD + "".join(SIMULATOR.format(name=name, body=body) for name, body in everyone.items())
    (folder / "hostile_simulators.py").write_text(source)
    information = folder / "hostile_simulators-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile-simulators\nVersion: 1\n")
    entries = "".join(f"{name} = hostile_simulators:{name}\n" for name in everyone)
    entries += "absent = hostile_simulators:absent\nnowhere = no_such_module:x\n"
    (information / "entry_points.txt").write_text(f"[assay.simulators]\n{entries}")
    yield from beside(folder)


def children() -> set[int]:
    """Processes of simulators that are still there."""
    found = set()
    for process in descendants(os.getpid()):
        try:
            name = Path(f"/proc/{process}/comm").read_text().strip()
        except OSError:
            continue
        if name == "assay-program":
            found.add(process)
    return found


def test_what_a_simulator_leaves_running_ends_with_it(hostile: JailPool) -> None:
    """It told a fine run, and that counts."""
    verdict = evaluating(hostile)(answer(kp=2.0), simulator="lingers", requires=["json"], limits=QUICK)

    assert (verdict.outcome, verdict.terms["driving"]) == (Outcome.FAILED, 0.5), verdict.message
    assert children() == set()


@pytest.mark.parametrize("name", [*sorted(HOSTILE.keys() - {"lingers"}), "absent", "nowhere"])
def test_a_hostile_simulator_is_our_fault_in_time(hostile: JailPool, name: str) -> None:
    """Never a low reward; nothing of it is left, and the next attempt is judged."""
    started = time.monotonic()

    verdict = evaluating(hostile)(answer(kp=2.0), simulator=name, requires=["json"], limits=QUICK)

    assert (verdict.outcome, verdict.reward) == (Outcome.INFRA_ERROR, None), verdict.message
    assert time.monotonic() - started < BOUND_S
    assert children() == set()
    assert evaluating(hostile)(answer(kp=2.0), simulator="fails", requires=["json"], limits=QUICK).reward == -1.0


@pytest.mark.parametrize(
    ("name", "outcome", "reward"),
    [("stalls", Outcome.TIMEOUT, -1.0), ("breaks", Outcome.INFRA_ERROR, None), ("fails", Outcome.FAILED, -1.0)],
)
def test_what_a_simulator_does_only_with_given_parameters(
    hostile: JailPool, name: str, outcome: Outcome, reward: float | None
) -> None:
    """To exhaust limits is the parameters' doing, to raise is the simulator's, to crash is said."""
    verdict = evaluating(hostile)(answer(kp=2.0), simulator=name, requires=["json"], limits=QUICK)

    assert (verdict.outcome, verdict.reward) == (outcome, reward), verdict.message


def test_own_cases_agree(pool: JailPool) -> None:
    """Every line of the repository's own file."""
    if missing_modules(EXTRA):
        pytest.skip("needs the extra `simulator`")
    registry = default_registry()
    scorer = Scorer(registry, Evaluator(registry, pool), pool.size)
    entries = read_entries([ROOT / "tests" / "cases" / "robot_controller.jsonl"])

    assert entries
    problems = {entry.id: entry.problems for entry in run_entries(entries, Judge(scorer)) if entry.problems}
    assert problems == {}
