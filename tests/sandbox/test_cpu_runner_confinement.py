"""Runners of native kernels on the processor: what they cannot reach, start, take or choose."""

import errno
import os
import sys

import numpy as np
import pytest
from native_runners import HALF, HEAD, Open, call, started

from assay.sandboxes import syscalls
from assay.sandboxes.devices.interface import (
    Reply,
)
from assay.verifiers.kernels import rewards

pytestmark = pytest.mark.jail


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
def test_07_a_runner_starts_nothing_else(start: Open, act: str) -> None:
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


def test_a_runner_arms_no_timers(start: Open) -> None:
    """Those of a frozen runner would go off in the calls of others, and be in their times: not even its constructor."""
    attempts = (
        "timer_create(CLOCK_MONOTONIC, &silent, &timer)", "setitimer(ITIMER_REAL, &soon, 0)",
        "timerfd_create(CLOCK_MONOTONIC, 0)",
    )  # fmt: skip
    tried = " ".join(f"errno = 0; told[at++] = ({attempt}) < 0 ? errno : 0;" for attempt in attempts)
    runner = started(
        start(
            f"{HEAD}#include <errno.h>\n#include <sys/timerfd.h>\n#include <time.h>\n"
            "static int told[8]; __attribute__((constructor)) static void first(void) { int at = 0; timer_t timer;\n"
            "struct sigevent silent = {.sigev_notify = SIGEV_NONE}; struct itimerval soon = {{0, 0}, {9, 0}};\n"
            f"{tried} }}\nvoid assay_call(void** x) {{ memcpy(x[1], told, sizeof told); }}"
        )
    )

    assert isinstance(call(runner), Reply)

    refused = np.frombuffer(runner.segment, np.int32)[HALF // 4 :][: len(attempts)]
    assert refused.tolist() == [errno.EPERM] * len(attempts)


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


def test_07_work_of_children_is_charged(start: Open) -> None:
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
    assert reply.after_cpu_s > 1e-3, "an honest call's is less; how far the child comes hangs on the machine"
