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
from assay.verifiers.kernels.time_shares import TimeShares

pytestmark = pytest.mark.jail


@pytest.fixture(scope="module")
def builder() -> Builder:
    """One compiler for all."""
    return Builder()


def ready_task(name: str, backend: str, **fields: str) -> KernelTask:
    """The ready task of that name."""
    return KernelTask.model_validate({"id": "k", "verifier": "kernel", "kernel": name, "backend": backend, **fields})


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_in_c_is_right(pool: JailPool, builder: Builder, name: str) -> None:
    """At every size with every kind of values."""
    open_bench(pool, needs="gcc")
    task = ready_task(name, "cpu")

    with pool.slot() as slot, ExitStack() as stack:
        reference = builder.reference(task, slot)
        device = CpuDevice(slot)
        stack.callback(device.close)
        shares = TimeShares(task.limits.attempt_wall_s, device.now_s())
        session = Session(Trial(task, "t", b"a secret of the tests", reference, reference), device, shares, stack)
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


@pytest.mark.parametrize("name", ["gemm/float16", "layer_norm/float32", "reduction/int32"])
def test_the_native_references_in_cuda_compile_and_pass_the_gate(pool: JailPool, builder: Builder, name: str) -> None:
    """To a shared object with the task's entry and ours, and with CUDA's runtime hidden in it."""
    open_bench(pool, needs="nvcc")
    task = ready_task(name, "cuda", tier="native", arch="sm_90")

    with pool.slot() as slot:
        built = builder.build(task, Offered(task.reference.source, task.language), slot)

    assert built.kernel is not None, built.message
    assert built.artifact is not None
    assert built.artifact.form == "shared_object"
    assert {name.partition("/")[0], "assay_call"} <= set(built.artifact.exports)
    assert not any(exported.startswith("cuda") for exported in built.artifact.exports)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("#include <cublas_v2.h>", "cublas_v2.h"),
        ('void axpy() {} asm(".incbin \\"/etc/passwd\\"");', "'passwd', which is no header"),
        ("void other() {}", "undefined reference to `axpy'"),
        ('extern "C" void cublasGemmEx(); extern "C" void axpy() { cublasGemmEx(); }', "cublasGemmEx"),
    ],
)
def test_native_kernels_in_cuda_that_are_none_do_not_compile(
    pool: JailPool, builder: Builder, source: str, words: str
) -> None:
    """Libraries are not there to be linked, other files are not read, and the entry must be there."""
    open_bench(pool, needs="nvcc")
    task = ready_task("axpy/float32", "cuda", tier="native", arch="sm_90")

    with pool.slot() as slot:
        built = builder.build(task, Offered(source, task.language), slot)

    assert built.kernel is None
    assert words in built.message
