"""Runners of native kernels on the processor: how they fail, and that nothing is left of them."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from kernel_compiling import Bench
from native_runners import BYTES, DOUBLE, HEAD, Open, call, started
from process_trees import descendants, living
from waiting import wait_for

from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.interface import (
    Artifact,
    Failure,
    FailureKind,
    Form,
    Reply,
    RunnerLimits,
)
from assay.sandboxes.devices.runner_program import LOOP_SOURCE
from assay.sandboxes.jails import JailPool

pytestmark = pytest.mark.jail


def groups() -> set[str]:
    """Control groups in which this process freezes runners."""
    return {path.name for path in Path("/sys/fs/cgroup").glob(f"**/assay-{os.getpid()}-*/cgroup.freeze")}


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("_exit(7);", FailureKind.DIED, "status 7"),
        ("raise(SIGSEGV);", FailureKind.DIED, "SIGSEGV"),
        ("*(volatile int*)8 = 1;", FailureKind.DIED, "SIGSEGV"),
        ("kill(getpid(), SIGKILL);", FailureKind.DIED, "SIGKILL"),
        ("close(3);", FailureKind.DIED, "status 1"),
        ("close(3); for (;;) pause();", FailureKind.PROTOCOL, "hung up"),
        ('write(3, "x", 1);', FailureKind.PROTOCOL, "no answer"),
        ('write(3, "dd", 2); pause();', FailureKind.PROTOCOL, "no answer"),
        ("signal(SIGTERM, SIG_IGN); for (;;) pause();", FailureKind.DEADLINE, "0.3 s"),
        ("for (volatile long i = 0;; i++) {}", FailureKind.DEADLINE, "0.3 s"),
        ("for (;;) memset(malloc(1 << 20), 1, 1 << 20);", FailureKind.MEMORY, ""),
    ],
)
def test_a_runner_that_fails_says_how(start: Open, body: str, kind: FailureKind, words: str) -> None:
    """Died, broke the protocol, did not end, took too much memory; and the next runner is as any other."""
    runner = started(start(f"{HEAD}void assay_call(void** x) {{ (void)x; {body} }}", memory_mb=64))
    deadline_s = 0.3 if kind is FailureKind.DEADLINE else 10.0

    failed = call(runner, deadline_s=deadline_s)

    assert isinstance(failed, Failure), failed
    assert failed.kind is kind, failed
    assert words in failed.detail
    runner.close()
    assert isinstance(call(started(start(DOUBLE))), Reply)


def test_what_cannot_be_loaded_is_the_kernels_failure(start: Open) -> None:
    """Here a constructor that ends the process."""
    failed = start(f"{HEAD}__attribute__((constructor)) void c(void) {{ _exit(3); }} void assay_call(void** x) {{}}")

    assert isinstance(failed, Failure)
    assert failed.kind is FailureKind.DIED
    assert "status 3" in failed.detail


def test_what_is_no_shared_object_is_not_loaded(device: CpuDevice) -> None:
    """That is the kernel's failure too."""
    failed = device.open(Artifact(Form.SHARED_OBJECT, b"nothing"), BYTES, RunnerLimits())

    assert failed == Failure(FailureKind.DIED, "the kernel could not be loaded")


def test_bytes_that_nobody_asked_for_are_told(start: Open) -> None:
    """A second answer after the first is found before the next call."""
    runner = started(
        start(HEAD + 'static int n; void assay_call(void** x) { (void)x; if (n++ == 0) write(3, "d", 1); }')
    )

    replies = [call(runner), call(runner)]

    failures = [reply.kind for reply in replies if isinstance(reply, Failure)]
    assert failures[0] is FailureKind.PROTOCOL


def test_nothing_is_left_of_a_runner(start: Open) -> None:
    """No process, and no group to freeze it in; its jail serves the next."""
    before = groups()
    runner = started(start(DOUBLE))
    assert isinstance(call(runner), Reply)

    runner.close()

    assert groups() == before


def test_a_runner_that_was_not_closed_ends_with_its_attempt(bench: Bench, pool: JailPool) -> None:
    """The slot clears what is left, frozen or not."""
    compiled = bench.c(DOUBLE, glue=LOOP_SOURCE)
    assert compiled.artifact is not None
    with pool.slot() as slot:
        device = CpuDevice(slot)
        opened = device.open(Artifact(Form.SHARED_OBJECT, compiled.artifact.data), BYTES, RunnerLimits())
        device.close()
    runner = started(opened)

    with pool.slot() as slot:
        pid = runner.pid

    assert not os.path.exists(f"/proc/{pid}")
    runner.close()


WORKER = """
import sys, time
from assay.sandboxes.backends import open_pool
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.interface import Artifact, Form, RunnerLimits
from assay.settings import Settings
pool = open_pool(Settings(slots=1, sandbox="local"))
with pool.slot() as slot:
    artifact = Artifact(Form.SHARED_OBJECT, open(sys.argv[1], "rb").read())
    runner = CpuDevice(slot).open(artifact, 4096, RunnerLimits())
    print(runner.pid, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_frozen_runners_end_with_their_worker(bench: Bench, tmp_path: Path, number: signal.Signals) -> None:
    """A worker that is killed leaves no frozen process behind."""
    compiled = bench.c(DOUBLE, glue=LOOP_SOURCE)
    assert compiled.artifact is not None
    (tmp_path / "kernel.so").write_bytes(compiled.artifact.data)
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path / "kernel.so")], stdout=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    pid = int(worker.stdout.readline())
    below = {pid, *descendants(worker.pid)}

    worker.send_signal(number)
    worker.wait()
    worker.stdout.close()

    wait_for(lambda: not living(below))
