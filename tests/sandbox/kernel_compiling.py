"""Compiling kernels in a jail, for the tests of this folder."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from assay.sandboxes.pool import Pool
from assay.settings import required_neighbours
from assay.verifiers.artifacts import Compiled
from assay.verifiers.kernels.compile import CompileLimits, Compiler, Job
from assay.verifiers.kernels.toolchain import Language, Toolchain

ENTRY = 'extern "C" __global__ void '
HONEST_C = "void scale(const float* x, float* y, long n) { for (long i = 0; i < n; i++) y[i] = 2.0f * x[i]; }\n"
HONEST_CUDA = (
    f"{ENTRY}scale(const float* x, float* y, int n) {{ if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x]; }}\n"
)
TIGHT = CompileLimits(wall_s=10, cpu_s=3, memory_mb=768)

Compile = Callable[..., Compiled]


@dataclass
class Bench:
    """A compiler with a pool to work in."""

    pool: Pool
    compiler: Compiler

    @property
    def toolchain(self) -> Toolchain:
        """What is installed in the jail."""
        with self.pool.slot() as slot:
            return self.compiler.toolchain(slot)

    def c(self, source: str, **fields: object) -> Compiled:
        """Compile C for any processor of this kind."""
        return self._compile(Job(Language.C, source, **{"arch": "x86-64", **fields}))  # type: ignore[arg-type]

    def cuda(self, source: str, **fields: object) -> Compiled:
        """Compile CUDA for sm_90."""
        return self._compile(Job(Language.CUDA, source, **{"arch": "sm_90", **fields}))  # type: ignore[arg-type]

    def _compile(self, job: Job) -> Compiled:
        with self.pool.slot() as slot:
            return self.compiler.compile(job, slot)


def open_bench(pool: Pool, compiler: Compiler, *, needs: str) -> Bench:
    """Return a bench; skip where the jail has no such compiler, unless ASSAY_REQUIRE names it."""
    bench = Bench(pool, compiler)
    if not getattr(bench.toolchain, needs):
        if needs in required_neighbours():
            pytest.fail(f"ASSAY_REQUIRE names {needs}, and the jail has none")
        pytest.skip(f"no {needs} where attempts run")
    return bench
