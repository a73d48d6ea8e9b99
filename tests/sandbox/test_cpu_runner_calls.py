"""Runners of native kernels on the processor: what their calls do and tell."""

import os

import numpy as np
import pytest
from kernel_compiling import Bench
from native_runners import BYTES, DOUBLE, HALF, HEAD, Open, call, started
from starved import Starved

from assay.errors import InfraFault
from assay.sandboxes.devices.conformance import Kit, examine
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
from assay.sandboxes.devices.toll import Share, Toll
from assay.sandboxes.jails import JailPool

pytestmark = pytest.mark.jail
COUNTING = HEAD + (
    "#include <sys/socket.h>\nvoid assay_call(void** x) { long* count = x[1]; char said;\n"
    'for (;;) { write(3, "d", 1); while (recv(3, &said, 1, MSG_DONTWAIT) != 1) ++*count; } }'
)


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


@pytest.mark.parametrize(("gives_up", "is_answered"), [(2, True), (10_000, False)])
def test_a_starved_machine_accuses_nobody_of_not_stopping(start: Open, gives_up: int, is_answered: bool) -> None:
    """A process that is not stopped at once is given time; one that never is took too long, and broke no rule."""
    runner = started(start(DOUBLE))
    assert runner.freezer is not None
    runner.freezer = Starved(runner.freezer, gives_up)

    reply = call(runner)

    assert isinstance(reply, Reply) is is_answered, reply
    assert is_answered or (isinstance(reply, Failure) and reply.kind is FailureKind.DEADLINE)


def test_nothing_happens_between_calls(start: Open, device: CpuDevice) -> None:
    """What goes on after its answer stands still while it is frozen."""
    runner = started(start(COUNTING))
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


def test_the_time_of_an_empty_call_is_taken_off_and_no_more() -> None:
    """By the least of all runners of ours, so a slow one makes nothing look fast; something is always left."""
    toll = Share(Toll(), Form.SHARED_OBJECT, is_ours=True)
    toll.learn([Reply(50e-6, 20e-6)] * 11, is_cold=True)
    toll.learn([Reply(1.0, 1.0)] * 11, is_cold=True)

    assert toll.take_off(Reply(1050e-6, 1020e-6), is_cold=True) == Reply(
        pytest.approx(1e-3), pytest.approx(1e-3), empty_s=50e-6
    )
    assert toll.take_off(Reply(40e-6, 0.0), is_cold=True) == Reply(
        pytest.approx(2.5e-6), pytest.approx(1e-6), empty_s=50e-6
    )
    assert toll.take_off(Reply(1e-3), is_cold=False) == Reply(1e-3, empty_s=0.0)


@pytest.mark.parametrize("said_s", [0.0, 5e-6, 1.0])
def test_a_candidate_changes_what_is_taken_off_for_nobody_else(said_s: float) -> None:
    """It could answer empty calls ahead of time, and both kernels would look slow and alike."""
    toll = Toll()
    ours, candidate = (Share(toll, Form.SHARED_OBJECT, is_ours=is_ours) for is_ours in (True, False))
    candidate.learn([Reply(said_s, said_s)] * 11, is_cold=True)
    assert candidate.take_off(Reply(1e-3, 1e-3), is_cold=True).empty_s == 0.0
    assert not candidate.is_known
    ours.learn([Reply(50e-6, 20e-6)] * 11, is_cold=True)

    assert candidate.is_known
    assert [one.take_off(Reply(1e-3, 1e-3), is_cold=True).empty_s for one in (ours, candidate)] == [50e-6, 50e-6]


@pytest.mark.parametrize(("said_s", "taken_s"), [(5e-6, 5e-6), (1.0, 50e-6)])
def test_a_candidate_of_another_form_has_no_more_taken_off(said_s: float, taken_s: float) -> None:
    """A module's loop takes longer than that of native code; who says that it takes less has less taken off."""
    toll = Toll()
    ours, candidate = Share(toll, Form.MODULE, is_ours=True), Share(toll, Form.SHARED_OBJECT, is_ours=False)
    ours.learn([Reply(50e-6, 50e-6)] * 11, is_cold=True)
    assert not candidate.is_known
    candidate.learn([Reply(said_s, said_s)] * 11, is_cold=True)

    assert [one.take_off(Reply(1e-3, 1e-3), is_cold=True).empty_s for one in (ours, candidate)] == [50e-6, taken_s]


PEEKING = HEAD + (
    "#include <sys/socket.h>\nstatic int set;\n"
    '__attribute__((visibility("hidden"))) ssize_t read(int fd, void* to, size_t n) { (void)n; int from = 0;\n'
    "if (!set) setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof from);\n"
    "set = 1; return recv(fd, to, 1, MSG_PEEK); }\n"
    "void assay_call(void** x) { (void)x; }"
)


@pytest.mark.parametrize("is_ours", [True, False])
def test_who_leaves_unread_what_it_is_told_broke_the_protocol(start: Open, is_ours: bool) -> None:
    """The channel would fill up, call by call, until the judge waits for room in it for ever."""
    runner = start(PEEKING, is_ours=is_ours)
    failed = runner if isinstance(runner, Failure) else call(runner) and call(runner)

    assert failed == Failure(FailureKind.PROTOCOL, "it left unread what it was told")


def test_the_wall_is_never_below_the_processor_time(start: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who answers early computes while the judge wakes up: that is on one of the two clocks at least."""
    runner = started(start(DOUBLE))
    monkeypatch.setattr(runner, "_exchange", lambda _: Reply(wall_s=2e-4, cpu_s=9e-4))

    reply = call(runner)

    assert isinstance(reply, Reply)
    assert reply.cpu_s is not None
    assert reply.wall_s == reply.cpu_s > 2e-4


def test_what_a_kernel_prints_stops_nothing(start: Open) -> None:
    """Megabytes on its standard streams go nowhere."""
    runner = started(
        start(
            HEAD + "static char big[1 << 20]; void assay_call(void** x) { (void)x;"
            " for (int i = 0; i < 40; i++) write(1 + i % 2, big, sizeof big); }"
        )
    )

    assert isinstance(call(runner), Reply)


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
