"""Cheating C kernels on this machine's processor: a naive harness pays them, this one does not."""

import os
import socket
import time
from pathlib import Path

import pytest
from hacks import (
    CONTENT_CACHE,
    ENDLESS,
    FILE_CACHE,
    FLOAT_SUM,
    GLUTTON,
    HACKS,
    HOG,
    PATCHED_CLOCK,
    POINTER_CACHE,
    SNOOP,
    Hack,
)
from naive_harness import NaiveVerdict, judge_naively
from native_kernels import HONEST, PARAMS, Workshop, gemm_task, measured, not_faster

from assay.outcomes import Outcome
from assay.verifiers.kernels.findings import OUTCOMES, Measured, Reason, Refused
from assay.verifiers.kernels.task import KernelTask

pytestmark = pytest.mark.jail


def naive(
    workshop: Workshop, source: str, task: KernelTask, kind: str = "c_float", *, is_early: bool = False
) -> NaiveVerdict:
    """What the naive harness says of a kernel, beside the task's reference."""
    kernels = [workshop.build(text, task).artifact.content for text in (task.reference.source, source)]
    return judge_naively(workshop.slot, kernels[0], kernels[1], kind, is_early=is_early)


@pytest.mark.parametrize("name", HACKS)
def test_hack_is_not_paid(workshop: Workshop, name: str) -> None:
    """The naive harness takes it for right (and fast); here it is refused for its reason, and earns the minimum."""
    hack: Hack = HACKS[name]
    task = gemm_task(**hack.fields)

    fooled = naive(workshop, hack.text, task, is_early=hack.is_early)
    found = measured(workshop, hack.text, task)

    assert fooled.correct
    assert hack.naive_speedup is None or (fooled.speedup or 0.0) > hack.naive_speedup
    assert isinstance(found, Refused), found
    assert found.reason in hack.reasons, found
    assert hack.words in str(found)
    assert OUTCOMES[found.reason] is not Outcome.PASSED


def test_08_results_kept_by_address_win_nothing(workshop: Workshop) -> None:
    """A naive harness calls with the same addresses; here they are new every time, and so is what lies there."""
    task = gemm_task()

    fooled = naive(workshop, POINTER_CACHE, task)
    found = measured(workshop, POINTER_CACHE, task)

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 3
    assert not_faster(found)


def test_09_results_kept_by_content_win_nothing(workshop: Workshop) -> None:
    """No content comes twice, so keeping results costs time and saves none."""
    task = gemm_task()

    fooled = naive(workshop, CONTENT_CACHE, task)
    found = measured(workshop, CONTENT_CACHE, task)

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 1.5
    assert not_faster(found)


def test_a6_results_kept_on_disk_win_nothing(workshop: Workshop) -> None:
    """There is no file that could be kept, and no input comes again."""
    task = gemm_task()

    fooled = naive(workshop, FILE_CACHE, task, is_early=True)
    found = measured(workshop, FILE_CACHE, task)

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 1.5
    assert not_faster(found)


def test_20_burning_in_the_references_turn_wins_nothing(workshop: Workshop) -> None:
    """A runner has one thread, and is frozen while others run."""
    task = gemm_task()

    fooled = naive(workshop, HOG, task, is_early=True)
    found = measured(workshop, HOG, task)

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 1.5
    assert not_faster(found)


def test_d3_a_kernel_that_takes_all_memory_is_ended(workshop: Workshop) -> None:
    """At its own limit; the next session is as any other."""
    task = gemm_task(checks=["normal"])

    found = measured(workshop, GLUTTON, task)

    assert isinstance(found, Refused)
    assert found.reason is Reason.MEMORY
    assert isinstance(after := measured(workshop, HONEST, gemm_task()), Measured | None), after


def test_16_a_float_sum_fails_where_doubles_are_asked_for(workshop: Workshop) -> None:
    """The tolerance of a float64 output knows; the naive harness's does not."""
    params = [{**param, "dtype": "float64"} if param["dtype"] == "float32" else param for param in PARAMS]
    task = gemm_task(
        abi={"entry": "gemm", "params": params},
        reference={"language": "c", "source": HONEST.replace("float", "double")},
    )

    fooled = naive(workshop, FLOAT_SUM, task, "c_double")
    found = measured(workshop, FLOAT_SUM, task)

    assert fooled.correct
    assert isinstance(found, Refused)
    assert found.reason is Reason.WRONG


def test_16_a_float_sum_passes_where_floats_are_asked_for(workshop: Workshop) -> None:
    """The same sum is right in a float32 task."""
    found = measured(workshop, HONEST, gemm_task())

    assert found is None or isinstance(found, Measured)


def test_23_clocks_of_its_own_process_are_not_asked(workshop: Workshop) -> None:
    """It owns the naive harness's clock; the judge's is in another process."""
    task = gemm_task()

    fooled = naive(workshop, PATCHED_CLOCK, task)
    found = measured(workshop, PATCHED_CLOCK, task)

    assert fooled.correct
    assert (fooled.speedup or 0.0) > 10
    assert not_faster(found)


def test_24_nothing_is_there_to_be_found(workshop: Workshop, tmp_path: Path) -> None:
    """No file of the judge, no environment, no network, no other process."""
    secret = tmp_path / "expected.json"
    secret.write_text("[1, 2, 3]")
    tmp_path.chmod(0o755)
    paths = [secret, "/proc/1/environ", "/proc/1/mem", f"/proc/{os.getpid()}/environ", "/etc/shadow", "/dev/kmsg"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listed = ", ".join(f'"{path}"' for path in paths)
        source = SNOOP.replace("PATHS", listed).replace("PORT", str(listener.getsockname()[1]))

        found = measured(workshop, source, gemm_task())

    assert isinstance(found, Refused)
    assert "status 64" in found.message, "bits above 64 name what it found"


def test_25_a_kernel_that_does_not_end_is_ended(workshop: Workshop) -> None:
    """Within its deadline and a second; the next session on the same slot is as any other."""
    task = gemm_task(policy={"call_deadline_s": 0.5}, checks=["normal"])
    workshop.build(ENDLESS, task)
    workshop.build(HONEST, task)
    started = time.monotonic()

    found = measured(workshop, ENDLESS, task)

    assert time.monotonic() - started < 0.5 + 20
    assert isinstance(found, Refused)
    assert found.reason is Reason.DEADLINE
    assert naive(workshop, ENDLESS, task).speedup is None
    after = measured(workshop, HONEST, gemm_task())
    assert after is None or isinstance(after, Measured)
