"""What pays at a harness with a bad habit, and does not here: cheating kernels, and neighbours on the machine."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from habit_hacks import BOMB, HABIT_HACKS, INCLUDED, STOPPED_CLOCK, WARM_UP_AWAKE
from naive_habits import Habit, judge_with
from naive_harness import NaiveVerdict
from native_kernels import HONEST, Workshop, gemm_task, measured, not_faster
from noted_leases import NotedLeases

from assay.errors import Inconclusive
from assay.outcomes import LIMIT_HITS, Outcome
from assay.sandboxes.jails import JailPool
from assay.verifiers.kernels.building import Builder
from assay.verifiers.kernels.compile import CompileLimits, Job
from assay.verifiers.kernels.findings import OUTCOMES, Measured, Refused
from assay.verifiers.kernels.judging import Pair, ProcessMeasurer, Trialled
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.task import Backend
from assay.verifiers.kernels.toolchain import Language

pytestmark = pytest.mark.jail
_BURN = """
import time
while True:
    until = time.monotonic() + 0.03
    while time.monotonic() < until:
        pass
    time.sleep(0.03)
"""


def naive(workshop: Workshop, habit: Habit, source: str) -> NaiveVerdict:
    """What a harness with this habit says of a kernel, beside the honest one."""
    task = gemm_task()
    reference = workshop.build(HONEST, task).artifact.content
    is_source = habit is Habit.COMPILES
    return judge_with(
        workshop.slot,
        habit,
        reference,
        source.encode() if is_source else workshop.build(source, task).artifact.content,
    )


@pytest.mark.parametrize("name", HABIT_HACKS)
def test_habit_hack_is_not_paid(workshop: Workshop, name: str) -> None:
    """A harness with that habit takes it for right and fast; here it is refused, and earns the minimum."""
    hack = HABIT_HACKS[name]

    fooled = naive(workshop, hack.habit, hack.text)
    found = measured(workshop, hack.text, gemm_task())

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 1.5
    assert isinstance(found, Refused), found
    assert found.reason in hack.reasons, found
    assert hack.words in str(found)
    assert OUTCOMES[found.reason] is not Outcome.PASSED


def test_a11_it_is_the_slow_warm_up_that_pays(workshop: Workshop) -> None:
    """The same theft without the pause is one call of many, and gains nothing."""
    (slow,) = (hack.text for name, hack in HABIT_HACKS.items() if name.startswith("A11"))

    awake = [naive(workshop, Habit.COUNTS_BY_WARM_UP, WARM_UP_AWAKE).speedup or 0.0 for _ in range(3)]
    asleep = naive(workshop, Habit.COUNTS_BY_WARM_UP, slow).speedup or 0.0

    assert min(awake) < 3 < asleep, "a busy machine can make any warm-up slow, but not every one"


def test_b10_the_compiler_finds_nothing_that_is_expected(workshop: Workshop) -> None:
    """A harness that compiles beside its files gives its answers away; in the jail there are none."""
    fooled = naive(workshop, Habit.COMPILES, INCLUDED)
    compiled = workshop.compiler.compile(Job(Language.C, INCLUDED, "native"), workshop.slot)

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 1.5
    assert compiled.outcome is Outcome.COMPILE_ERROR
    assert compiled.artifact is None
    assert compiled.message


def test_b11_a_bomb_ends_within_its_limits(workshop: Workshop) -> None:
    """A harness that compiles without limits says nothing any more; here the compiler is ended, and compiles on."""
    limits = CompileLimits(wall_s=10, cpu_s=1, memory_mb=2048)
    stopped = naive(workshop, Habit.COMPILES, BOMB)

    compiled = workshop.compiler.compile(Job(Language.C, BOMB, "native", limits=limits), workshop.slot)

    assert stopped.speedup is None
    assert naive(workshop, Habit.COMPILES, HONEST).correct, "it is the bomb that stops it"
    assert compiled.outcome in {Outcome.COMPILE_ERROR, *LIMIT_HITS}
    assert compiled.artifact is None
    assert compiled.message
    assert workshop.compiler.compile(Job(Language.C, HONEST, "native"), workshop.slot).artifact is not None


def test_b13_no_time_at_one_size_wins_nothing(workshop: Workshop) -> None:
    """A time of nought makes a geometric mean nought; here it is the judge's clock, and sizes have floors."""
    shapes = [{"axes": {"m": 64, "n": 64, "k": 64}}, {"axes": {"m": 32, "n": 32, "k": 32}}]

    fooled = naive(workshop, Habit.MULTIPLIES_TIMES, STOPPED_CLOCK)
    found = measured(workshop, STOPPED_CLOCK, gemm_task(public_shapes=shapes))

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 1000
    assert not_faster(found)
    assert not isinstance(found, Measured) or all(shape.is_plausible for shape in found.shapes)


def test_c5_a_task_that_a_constant_passes_is_refused() -> None:
    """The inputs of the harness that pays it are a fault of the task."""
    flat = {"a": {"low": 1.0, "high": 1.0}, "b": {"low": 1.0, "high": 1.0}}

    assert any("standard deviation is 0" in fault for fault in lint(gemm_task(inputs=flat, checks=["normal"])))
    assert lint(gemm_task()) == ()


def test_d5_a_second_job_on_the_processor_wins_nothing(workshop: Workshop, pool: JailPool, tmp_path: Path) -> None:
    """Where jobs overlap, an honest copy is paid for its neighbour; here they wait for one another."""
    fooled = naive(workshop, Habit.SHARES, HONEST)
    noted, ended = [NotedLeases(), NotedLeases()], list[Trialled | None]()
    task = gemm_task()

    with pool.slot() as other:

        def judge(leases: NotedLeases, place: Workshop) -> None:
            builder = Builder(place.compiler)
            honest, probe = builder.reference(task, place.slot), builder.probe(Backend.CPU, place.slot)
            measurer = ProcessMeasurer(leases, lock_folder=tmp_path)
            try:
                ended.append(measurer.measure(task, Pair(honest, honest, 100, probe), None, place.slot))
            except Inconclusive:
                ended.append(None)

        places = (workshop, Workshop(other, workshop.compiler))
        workers = [threading.Thread(target=judge, args=pair) for pair in zip(noted, places, strict=True)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 1.5
    assert len(ended) == 2
    assert all(one is None or one.paid.scored.terms["speed"] <= 1.05 for one in ended)
    intervals = sorted(held for leases in noted for held in leases.held)
    assert len(intervals) == 2
    assert all(before[1] <= after[0] for before, after in pairwise(intervals))


def test_d6_load_beside_it_wins_nothing(workshop: Workshop) -> None:
    """Where none asks whether the machine is quiet, an honest copy is paid; here the order is mixed, and one does."""
    fooled = naive(workshop, Habit.SHARES, HONEST)
    with load():
        found = measured(workshop, HONEST, gemm_task())

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 1.5
    assert not_faster(found)


@contextmanager
def load() -> Iterator[None]:
    """Every processor is taken and left, many times a second, to the end."""
    burners = [subprocess.Popen([sys.executable, "-ISc", _BURN]) for _ in os.sched_getaffinity(0)]
    try:
        yield
        assert all(burner.poll() is None for burner in burners)
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()
