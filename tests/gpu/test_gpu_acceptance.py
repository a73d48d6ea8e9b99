"""Acceptance tests 36 to 41 of the kernel lane, which need a GPU; and the contract of devices on a real one."""

from contextlib import ExitStack
from dataclasses import replace

import gpu_kernels as sources
import pytest
from gpu_compiling import Bench

from assay.errors import InfraFault
from assay.sandboxes.devices.conformance import Kit, examine
from assay.sandboxes.devices.cuda import CudaDevice
from assay.sandboxes.devices.interface import (
    Artifact,
    Call,
    Failure,
    FailureKind,
    Form,
    Grid,
    Launch,
    Pointer,
    Reply,
    Runner,
    RunnerLimits,
    Scalar,
)
from assay.sandboxes.devices.nvml import Nvml
from assay.sandboxes.devices.telemetry import ClockRule
from assay.settings import driver_paths
from assay.verifiers.kernels.abi import cuda_trampoline
from assay.verifiers.kernels.findings import Finding, Measured, Phase, Reason, Refused
from assay.verifiers.kernels.measure import check_reference, measure
from assay.verifiers.kernels.mentions import find_mentions
from assay.verifiers.kernels.modules import pack_module
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.ready import NAMES
from assay.verifiers.kernels.rewards import pay
from assay.verifiers.kernels.session import Session, Trial
from assay.verifiers.kernels.speed import Speed
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.time_shares import TimeShares

SECRET = b"a secret of the tests on a GPU"
GRID = Grid((1, 1, 1), (64, 1, 1))
TIMING = {"warm_up_s": 0.05, "time_s": 0.5, "first_look_s": 0.25}
LARGE = {"axes": {"n": 2**22}}
BYTES = 2**20


def ready_task(name: str, **fields: object) -> KernelTask:
    """The ready task of that name on CUDA, timed for a short while."""
    document = {"id": "k", "verifier": "kernel", "kernel": name, "backend": "cuda", "timing": TIMING, **fields}
    return KernelTask.model_validate(document)


def sum_task() -> KernelTask:
    """y + alpha x at a size of 16 MB a buffer."""
    return ready_task("axpy/float32", public_shapes=[LARGE], hidden_shapes=[{"axes": {"n": 4099}, "weight": 0}])


def judged(device: CudaDevice, task: KernelTask, reference: Artifact, candidate: Artifact) -> Finding:
    """What the candidate comes to; native kernels have no launches."""
    plan = task.reference_launches if reference.form is Form.CUBIN else None
    return measure(Trial(task, "attempt", SECRET, Kernel(reference, plan), Kernel(candidate, plan)), device)


def speed_of(found: Finding) -> Speed:
    """What the one timed shape's rounds say."""
    assert isinstance(found, Measured), found
    assert found.shapes[0].speed is not None
    return found.shapes[0].speed


def opened(device: CudaDevice, artifact: Artifact) -> Runner:
    """A runner, which did start."""
    runner = device.open(artifact, BYTES, RunnerLimits())
    assert not isinstance(runner, Failure), runner
    return runner


def call(runner: Runner, *, deadline_s: float = 10.0) -> Reply | Failure:
    """One call of `copy` over the first 8 kB."""
    arguments = (Pointer(0), Pointer(4096), Scalar((64).to_bytes(8, "little")))
    failure = runner.stage(Call(0, 8192, (Launch("copy", arguments, GRID),), deadline_s))
    return failure or runner.run()


def assert_right(device: CudaDevice, task: KernelTask, kernel: Kernel) -> None:
    """Check a reference at every size with every kind of values."""
    with ExitStack() as stack:
        shares = TimeShares(task.limits.attempt_wall_s, device.now_s())
        session = Session(Trial(task, "t", SECRET, kernel, kernel), device, shares, stack)
        check_reference(session)

    assert len(session.reference_diffs) == len(task.shapes) * (len(task.checks) + 1)


def test_the_device_keeps_the_contract(bench: Bench, device: CudaDevice) -> None:
    """As the fake, the processor and the scripted device do."""
    kit = Kit(
        bench.cubin(sources.COPY), bench.cubin(sources.ENDLESS), None, Artifact(Form.CUBIN, b"nothing"), grid=GRID
    )

    assert examine(device, kit) == ()


@pytest.mark.parametrize("name", NAMES)
def test_36_references_are_right_on_the_device(bench: Bench, device: CudaDevice, name: str) -> None:
    """At every size with every kind of values."""
    task = ready_task(name)

    assert_right(device, task, bench.reference(task))


@pytest.mark.parametrize("name", ["gemm/float16", "layer_norm/float32", "reduction/int32"])
def test_36_native_references_are_right_on_the_device(bench: Bench, native: CudaDevice, name: str) -> None:
    """With host code of their own, called as every native kernel is."""
    task = ready_task(name, tier="native")
    kernel = Kernel(bench.native(task.reference.source + cuda_trampoline(task.abi, "assay_call")))

    assert_right(native, task, kernel)


@pytest.mark.parametrize("name", ["gemm/float32", "softmax/float16", "axpy/int32"])
def test_36_modules_over_torch_are_right_on_the_device(native: CudaDevice, name: str) -> None:
    """The ready tasks' own, by torch's operations: cuBLAS for a product of matrices."""
    pytest.importorskip("torch", reason="no torch on this machine")
    task = ready_task(name, language="torch")

    assert_right(native, task, Kernel(Artifact(Form.MODULE, pack_module(task.abi, task.reference.source))))


def test_36_events_and_wall_agree(bench: Bench, device: CudaDevice) -> None:
    """Events tell something, the wall tells at least that, and the bytes are right."""
    runner = opened(device, bench.cubin(sources.COPY))
    runner.segment[:64] = bytes(range(64))

    reply = call(runner)

    assert isinstance(reply, Reply), reply
    assert runner.collect() is None
    assert reply.device_s is not None
    assert 0 < reply.device_s <= reply.wall_s
    assert bytes(runner.segment[4096:4160]) == bytes(range(64))


def test_36_the_reference_against_itself_wins_nothing(bench: Bench, device: CudaDevice) -> None:
    """Measured to a few percent, and not significant."""
    cubin = bench.cubin(sources.SUM.replace("%s", sources.PLAIN_READ))

    speed = speed_of(judged(device, sum_task(), cubin, cubin))

    assert not speed.is_significant
    assert speed.speedup == pytest.approx(1.0, abs=0.03)


def test_37_work_on_another_stream_is_rejected(bench: Bench, native: CudaDevice) -> None:
    """A native kernel that answers itself while its stream still works leaves an incomplete output, at its first call.

    Or it has held the copy of its output up, and is refused for the answer that nobody asked for.
    """
    found = judged(native, sum_task(), bench.native(sources.NATIVE), bench.native(sources.ANSWERING))

    assert isinstance(found, Refused), found
    assert found.reason in (Reason.UNWRITTEN, Reason.WRONG, Reason.PROTOCOL), found
    assert (found.where.phase, found.where.index) == (Phase.CORRECTNESS, 0), found
    assert pay(sum_task().reward_rule, found, 0).scored.terms["speed"] == sum_task().minimum


def test_40_work_on_another_stream_is_charged(bench: Bench, native: CudaDevice) -> None:
    """Without an answer of its own its output is incomplete, or the whole device is waited for, so that it is slow.

    Results name the stream. It does a hundred times the work of the reference, and is never paid for less.
    """
    found = judged(native, sum_task(), bench.native(sources.NATIVE), bench.native(sources.OTHER_STREAM))

    assert "stream" in find_mentions(sources.OTHER_STREAM, is_python=False)
    if isinstance(found, Refused):
        assert found.reason in (Reason.UNWRITTEN, Reason.WRONG), found
    else:
        assert speed_of(found).speedup < 0.5
    assert pay(sum_task().reward_rule, found, 0).scored.terms["speed"] < 1.0


def test_38_lines_that_persist_gain_nothing(bench: Bench, device: CudaDevice) -> None:
    """Hints of device code, against the same kernel without them: every call has fresh data and a cold cache."""
    plain, hinted = (
        bench.cubin(sources.SUM.replace("%s", read)) for read in (sources.PLAIN_READ, sources.PERSISTING_READ)
    )

    speed = speed_of(judged(device, sum_task(), plain, hinted))

    assert not speed.is_significant or speed.safe_low <= 1.02


def test_38_a_persisting_window_gains_nothing(bench: Bench, native: CudaDevice) -> None:
    """Set by host code on a reused operand, against the same kernel without it."""
    once = sources.NATIVE.replace("AGAIN 40", "AGAIN 1")

    found = judged(native, sum_task(), bench.native(once), bench.native(sources.PERSISTING_WINDOW))

    assert speed_of(found).safe_low <= 1.02


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (sources.ILLEGAL, FailureKind.DEVICE),
        (sources.TRAP, FailureKind.DEVICE),
        (sources.ENDLESS, FailureKind.DEADLINE),
    ],
)
def test_39_a_poisoned_context_ends_and_the_next_job_passes(
    bench: Bench, device: CudaDevice, source: str, kind: FailureKind
) -> None:
    """The process has ended, and a fresh one computes."""
    failed = call(opened(device, bench.cubin(source)), deadline_s=1.0)

    assert isinstance(failed, Failure)
    assert failed.kind is kind, failed
    after = opened(device, bench.cubin(sources.COPY))
    assert isinstance(call(after), Reply)


def test_41_clocks_that_are_not_locked_are_told_or_refused(telemetry: Nvml) -> None:
    """Denied: labelled `unlocked`, and refused where required. Allowed: locked while it is open."""
    mhz = telemetry.board.most_sm_mhz or 1410
    device = CudaDevice(telemetry, ClockRule(mhz), driver_paths())
    labels = device.settle().labels
    is_locked = telemetry.lock_clocks(mhz)
    device.close()

    assert is_locked or "unlocked" in labels
    if not is_locked:
        with pytest.raises(InfraFault, match="cannot be locked"):
            CudaDevice(Nvml(telemetry.board.uuid), ClockRule(mhz, must_lock=True))


def test_a_cubin_for_another_device_is_the_tasks_fault(bench: Bench, device: CudaDevice) -> None:
    """The words say what to do."""
    other = "sm_80" if bench.arch != "sm_80" else "sm_90"

    failed = device.open(replace(bench, arch=other).cubin(sources.COPY), BYTES, RunnerLimits())

    assert isinstance(failed, Failure)
    assert "arch" in failed.detail
