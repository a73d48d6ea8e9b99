"""Kernels that look around on the machine or take all of it, and neighbours: what a naive harness loses by, or pays."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from machine_hacks import BOMB, ENDLESS, GLUTTON, LEAVER
from naive_harness import Habit
from native_kernels import HONEST, MINIMUM, SECRET, Workshop, gains_nothing, gemm_task
from noted_leases import NotedLeases
from tampering_hacks import INCLUDED, SNOOP

from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.devices.interface import Failure, FailureKind
from assay.sandboxes.interface import Slot
from assay.sandboxes.jails import JailPool
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.judging import Pair, ProcessMeasurer, Trialled
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.problems import make_problem
from assay.verifiers.kernels.task import Backend, KernelTask

pytestmark = pytest.mark.jail
_BURN = """
import time
while True:
    until = time.monotonic() + 0.03
    while time.monotonic() < until:
        pass
    time.sleep(0.03)
"""


def test_24_nothing_is_there_to_be_found(workshop: Workshop, tmp_path: Path) -> None:
    """No file of the judge, no environment, no network, no other process; beside a naive harness there is plenty."""
    secret = tmp_path / "expected.json"
    secret.write_text("[1, 2, 3]")
    tmp_path.chmod(0o755)
    paths = [secret, "/proc/1/environ", "/proc/1/mem", f"/proc/{os.getpid()}/environ", "/etc/shadow", "/dev/kmsg"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listed = ", ".join(f'"{path}"' for path in ("expected.bin", *paths))
        source = SNOOP.replace("PATHS", listed).replace("PORT", str(listener.getsockname()[1]))

        fooled = workshop.judge_naively(Habit.KNOWS_FIRST, source)
        verdict = workshop.judge(source)

    assert int(fooled.speedup or 0) & 0b1001 == 0b1001, "what is expected on disk, and the seed in the environment"
    assert (verdict.outcome, verdict.reward) == (Outcome.RUNTIME_ERROR, MINIMUM)
    assert "status 64" in verdict.message, "bits above 64 name what it found"


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is but one core")
def test_20_a_kernel_stays_on_the_core_that_the_reference_has(workshop: Workshop, bare: Slot) -> None:
    """A naive harness lets it choose among all of them; here it is left the one that it was put on."""
    fooled = workshop.judge_naively(Habit.KNOWS_FIRST, LEAVER, slot=bare)
    verdict = workshop.judge(LEAVER)

    assert (fooled.speedup or 0) >= 2
    assert (verdict.outcome, verdict.reward) == (Outcome.RUNTIME_ERROR, MINIMUM)
    assert "status 65" in verdict.message, "bits above 64 say how many cores"


def test_25_a_kernel_that_does_not_end_is_ended(workshop: Workshop) -> None:
    """Within its deadline and a second; the next session on the same slot is as any other. A naive harness waits."""
    task = gemm_task(policy={"call_deadline_s": 0.3}, checks=["normal"])

    took_s = [seconds_to_its_end(workshop, task, ENDLESS) for _ in range(3)]
    verdict = workshop.judge(ENDLESS, task)

    assert 0.3 <= min(took_s) < 0.3 + 1, "a busy machine can be slow once, but not every time"
    assert (verdict.outcome, verdict.reward) == (Outcome.TIMEOUT, MINIMUM)
    assert verdict.message.startswith("deadline: a call did not end within its deadline: 0.3 s")
    assert workshop.judge_naively(Habit.KNOWS_FIRST, ENDLESS, cpu_s=1).speedup is None
    assert gains_nothing(workshop.judge_if_quiet(HONEST))


def seconds_to_its_end(workshop: Workshop, task: KernelTask, source: str) -> float:
    """How long one call of a kernel takes that does not end, until nothing is left of its process."""
    problem = make_problem(task, SECRET, ("t",), task.shapes[0].axes, ValueProfile.NORMAL)
    with workshop.party(source, task) as party:
        started_s = time.monotonic()
        ended = party.exchange(problem, np.random.default_rng(0))
        party.close()
        took_s = time.monotonic() - started_s
    assert isinstance(ended, Failure)
    assert ended.kind is FailureKind.DEADLINE
    return took_s


def test_d3_a_kernel_that_takes_all_memory_is_ended(workshop: Workshop) -> None:
    """At its own limit; the next session is as any other. A naive harness ends with it."""
    verdict = workshop.judge(GLUTTON, gemm_task(checks=["normal"]))

    assert (verdict.outcome, verdict.reward) == (Outcome.MEMORY_EXCEEDED, MINIMUM)
    assert verdict.message.startswith("memory: runner passed its memory limit")
    assert workshop.judge_naively(Habit.KNOWS_FIRST, GLUTTON).speedup is None
    assert gains_nothing(workshop.judge_if_quiet(HONEST))


def test_b10_the_compiler_finds_nothing_that_is_expected(workshop: Workshop) -> None:
    """A harness that compiles beside its files gives its answers away; in the jail there are none."""
    verdict = workshop.judge(INCLUDED)

    assert workshop.is_naively_paid(Habit.COMPILES, INCLUDED, 1.5)
    assert (verdict.outcome, verdict.reward) == (Outcome.COMPILE_ERROR, MINIMUM)
    assert "expected.bin" in verdict.message


def test_b11_a_bomb_ends_within_its_limits(workshop: Workshop) -> None:
    """A harness that compiles without limits says nothing any more; here the compiler is ended, and compiles on."""
    task = gemm_task(policy={"compile_s": 1.0})

    stopped = workshop.judge_naively(Habit.COMPILES, BOMB, cpu_s=2)
    verdict = workshop.judge(BOMB, task)

    assert stopped.speedup is None
    assert workshop.judge_naively(Habit.COMPILES, HONEST).correct, "it is the bomb that stops it"
    assert (verdict.outcome, verdict.reward) == (Outcome.TIMEOUT, MINIMUM)
    assert verdict.message.startswith("the compiler did not end within 1 s")
    workshop.build(HONEST, task)


def test_c5_a_task_that_a_constant_passes_is_refused() -> None:
    """The inputs of the harness that pays it are a fault of the task."""
    flat = {"a": {"low": 1.0, "high": 1.0}, "b": {"low": 1.0, "high": 1.0}}

    assert any("standard deviation is 0" in fault for fault in lint(gemm_task(inputs=flat, checks=["normal"])))
    assert lint(gemm_task()) == ()


def test_d5_a_second_job_on_the_processor_wins_nothing(
    workshop: Workshop, pool: JailPool, bare: Slot, tmp_path: Path
) -> None:
    """Where jobs overlap, an honest copy is paid for its neighbour; here they wait for one another."""
    noted, ended = [NotedLeases(), NotedLeases()], list[Trialled | None]()
    task = gemm_task()

    with pool.slot() as other:

        def judge(leases: NotedLeases, place: Workshop) -> None:
            honest, probe = place.build(HONEST, task), place.builder.probe(Backend.CPU, place.slot)
            measurer = ProcessMeasurer(leases, lock_folder=tmp_path)
            try:
                ended.append(measurer.measure(task, Pair(honest, honest, 100, probe), None, place.slot))
            except Inconclusive:
                ended.append(None)

        places = (workshop, Workshop(other, workshop.builder))
        workers = [threading.Thread(target=judge, args=pair) for pair in zip(noted, places, strict=True)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    assert workshop.is_naively_paid(Habit.SHARES, HONEST, 1.5, bare)
    assert len(ended) == 2
    assert all(one is None or one.paid.scored.terms["speed"] <= 1.05 for one in ended)
    intervals = sorted(held for leases in noted for held in leases.held)
    assert len(intervals) == 2
    assert all(before[1] <= after[0] for before, after in pairwise(intervals))


def test_d6_load_beside_it_wins_nothing(workshop: Workshop, bare: Slot) -> None:
    """Where none asks whether the machine is quiet, an honest copy is paid; here there is no reward, or that of one."""
    with load():
        verdicts = [workshop.judge_if_quiet(HONEST) for _ in range(2)]

    assert workshop.is_naively_paid(Habit.SHARES, HONEST, 1.5, bare)
    assert all(gains_nothing(verdict) for verdict in verdicts)


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
