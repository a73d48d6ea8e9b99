"""Ready tasks in the jail: their C references are right, their CUDA references compile and pass the gate."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from kernel_compiling import Bench

from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.jails import JailPool
from assay.verifiers.kernels.answers import Offered
from assay.verifiers.kernels.building import Builder, Built
from assay.verifiers.kernels.compile import Compiler
from assay.verifiers.kernels.measure import check_reference
from assay.verifiers.kernels.ready import NAMES
from assay.verifiers.kernels.session import Session, Trial
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.time_shares import TimeShares

pytestmark = pytest.mark.jail
IN_CUDA = [(name, "sm_90") for name in NAMES] + [(name, "sm_80") for name in NAMES if name.endswith("/float16")]
"""Half precision is what differs between architectures."""


@pytest.fixture(scope="module")
def builder(compiler: Compiler) -> Builder:
    """One for all."""
    return Builder(compiler)


@pytest.fixture(scope="module")
def built_in_cuda(pool: JailPool, builder: Builder, cuda: Bench) -> Mapping[tuple[str, str], Built]:  # noqa: ARG001 - skips
    """Every reference for every architecture that is asked for, compiled in all slots at once."""

    def build(name: str, arch: str) -> Built:
        task = ready_task(name, "cuda", arch=arch)
        with pool.slot() as slot:
            return builder.build(task, Offered(task.reference.source, task.language, task.reference.plan), slot)

    with ThreadPoolExecutor(pool.size) as threads:
        return dict(zip(IN_CUDA, threads.map(build, *zip(*IN_CUDA, strict=True)), strict=True))


def ready_task(name: str, backend: str, **fields: str) -> KernelTask:
    """The ready task of that name."""
    return KernelTask.model_validate({"id": "k", "verifier": "kernel", "kernel": name, "backend": backend, **fields})


@pytest.mark.usefixtures("bench")
@pytest.mark.parametrize("name", NAMES)
def test_the_reference_in_c_is_right(pool: JailPool, builder: Builder, name: str) -> None:
    """At every size with every kind of values."""
    task = ready_task(name, "cpu")

    with pool.slot() as slot, ExitStack() as stack:
        reference = builder.reference(task, slot)
        device = CpuDevice(slot)
        stack.callback(device.close)
        shares = TimeShares(task.limits.attempt_wall_s, device.now_s())
        session = Session(Trial(task, "t", b"a secret of the tests", reference, reference), device, shares, stack)
        check_reference(session)

    assert len(session.reference_diffs) == len(task.shapes) * (len(task.checks) + 1)


@pytest.mark.parametrize(("name", "arch"), IN_CUDA)
def test_the_reference_in_cuda_compiles_and_passes_the_gate(
    built_in_cuda: Mapping[tuple[str, str], Built], name: str, arch: str
) -> None:
    """To a cubin with the one kernel that its plan launches."""
    built = built_in_cuda[name, arch]

    assert built.kernel is not None, built.message


@pytest.mark.usefixtures("cuda")
@pytest.mark.parametrize("name", ["gemm/float16", "layer_norm/float32", "reduction/int32"])
def test_the_native_references_in_cuda_compile_and_pass_the_gate(pool: JailPool, builder: Builder, name: str) -> None:
    """To a shared object with the task's entry and ours, and with CUDA's runtime hidden in it."""
    task = ready_task(name, "cuda", tier="native", arch="sm_90")

    with pool.slot() as slot:
        built = builder.build(task, Offered(task.reference.source, task.language), slot)

    assert built.kernel is not None, built.message
    assert built.record is not None
    assert built.record.form == "shared_object"
    assert {name.partition("/")[0], "assay_call"} <= set(built.record.exports)
    assert not any(exported.startswith("cuda") for exported in built.record.exports)


@pytest.mark.usefixtures("cuda")
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
    task = ready_task("axpy/float32", "cuda", tier="native", arch="sm_90")

    with pool.slot() as slot:
        built = builder.build(task, Offered(source, task.language), slot)

    assert built.kernel is None
    assert words in built.message
