"""Native kernels on CUDA over the fake of cupy, whose "device code" is C that runs on the shared memory."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cuda_calls import ARGUMENTS, BYTES
from fake_cubins import copying, fake_device
from scripted_kernels import SECRET, refused
from starved import Starved
from test_cuda_sessions import axpy_task

from assay.errors import InfraFault
from assay.sandboxes import syscalls
from assay.sandboxes.devices.conformance import Kit, examine
from assay.sandboxes.devices.cuda import CudaDevice
from assay.sandboxes.devices.cuda_native import NativeRunner
from assay.sandboxes.devices.interface import (
    Artifact,
    Call,
    Clock,
    Failure,
    FailureKind,
    Form,
    Launch,
    Reply,
    RunnerLimits,
)
from assay.verifiers.kernels.findings import Reason
from assay.verifiers.kernels.measure import check_reference, measure
from assay.verifiers.kernels.modules import pack_module
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.session import Session, Trial
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.time_shares import TimeShares

HEAD = """#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>
#define COUNT (*(long *)x[2])
void assay_call(void **x, void *stream);
"""
CALL = "void assay_call(void **x, void *stream) { (void)stream; "
Build = Callable[[str], Artifact]


@pytest.fixture
def device() -> Iterator[CudaDevice]:
    """A fake device for native kernels."""
    made = fake_device(is_native=True)
    yield made
    made.close()


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Compile C: `build(body)`."""

    def build_one(source: str) -> Artifact:
        (tmp_path / "kernel.c").write_text(HEAD + source)
        line = ["gcc", "-shared", "-fPIC", "-pthread", "kernel.c", "-o", "kernel.so"]
        subprocess.run(line, cwd=tmp_path, check=True)
        return Artifact(Form.SHARED_OBJECT, (tmp_path / "kernel.so").read_bytes())

    return build_one


def opened(device: CudaDevice, artifact: Artifact) -> NativeRunner:
    """A runner, which did start."""
    runner = device.open(artifact, BYTES, RunnerLimits())
    assert isinstance(runner, NativeRunner), runner
    return runner


def call(runner: NativeRunner, *, deadline_s: float = 10.0) -> Reply | Failure:
    """One call over the first 8 kB, all of which it brings back."""
    failure = runner.stage(Call(0, 8192, (Launch("entry", ARGUMENTS),), deadline_s)) or None
    reply = failure or runner.run()
    return reply if isinstance(reply, Failure) else runner.collect() or reply


def test_native_kernels_keep_the_contract_of_devices(device: CudaDevice, build: Build) -> None:
    """Calls, separation, deadlines, deaths, and what cannot be loaded."""
    bodies = ("memcpy(x[1], x[0], COUNT); }", "for (volatile long i = 0; x; i++) {} }", "(void)x; _exit(3); }")

    kit = Kit(*(build(CALL + body) for body in bodies), Artifact(Form.SHARED_OBJECT, b"nothing"))

    assert examine(device, kit) == ()
    assert device.facts.clocks == (Clock.WALL,)


def test_37_what_is_not_done_at_the_answer_is_not_there(device: CudaDevice, build: Build) -> None:
    """Work that another thread does later is missing in the frame that was kept, and is not done between calls."""
    late = "static void **kept; static void *later(void *n) { usleep(5000); memset(kept[1], 7, 64); return n; }\n"
    runner = opened(device, build(f"{late}{CALL} static pthread_t t; kept = x; pthread_create(&t, 0, later, 0); }}"))

    assert isinstance(call(runner), Reply)
    device.pause(0.05)
    assert runner.collect() is None

    assert not any(runner.segment[4096:4160])


def test_an_answer_of_its_own_comes_too_early(device: CudaDevice, build: Build) -> None:
    """Whoever answers before the work is done has a frame kept that lacks it."""
    answers = 'for (int fd = 3; fd < 256; fd++) if (write(fd, "d", 1)) {}'
    runner = opened(device, build(f"{CALL} {answers} usleep(2000); memset(x[1], 7, 64); }}"))

    assert isinstance(call(runner), Reply)

    assert not any(runner.segment[4096:4160])


def test_whoever_speaks_without_being_asked_is_found(device: CudaDevice, build: Build) -> None:
    """Two answers to one call."""
    answers = 'for (int fd = 3; fd < 256; fd++) if (write(fd, "dd", 2)) {}'
    runner = opened(device, build(f"{CALL} (void)x; {answers} }}"))

    failed = call(runner)

    assert isinstance(failed, Failure)
    assert failed.kind is FailureKind.PROTOCOL


@pytest.mark.skipif(not syscalls.landlock_version(), reason="no Landlock")
def test_who_leaves_unread_what_it_is_told_broke_the_protocol(device: CudaDevice, build: Build) -> None:
    """The channel would fill up, call by call, until the judge waits for room in it for ever."""
    answers = "int from = 0; char told; for (int fd = 3; fd < 256; fd++) { "
    answers += "if (setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof from)) continue; "
    answers += 'do send(fd, "d", 1, 0); while (recv(fd, &told, 1, MSG_PEEK) == 1); }'
    runner = opened(device, build(f"{CALL} (void)x; {answers} }}"))

    replies = [call(runner), call(runner), call(runner)]

    assert all(isinstance(reply, Reply) for reply in replies[:2]), replies
    assert replies[2] == Failure(FailureKind.PROTOCOL, "it left unread what it was told")


def test_a_native_kernel_reaches_nothing_but_the_device(device: CudaDevice, build: Build, tmp_path: Path) -> None:
    """No file to write, no socket, no other process to start or to trace, nobody's user; threads it has."""
    tmp_path.chmod(0o777)
    tries = [
        f'open("{tmp_path}/new", O_CREAT | O_WRONLY, 0666) >= 0',
        "fork() >= 0",
        'execl("/bin/true", "true", (char *)0) >= 0',
        "socket(AF_UNIX, SOCK_STREAM, 0) >= 0",
        "socket(AF_INET, SOCK_DGRAM, 0) >= 0",
        f"ptrace(PTRACE_ATTACH, {os.getpid()}, 0, 0) >= 0",
        f'open("/proc/{os.getpid()}/mem", O_RDONLY) >= 0',
        f"{int(os.geteuid() == 0)} && getuid() == 0",
        f"{int(syscalls.landlock_version() >= 6)} && kill({os.getpid()}, 0) == 0",
    ]
    runner = opened(
        device,
        build(
            f"static void *run(void *n) {{ return n; }}\n{CALL} char *out = x[1]; pthread_t t;\n"
            + "".join(f"out[{index}] = {one};\n" for index, one in enumerate(tries))
            + "out[60] = pthread_create(&t, 0, run, 0) == 0; }"
        ),
    )

    assert isinstance(call(runner), Reply)

    assert [bool(runner.segment[4096 + index]) for index in range(len(tries))] == [False] * len(tries)
    assert runner.segment[4096 + 60] == 1


def test_a_starved_machine_accuses_nobody_of_not_stopping(device: CudaDevice, build: Build) -> None:
    """A process that is not stopped at once is given time."""
    runner = opened(device, build(f"{CALL} memcpy(x[1], x[0], COUNT); }}"))
    assert runner.freezer is not None
    runner.freezer = Starved(runner.freezer, 2)

    assert isinstance(call(runner), Reply)


def test_a_native_kernel_that_ends_as_it_is_stopped_says_how(device: CudaDevice, build: Build) -> None:
    """Its answer was no end of it."""
    runner = opened(device, build(f"{CALL} (void)x; }}"))
    assert runner.freezer is not None
    runner.freezer = Starved(runner.freezer, 1, lambda: os.kill(runner.pid, signal.SIGKILL))

    failed = call(runner)

    assert failed == Failure(FailureKind.DIED, "signal 9")


def test_faults_that_a_native_kernel_tells_are_its_own(device: CudaDevice, build: Build) -> None:
    """It may say that the machine failed: nobody believes it."""
    says = 'for (int fd = 3; fd < 256; fd++) if (write(fd, "f", 1)) {}'
    runner = opened(device, build(f"{CALL} (void)x; {says} for (;;) pause(); }}"))

    failed = call(runner)

    assert isinstance(failed, Failure)
    assert failed.kind is FailureKind.DEVICE


def test_a_device_takes_the_kernels_that_it_was_opened_for(device: CudaDevice) -> None:
    """Host code is run where it was asked for only; cubins, as the probe's, everywhere."""
    plain = fake_device()

    with pytest.raises(InfraFault, match="device-only kernels, not for a module"):
        plain.open(Artifact(Form.MODULE, b""), BYTES, RunnerLimits())
    plain.close()
    assert not isinstance(device.open(copying(), BYTES, RunnerLimits()), Failure)


MODULE = """import torch
def get_init_inputs():
    return [1.0]
class ModelNew(torch.nn.Module):
    def __init__(self, one):
        self.one = one
    def forward(self, alpha, x, y):
        assert self.placed == "cuda"
        return alpha * x + y
"""
SLOW_TO_END = "import atexit, time, torch\natexit.register(time.sleep, 2)"
"""As libraries of devices are, and every process on a busy machine."""


def module(source: str, task: KernelTask) -> Kernel:
    """A module for a task, as it is handed to its runner."""
    return Kernel(Artifact(Form.MODULE, pack_module(task.abi, source)))


def test_a_module_computes_on_the_device(device: CudaDevice) -> None:
    """KernelBench's form: made with its own inputs, moved to the device, and its result copied into the output."""
    task = axpy_task()
    kernel = module(MODULE, task)

    with ExitStack() as stack:
        session = Session(
            Trial(task, "attempt", SECRET, kernel, kernel), device, TimeShares(60.0, device.now_s()), stack
        )
        check_reference(session)

    assert len(session.reference_diffs) == len(task.shapes) * (len(task.checks) + 1)


@pytest.mark.parametrize(
    ("source", "reason", "words"),
    [
        (MODULE.replace("alpha * x + y", "alpha * x + x"), Reason.WRONG, "correctness 0"),
        (MODULE.replace("alpha * x + y", "x[0]"), Reason.DIED, "status 1"),
        (MODULE.replace("alpha * x + y", "x[0]").replace("import torch", SLOW_TO_END), Reason.DIED, "status 1"),
        (MODULE.replace("ModelNew", "Other"), Reason.DIED, "could not be loaded"),
        ("import torch.nonsense", Reason.DIED, "could not be loaded"),
    ],
)
def test_what_a_module_does_wrong_is_its_own(
    device: CudaDevice, build: Build, source: str, reason: Reason, words: str
) -> None:
    """A wrong result, one of another shape, no model, and what cannot be run."""
    task = axpy_task(policy={"call_deadline_s": 30})  # the end of a process counts as the call's time
    host = Kernel(build(f"{AXPY}{CALL} work(x); }}"))

    found = measure(Trial(task, "attempt", SECRET, host, module(source, task)), device)

    assert words in refused(found, reason, task=task)


AXPY = """static void work(void **x) {
    float *a = x[1], *b = x[2], *out = x[3];
    for (long i = 0; i < *(long *)x[4]; i++) out[i] = *(float *)x[0] * a[i] + b[i];
}
"""
LATE = "static void **kept; static void *later(void *n) { usleep(3000); work(kept); return n; }\n"


def test_37_a_session_refuses_work_that_nobody_waits_for(device: CudaDevice, build: Build) -> None:
    """At the first call: the output is incomplete; the same work in time is right."""
    task = axpy_task()
    honest = Kernel(build(f"{AXPY}{CALL} work(x); }}"))
    late = Kernel(
        build(f"{AXPY}{LATE}{CALL} static pthread_t t; kept = x; pthread_create(&t, 0, later, 0); usleep(100); }}")
    )

    found = measure(Trial(task, "attempt", SECRET, honest, late), device)

    assert "correctness 0" in refused(found, Reason.UNWRITTEN, task=task)


def test_14_a_session_sees_what_is_written_far_from_all_buffers(device: CudaDevice, build: Build) -> None:
    """The whole segment comes back from the device with the calls that are checked in full."""
    task = axpy_task()
    far = "char *at = (char *)x[3] - 150000; if (msync((void *)((long)at & ~4095l), 1, MS_ASYNC) == 0) *at ^= 1;"
    honest = Kernel(build(f"{AXPY}{CALL} work(x); }}"))
    stray = Kernel(build(f"#include <sys/mman.h>\n{AXPY}{CALL} work(x); {far} }}"))

    found = measure(Trial(task, "attempt", SECRET, honest, stray), device)

    assert "canary beyond all buffers" in refused(found, Reason.CANARY, task=task)
