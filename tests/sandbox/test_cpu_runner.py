"""Runners of native kernels on the processor: what they do, how they fail, and that nothing is left of them."""

import errno
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from kernel_compiling import Bench, open_bench
from process_trees import descendants
from starved import Starved

from assay.errors import InfraFault
from assay.sandboxes import syscalls
from assay.sandboxes.devices.conformance import Kit, examine
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.cpu_runner import CpuRunner
from assay.sandboxes.devices.interface import (
    Artifact,
    Call,
    Failure,
    FailureKind,
    Form,
    Launch,
    Pointer,
    Reply,
    RunnerLimits,
    Scalar,
)
from assay.sandboxes.devices.runner_program import LOOP_SOURCE
from assay.sandboxes.devices.toll import Toll
from assay.sandboxes.freezer import NotStopped, SignalFreezer, stop
from assay.sandboxes.jails import JailPool
from assay.verifiers.kernels import rewards

pytestmark = pytest.mark.jail
BYTES = 2**20
HALF = BYTES // 2
HEAD = (
    "#define _GNU_SOURCE\n#include <signal.h>\n#include <stdlib.h>\n#include <string.h>\n#include <sys/time.h>\n"
    "#include <unistd.h>\nvoid assay_call(void** x);\n#define N (*(long*)x[2])\n"
)
DOUBLE = HEAD + "void assay_call(void** x) { for (long i = 0; i < N; i++) ((float*)x[1])[i] = 2 * ((float*)x[0])[i]; }"
TICKING = HEAD + (
    "static long* count; static void tick(int n) { (void)n; ++*count; }\n"
    "void assay_call(void** x) { count = x[1]; signal(SIGALRM, tick);\n"
    "struct itimerval often = {{0, 500}, {0, 500}}; setitimer(ITIMER_REAL, &often, 0); }"
)

Open = Callable[..., CpuRunner | Failure]


@pytest.fixture(scope="module")
def bench(pool: JailPool) -> Bench:
    """A compiler for C."""
    return open_bench(pool, needs="gcc")


@pytest.fixture
def device(pool: JailPool) -> Iterator[CpuDevice]:
    """The processor, with a slot."""
    with pool.slot() as slot:
        made = CpuDevice(slot)
        yield made
        made.close()


@pytest.fixture
def start(bench: Bench, device: CpuDevice) -> Iterator[Open]:
    """Compile C and start it in a runner: `start(source, **limits)`."""
    started: list[CpuRunner] = []

    def open_runner(source: str, **limits: int) -> CpuRunner | Failure:
        compiled = bench.c(source, glue=LOOP_SOURCE)
        assert compiled.artifact is not None, compiled.message
        artifact = Artifact(Form.SHARED_OBJECT, compiled.artifact.data)
        runner = device.open(artifact, BYTES, RunnerLimits(**limits))
        if isinstance(runner, CpuRunner):
            started.append(runner)
        return runner

    yield open_runner
    for runner in started:
        runner.close()


def started(runner: CpuRunner | Failure) -> CpuRunner:
    """The runner, which did start."""
    assert isinstance(runner, CpuRunner), runner
    return runner


def call(runner: CpuRunner, count: int = 4, *, deadline_s: float = 10.0, is_cold: bool = False) -> Reply | Failure:
    """One call over the first and the second half of the segment."""
    arguments = (Pointer(0), Pointer(HALF), Scalar(struct.pack("<q", count)))
    failure = runner.stage(Call(0, BYTES, (Launch("f", arguments),), deadline_s, is_cold))
    return failure or runner.run()


def groups() -> set[str]:
    """Control groups in which this process freezes runners."""
    return {path.name for path in Path("/sys/fs/cgroup").glob(f"**/assay-{os.getpid()}-*/cgroup.freeze")}


def test_a_kernel_reads_and_writes_the_segment(start: Open) -> None:
    """With its scalars, again and again, and every clock tells something."""
    runner = started(start(DOUBLE))
    floats = np.frombuffer(runner.segment, np.float32)

    for first in (1.0, 5.0):
        floats[:4] = np.arange(4) + first
        reply = call(runner, is_cold=first == 5.0)

        assert isinstance(reply, Reply), reply
        assert list(floats[HALF // 4 :][:4]) == [2 * (first + index) for index in range(4)]
        assert reply.wall_s > 0
        assert reply.cpu_s is not None
        assert reply.cpu_s > 0
        assert reply.idle_cpu_s is not None
        assert reply.idle_cpu_s < 1e-3


def test_the_processor_keeps_the_contract_of_devices(bench: Bench, device: CpuDevice) -> None:
    """As the scripted device does: calls, separation, deadlines, deaths, what cannot be loaded, and the clock."""
    bodies = {
        "honest": "memcpy(x[1], x[0], N);",
        "endless": "(void)x; for (volatile long i = 0;; i++) {}",
        "dying": "(void)x; _exit(1);",
    }
    kernels = {}
    for name, body in bodies.items():
        compiled = bench.c(f"{HEAD}void assay_call(void** x) {{ {body} }}", glue=LOOP_SOURCE)
        assert compiled.artifact is not None, compiled.message
        kernels[name] = Artifact(Form.SHARED_OBJECT, compiled.artifact.data)

    assert examine(device, Kit(**kernels, broken=Artifact(Form.SHARED_OBJECT, b"nothing"))) == ()


def test_runners_that_live_together_share_their_pages(start: Open) -> None:
    """Otherwise where the pages lie would decide which is faster. Once all have ended the pages are fresh."""
    first, second = started(start(DOUBLE)), started(start(DOUBLE))
    np.frombuffer(first.segment, np.float32)[:4] = 3.0

    assert isinstance(call(second), Reply)

    assert list(np.frombuffer(first.segment, np.float32)[HALF // 4 :][:4]) == [6.0] * 4
    first.close()
    second.close()
    assert not any(started(start(DOUBLE)).segment)


@pytest.mark.parametrize("advice", ["MADV_REMOVE", "25"])
def test_a_runner_cannot_take_pages_from_the_others(start: Open, advice: str) -> None:
    """Freed or moved, they would have to be mapped again by the reference while it is timed."""
    source = HEAD + (
        "#include <errno.h>\n#include <sys/mman.h>\nvoid assay_call(void** x) "
        f"{{ *(int*)x[1] = madvise((void*)((long)x[1] & ~4095L), 4096, {advice}) ? errno : 0; }}"
    )
    runner = started(start(source))

    assert isinstance(call(runner), Reply)

    assert np.frombuffer(runner.segment, np.int32)[HALF // 4] == errno.EPERM


@pytest.mark.parametrize(("gives_up", "is_answered"), [(2, True), (10_000, False)])
def test_a_starved_machine_accuses_nobody_of_not_stopping(start: Open, gives_up: int, is_answered: bool) -> None:
    """A process that is not stopped at once is given time; one that never is breaks the protocol."""
    runner = started(start(DOUBLE))
    assert runner.freezer is not None
    runner.freezer = Starved(runner.freezer, gives_up)

    reply = call(runner)

    assert isinstance(reply, Reply) is is_answered, reply
    assert is_answered or (isinstance(reply, Failure) and reply.kind is FailureKind.PROTOCOL)


def test_nothing_happens_between_calls(start: Open, device: CpuDevice) -> None:
    """A timer of the kernel's own process does not fire while it is frozen."""
    runner = started(start(TICKING))
    counted = np.frombuffer(runner.segment, np.int64)[HALF // 8 :]
    assert isinstance(call(runner), Reply)

    before = int(counted[0])
    device.pause(0.1)

    assert int(counted[0]) == before
    reply = call(runner)
    assert isinstance(reply, Reply)
    assert reply.idle_cpu_s is not None
    assert reply.idle_cpu_s < 1e-3


def test_runners_stand_side_by_side(start: Open) -> None:
    """Three at once, each asked in turn."""
    trio = [started(start(DOUBLE)) for _ in range(3)]
    answers = []

    for number, runner in enumerate(trio):
        floats = np.frombuffer(runner.segment, np.float32)
        floats[0] = number
        assert isinstance(call(runner, 1), Reply)
        answers.append(float(floats[HALF // 4]))

    assert answers == [0, 2, 4]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        ("_exit(7);", FailureKind.DIED, "status 7"),
        ("raise(SIGSEGV);", FailureKind.DIED, "SIGSEGV"),
        ("*(volatile int*)8 = 1;", FailureKind.DIED, "SIGSEGV"),
        ("kill(getpid(), SIGKILL);", FailureKind.DIED, "SIGKILL"),
        ("close(3);", FailureKind.DIED, "status 1"),
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


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (f"{HEAD}__attribute__((constructor)) void c(void) {{ _exit(3); }} void assay_call(void** x) {{}}", "status 3"),
    ],
)
def test_what_cannot_be_loaded_is_the_kernels_failure(start: Open, source: str, words: str) -> None:
    """Here a constructor that ends the process."""
    failed = start(source)

    assert isinstance(failed, Failure)
    assert failed.kind is FailureKind.DIED
    assert words in failed.detail


def test_what_is_no_shared_object_is_not_loaded(device: CpuDevice) -> None:
    """That is the kernel's failure too."""
    failed = device.open(Artifact(Form.SHARED_OBJECT, b"nothing"), BYTES, RunnerLimits())

    assert failed == Failure(FailureKind.DIED, "the kernel could not be loaded")


def test_the_time_of_an_empty_call_is_taken_off_and_no_more() -> None:
    """By the least of all runners, so a slow one cannot make itself look fast; something is always left."""
    toll = Toll()
    toll.learn([Reply(50e-6, 20e-6)] * 11, is_cold=True)
    toll.learn([Reply(1.0, 1.0)] * 11, is_cold=True)

    assert toll.take_off(Reply(1050e-6, 1020e-6), is_cold=True) == Reply(
        pytest.approx(1e-3), pytest.approx(1e-3), empty_s=50e-6
    )
    assert toll.take_off(Reply(40e-6, 0.0), is_cold=True) == Reply(
        pytest.approx(2.5e-6), pytest.approx(1e-6), empty_s=50e-6
    )
    assert toll.take_off(Reply(1e-3), is_cold=False) == Reply(1e-3, empty_s=0.0)


def test_bytes_that_nobody_asked_for_are_told(start: Open) -> None:
    """A second answer after the first is found before the next call."""
    runner = started(
        start(HEAD + 'static int n; void assay_call(void** x) { (void)x; if (n++ == 0) write(3, "d", 1); }')
    )

    replies = [call(runner), call(runner)]

    failures = [reply.kind for reply in replies if isinstance(reply, Failure)]
    assert failures[0] is FailureKind.PROTOCOL


def test_what_a_kernel_prints_stops_nothing(start: Open) -> None:
    """Megabytes on its standard streams go nowhere."""
    runner = started(
        start(
            HEAD + "static char big[1 << 20]; void assay_call(void** x) { (void)x;"
            " for (int i = 0; i < 40; i++) write(1 + i % 2, big, sizeof big); }"
        )
    )

    assert isinstance(call(runner), Reply)


@pytest.mark.skipif(not syscalls.landlock_version(), reason="no Landlock: the jail's own files stay readable")
def test_a_kernel_opens_no_file(start: Open) -> None:
    """Neither the package, with its references, nor a compiler, nor anything new: in its constructor or in a call."""
    paths = ", ".join(f'"{path}"' for path in (rewards.__file__, sys.executable, "/usr/bin/gcc", "/proc/self/maps"))
    runner = started(
        start(
            f"{HEAD}#include <fcntl.h>\nstatic long opened; static const char* paths[] = {{{paths}}};\n"
            "static void look(void) { for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++)\n"
            "if (open(paths[i], O_RDONLY) >= 0) opened |= 1 << i;\n"
            'if (open("/tmp/new", O_CREAT | O_RDWR, 0600) >= 0) opened |= 64; }\n'
            "__attribute__((constructor)) static void first(void) { look(); }\n"
            'void assay_call(void** x) { look(); execl("/usr/bin/gcc", "gcc", (char*)0); *(long*)x[1] = opened; }'
        )
    )

    assert isinstance(call(runner), Reply)

    assert int(np.frombuffer(runner.segment, np.int64)[HALF // 8]) == 0


@pytest.mark.parametrize("act", ["fork()", "pthread_create(&t, 0, run, 0) == 0 ? 1 : -1"])
def test_a_runner_starts_nothing_else(start: Open, act: str) -> None:
    """Neither processes nor threads: the limit is one."""
    runner = started(
        start(
            f"{HEAD}#include <pthread.h>\npthread_t t; void* run(void* x) {{ return x; }}\n"
            f"void assay_call(void** x) {{ (void)run; long made = {act};\n"
            "if (made == 0) _exit(0); *(long*)x[1] = made; }"
        )
    )

    assert isinstance(call(runner), Reply)

    assert int(np.frombuffer(runner.segment, np.int64)[HALF // 8]) == -1


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="there is but one core")
@pytest.mark.parametrize("forks", [0, 1])
def test_a_runner_stays_on_its_core(start: Open, forks: int) -> None:
    """It is told that it may go elsewhere, and does not: neither it nor what it starts, where it may start anything."""
    runner = started(
        start(
            f"{HEAD}#include <sched.h>\n#include <sys/wait.h>\nvoid assay_call(void** x) {{\n"
            "cpu_set_t* told = x[1]; cpu_set_t all; memset(&all, 255, sizeof all);\n"
            f"pid_t child = {forks} ? fork() : -1;\n"
            "if (child > 0) { waitpid(child, 0, 0); return; }\n"
            "told[1].__bits[0] = sched_setaffinity(0, sizeof all, &all);\n"
            "sched_getaffinity(0, sizeof *told, told);\n"
            "if (child == 0) _exit(0); }",
            processes=1 + forks,
        )
    )

    assert isinstance(call(runner), Reply)

    told = bytes(runner.segment[HALF : HALF + 256])
    cores = {bit for bit in range(1024) if told[bit // 8] >> bit % 8 & 1}
    assert cores == {max(os.sched_getaffinity(runner.pid))} == os.sched_getaffinity(runner.pid)
    assert not any(told[128:136])


def test_work_of_children_is_charged(start: Open) -> None:
    """Where more than one process is allowed, what others compute after the answer is seen."""
    runner = started(
        start(
            f"{HEAD}void assay_call(void** x) {{ (void)x; signal(SIGCHLD, SIG_IGN);\n"
            "if (fork() == 0) { for (volatile long i = 0; i < 20000000; i++) {} _exit(0); } usleep(30000); }",
            processes=4,
        )
    )

    reply = call(runner)

    assert isinstance(reply, Reply), reply
    assert reply.after_cpu_s is not None
    assert reply.after_cpu_s > 5e-3


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


def test_a_processor_takes_no_cubins(device: CpuDevice) -> None:
    """That would be our own mistake."""
    with pytest.raises(InfraFault, match="cubin"):
        device.open(Artifact(Form.CUBIN, b""), BYTES, RunnerLimits())


def test_the_judge_gets_its_cores_back(pool: JailPool) -> None:
    """It moves to a core of its own only while the device is open."""
    before = os.sched_getaffinity(0)
    with pool.slot() as slot:
        device = CpuDevice(slot)
        during = os.sched_getaffinity(0)
        device.close()

    assert len(during) == 1
    assert os.sched_getaffinity(0) == before


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

    deadline = time.monotonic() + 20
    while any(os.path.exists(f"/proc/{one}") for one in below):
        assert time.monotonic() < deadline, "something outlived its worker"
        time.sleep(0.02)


RESISTING = "import os, signal\nprint('up', flush=True)\nwhile True: os.kill(os.getpid(), signal.SIGCONT)"


def test_signals_stop_a_process_or_tell_that_they_did_not() -> None:
    """Also one that sends itself on: when `freeze` returns it has stopped."""
    process = subprocess.Popen([sys.executable, "-c", RESISTING], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        freezer = SignalFreezer(process.pid)
        for _ in range(20):
            try:
                freezer.freeze()
            except NotStopped:
                continue
            assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
            freezer.thaw()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_patience_ends(start: Open) -> None:
    """With what goes on, and at once with what has ended meanwhile."""
    freezer = started(start(DOUBLE)).freezer
    assert freezer is not None

    assert not stop(Starved(freezer, 1), lambda: True)
    with pytest.raises(NotStopped, match="did not stop"):
        stop(Starved(freezer, 10_000), lambda: False)


def test_signals_tell_of_a_process_that_is_gone() -> None:
    """There is nothing to stop, and nothing to thaw."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    freezer = SignalFreezer(process.pid)

    with pytest.raises(NotStopped):
        freezer.freeze()
    freezer.thaw()
