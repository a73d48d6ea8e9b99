"""CUDA devices over a fake of cupy: the contract of devices, whose fault errors are, and what a call does."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from cuda_calls import ARGUMENTS, BYTES, GRID, Make, call, calls_of, opened
from fake_cubins import COPY_SIZES, copying, cubin

from assay.errors import InfraFault
from assay.sandboxes.devices.conformance import Kit, examine
from assay.sandboxes.devices.cuda import CudaDevice
from assay.sandboxes.devices.cuda_runner import CudaRunner
from assay.sandboxes.devices.interface import (
    Artifact,
    Call,
    Failure,
    FailureKind,
    Form,
    Grid,
    Launch,
    Reply,
    RunnerLimits,
)


def test_cuda_keeps_the_contract_of_devices(device: CudaDevice) -> None:
    """As the processor and the scripted device do: calls, separation, deadlines, deaths, and what cannot be loaded."""
    kit = Kit(
        copying(),
        copying("endless"),
        copying("die"),
        Artifact(Form.CUBIN, b"nothing"),
        grid=Grid((1, 1, 1), (64, 1, 1)),
    )

    assert examine(device, kit) == ()


@pytest.mark.parametrize(
    ("artifact", "grid", "entry", "kind", "words"),
    [
        (copying("wild"), GRID, "copy", FailureKind.DEVICE, "illegal address (700)"),
        (copying("trap"), GRID, "copy", FailureKind.DEVICE, "launch failed (719)"),
        (copying("segfault"), GRID, "copy", FailureKind.DIED, "signal 6"),
        (copying(), Grid((1, 1, 1), (2048, 1, 1)), "copy", FailureKind.DEVICE, "invalid value (1)"),
        (copying(), Grid((0, 1, 1), (1, 1, 1)), "copy", FailureKind.DEVICE, "invalid value (1)"),
        (copying(), Grid((1, 1, 1), (1, 1, 1), 300_000), "copy", FailureKind.DEVICE, "at launch set-up"),
        (copying(), Grid((3, 1, 1), (1, 1, 1), cluster=(2, 1, 1)), "copy", FailureKind.DEVICE, "cluster size (912)"),
        (copying(), GRID, "other", FailureKind.DEVICE, "not found (500)"),
    ],
)
def test_a_kernel_that_fails_is_told(
    device: CudaDevice, artifact: Artifact, grid: Grid, entry: str, kind: FailureKind, words: str
) -> None:
    """By the driver's own word for it; its process is gone, and the next runner is as any other."""
    runner = opened(device, artifact)

    failed = call(runner, grid, entry)

    assert isinstance(failed, Failure), failed
    assert failed.kind is kind
    assert words in failed.detail
    assert is_gone(runner.pid)
    assert isinstance(call(opened(device, copying())), Reply)


def test_a_kernel_that_does_not_end_is_ended(device: CudaDevice) -> None:
    """At its deadline, with its process and its context; the next runner is as any other."""
    runner = opened(device, copying("endless"))

    failed = call(runner, deadline_s=0.3)

    assert failed == Failure(FailureKind.DEADLINE, "0.3 s")
    assert is_gone(runner.pid)
    assert isinstance(call(opened(device, copying())), Reply)


def is_gone(pid: int) -> bool:
    """Whether a process has ended."""
    return not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    ("artifact", "words"),
    [
        (Artifact(Form.CUBIN, b"\x7fELF"), "invalid image (200)"),
        (copying(arch="sm_80"), "the task's `arch` must be this device's"),
    ],
)
def test_what_cannot_be_loaded_is_the_kernels_failure(device: CudaDevice, artifact: Artifact, words: str) -> None:
    """Garbage, and a cubin for another architecture; the words say which."""
    failed = device.open(artifact, BYTES, RunnerLimits())

    assert isinstance(failed, Failure)
    assert failed.kind is FailureKind.DIED
    assert words in failed.detail


def test_errors_of_the_machine_blame_no_kernel(device: CudaDevice, make: Make) -> None:
    """Uncorrectable memory errors, a device that is taken, too little memory for the segment: ours."""
    with pytest.raises(InfraFault, match="ECC"):
        call(opened(device, copying("ecc")))
    with pytest.raises(InfraFault, match="compute mode DEFAULT"):
        make(FAKE_CUDA_UNAVAILABLE="1").open(copying(), BYTES, RunnerLimits())
    with pytest.raises(InfraFault, match=r"allocate: out of memory \(2\)"):
        make(FAKE_CUDA_BYTES=str(2**20)).open(copying(), BYTES, RunnerLimits())


def test_without_cupy_the_judge_says_how_to_get_it(make: Make) -> None:
    """The extra's name is in the message."""
    if importlib.util.find_spec("cupy_backends") is not None:
        pytest.skip("cupy is installed")
    with pytest.raises(InfraFault, match=r"pip install '\.\[cuda\]'"):
        make(PYTHONPATH="").open(copying(), BYTES, RunnerLimits())


def test_a_cubin_is_all_that_it_runs(device: CudaDevice) -> None:
    """Anything else would be our own mistake."""
    with pytest.raises(InfraFault, match="shared_object"):
        device.open(Artifact(Form.SHARED_OBJECT, b""), BYTES, RunnerLimits())


def test_a_frame_outside_its_segment_is_not_staged(device: CudaDevice) -> None:
    """Neither behind its end nor before its start."""
    runner = opened(device, copying())

    for offset in (BYTES - 100, -1):
        with pytest.raises(InfraFault, match="not within its segment"):
            runner.stage(Call(offset, 8192, (Launch("copy", ARGUMENTS, GRID),), 1.0))


@pytest.mark.parametrize(("is_cold", "fills"), [(True, 2), (False, 0)])
def test_a_cold_call_flushes_before_its_first_event(make: Make, tmp_path: Path, is_cold: bool, fills: int) -> None:
    """Twice the cache is filled between the first stamp and the start; persisting lines are reset while staging."""
    log = tmp_path / "log"
    on = make(FAKE_CUDA_LOG=str(log))
    runner = opened(on, copying())
    assert runner.stage(Call(0, 8192, (Launch("copy", ARGUMENTS, GRID),), 10.0, is_cold)) is None
    log.write_text(log.read_text() + '["go"]\n')

    assert isinstance(runner.run(), Reply)

    on.close()
    names = calls_of(log)
    before, after = names[: names.index(["go"])], names[names.index(["go"]) + 1 :]
    assert ["deviceSetLimit", 6, 0] in before
    assert ["cuCtxResetPersistingL2Cache"] in before
    assert [one[0] for one in after] == [
        "eventRecord", *["memsetAsync"] * fills, "eventRecord", "launchKernel", "eventRecord", "deviceSynchronize",
        "eventElapsedTime", "eventElapsedTime",
    ]  # fmt: skip
    assert [one[1] for one in after if one[0] == "memsetAsync"] == [2 * 2**20] * fills


def test_the_clocks_tell_the_kernel_and_not_the_flush(device: CudaDevice) -> None:
    """Events tell the kernel's own time; the wall tells at least that, without what held it back."""
    runner = opened(device, cubin("copy", "copy", COPY_SIZES, 0.02))

    reply = call(runner)

    assert isinstance(reply, Reply)
    assert reply.device_s == pytest.approx(0.02, rel=0.01)
    assert reply.wall_s >= 0.02


def test_nothing_is_left_on_the_device_from_call_to_call(device: CudaDevice) -> None:
    """A kernel that writes into every page it can reach finds none of it the next time, from warm caches too."""
    runner = opened(device, copying("all_of_it"))

    for is_cold in (True, False, True):
        assert runner.stage(Call(0, 8192, (Launch("copy", ARGUMENTS, GRID),), 10.0, is_cold)) is None
        assert isinstance(runner.run(), Reply)
        assert runner.collect() is None
        assert int.from_bytes(runner.segment[4096:4104], "little") == 0


@pytest.mark.parametrize(
    ("grid", "name"),
    [
        (GRID, "launchKernel"),
        (Grid((2, 1, 1), (64, 1, 1), is_cooperative=True), "launchCooperativeKernel"),
        (Grid((4, 1, 1), (64, 1, 1), cluster=(2, 1, 1)), "cuLaunchKernelEx"),
        (Grid((4, 1, 1), (64, 1, 1), cluster=(2, 1, 1), is_cooperative=True), "cuLaunchKernelEx"),
    ],
)
def test_every_kind_of_launch_copies(make: Make, tmp_path: Path, grid: Grid, name: str) -> None:
    """Plain, cooperative, in clusters, and both."""
    on = make(FAKE_CUDA_LOG=str(tmp_path / "log"))
    runner = opened(on, copying())
    runner.segment[:64] = bytes(range(64))

    assert isinstance(call(runner, grid), Reply)

    assert runner.collect() is None
    assert bytes(runner.segment[4096:4160]) == bytes(range(64))
    assert name in [one[0] for one in calls_of(tmp_path / "log")]
    on.close()


def test_the_worker_never_imports_cupy() -> None:
    """Neither it nor the judge, whatever they load: only a runner's own process does."""
    loads = (
        "import sys, assay.service.worker, assay.verifiers.builtin, assay.verifiers.kernels.judge_program,"
        "assay.sandboxes.devices.cuda, assay.sandboxes.devices.nvml; assay.verifiers.builtin.default_registry();"
        "print([name for name in sys.modules if name.startswith('cupy') or name.endswith('cuda_driver')])"
    )

    done = subprocess.run([sys.executable, "-c", loads], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_contexts_of_a_group_are_made_side_by_side_and_before_it_is_timed(make: Make, tmp_path: Path) -> None:
    """The first of a group starts three processes; the others take them over, whatever they hold; none comes later."""
    log = tmp_path / "log"
    on = make(FAKE_CUDA_LOG=str(log))

    def contexts() -> int:
        return sum(one[0] == "setDevice" for one in calls_of(log))

    trio = [on.open(copying(), BYTES, RunnerLimits())]
    assert contexts() == 3
    trio += [on.open(copying(), BYTES, RunnerLimits()) for _ in range(2)]
    assert contexts() == 3
    for runner in trio:
        assert isinstance(runner, CudaRunner)
        assert isinstance(call(runner), Reply)
        runner.close()
    opened(on, copying(), 2 * BYTES)
    assert contexts() == 6
