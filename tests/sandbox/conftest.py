"""A pool of real jails for the tests in this folder, and compilers and runners of kernels in them."""

from collections.abc import Callable, Iterator

import pytest
from isolation import skipped_without
from kernel_compiling import Bench, open_bench
from native_runners import BYTES, Open

from assay.sandboxes.backends import open_pool
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.cpu_runner import CpuRunner
from assay.sandboxes.devices.interface import Artifact, Failure, Form, RunnerLimits
from assay.sandboxes.devices.runner_program import LOOP_SOURCE
from assay.sandboxes.jails import JailPool
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.settings import Settings, load_settings
from assay.verifiers.kernels.compile import Compiler
from assay.verifiers.run import RunTask, RunVerifier


@pytest.fixture(scope="module")
def pool() -> Iterator[JailPool]:
    """Two slots of jails; skipped where the host cannot isolate, unless ASSAY_REQUIRE names `jail`."""
    with skipped_without():
        made = open_pool(Settings(slots=2, cuda_root=load_settings().cuda_root))
    yield made
    made.close()


@pytest.fixture(scope="session")
def compiler() -> Compiler:
    """One for the session: what was compiled once is there for later modules."""
    return Compiler()


@pytest.fixture(scope="module")
def bench(pool: JailPool, compiler: Compiler) -> Bench:
    """A compiler for C."""
    return open_bench(pool, compiler, needs="gcc")


@pytest.fixture(scope="module")
def cuda(pool: JailPool, compiler: Compiler) -> Bench:
    """A compiler for CUDA."""
    return open_bench(pool, compiler, needs="nvcc")


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


Run = Callable[..., Verdict]


@pytest.fixture
def run(pool: Pool) -> Run:
    """Run a program in a jail: `run(source, stdin="", **limits)`."""

    def run_program(source: str, stdin: str = "", **limits: object) -> Verdict:
        task = RunTask.model_validate({"id": "t", "verifier": "run", "stdin": stdin, "limits": limits})
        with pool.slot() as slot:
            return RunVerifier().judge(task, source, slot)

    return run_program
