"""Ready tasks in the jail: their C references are right, their CUDA references compile and pass the gate."""

from contextlib import ExitStack

import pytest
from kernel_compiling import open_bench

from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.jails import JailPool
from assay.verifiers.kernels.answers import Offered
from assay.verifiers.kernels.building import Builder
from assay.verifiers.kernels.measure import check_reference
from assay.verifiers.kernels.ready import NAMES
from assay.verifiers.kernels.session import Session, Trial
from assay.verifiers.kernels.task import KernelTask

pytestmark = pytest.mark.jail


@pytest.fixture(scope="module")
def builder() -> Builder:
    """One compiler for all."""
    return Builder()


def ready_task(name: str, backend: str) -> KernelTask:
    """The ready task of that name."""
    return KernelTask.model_validate({"id": "k", "verifier": "kernel", "kernel": name, "backend": backend})


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_in_c_is_right(pool: JailPool, builder: Builder, name: str) -> None:
    """At every size with every kind of values."""
    open_bench(pool, needs="gcc")
    task = ready_task(name, "cpu")

    with pool.slot() as slot, ExitStack() as stack:
        reference = builder.reference(task, slot)
        device = CpuDevice(slot)
        stack.callback(device.close)
        session = Session(Trial(task, "t", b"a secret of the tests", reference, reference), device, 0.0, stack)
        session.started_s = device.now_s()
        check_reference(session)

    assert len(session.reference_diffs) == len(task.shapes) * (len(task.checks) + 1)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_in_cuda_compiles_and_passes_the_gate(
    pool: JailPool, builder: Builder, name: str, arch: str
) -> None:
    """To a cubin with the one kernel that its plan launches."""
    open_bench(pool, needs="nvcc")
    task = ready_task(name, "cuda").model_copy(update={"arch": arch})

    with pool.slot() as slot:
        built = builder.build(task, Offered(task.reference.source, task.language, task.reference.plan), slot)

    assert built.kernel is not None, built.message
