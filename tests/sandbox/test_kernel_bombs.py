"""Compiling what never ends or takes all memory: acceptance test 30 of the kernel lane."""

import pytest
from kernel_compiling import HONEST_C, HONEST_CUDA, TIGHT, Bench, Compile

from assay.outcomes import LIMIT_HITS, Outcome
from assay.verifiers.kernels.compile import CompileLimits

pytestmark = pytest.mark.jail
MACROS = "\n".join(f"#define A{n} A{n - 1} A{n - 1} A{n - 1} A{n - 1}" for n in range(1, 30)) + "\n#define A0 x+\n"
C_BOMBS = {
    "a device that never ends": '#include "/dev/zero"\n',
    "random bytes": '#include "/dev/urandom"\n',
    "macros": f"int f(int x) {{\n{MACROS}return A29 0; }}",
    "an assembler that fills": 'asm(".data\\n.fill 4000000000,1,1");',
    "an assembler that repeats": 'asm(".rept 1000000000\\n.byte 1\\n.endr");',
    "a constant of a terabyte": "static char a[1UL << 40] = {1}; char* f(void) { return a; }",
    "parentheses": f"int f(void) {{ return {'(' * 400_000}1{')' * 400_000}; }}",
    "itself": '#include "kernel.c"\n#include "kernel.c"\n',
}
CUDA_BOMBS = {
    "templates": "template <int A, int B> struct F { static const int v = F<A - 1, B>::v + F<A - 1, B + 1>::v; };\n"
    "template <int B> struct F<0, B> { static const int v = B; };\n__global__ void f(int* x) { x[0] = F<850, 1>::v; }",
    "a constant of gigabytes": "__device__ int a[1 << 28] = {1}; __global__ void f(int* y) { y[0] = a[3]; }",
    "a device that never ends": '#include "/dev/zero"\n',
    "unrolled loops": "__global__ void f(volatile int* y) {\n"
    "#pragma unroll 512\nfor (int i = 0; i < 512; i++) {\n#pragma unroll 512\nfor (int j = 0; j < 512; j++) {\n"
    "#pragma unroll 64\nfor (int k = 0; k < 64; k++) y[i ^ j ^ k] = y[i + j * k] * y[i * j + k]; } } }",
}


def assert_bounded(compile_source: Compile, bomb: str, honest: str) -> None:
    """A compile error or a limit, and the worker compiles on."""
    compiled = compile_source(bomb, limits=TIGHT)

    assert compiled.outcome in {Outcome.COMPILE_ERROR, *LIMIT_HITS}
    assert compiled.usage.cpu_s < TIGHT.cpu_s + 2
    assert compile_source(honest).artifact is not None


@pytest.mark.parametrize("name", CUDA_BOMBS)
def test_30_a_bomb_for_nvcc_ends_within_its_limits(cuda: Bench, name: str) -> None:
    """Where there is an nvcc."""
    assert_bounded(cuda.cuda, CUDA_BOMBS[name], HONEST_CUDA)


@pytest.mark.parametrize("name", C_BOMBS)
def test_30_a_bomb_for_gcc_ends_within_its_limits(bench: Bench, name: str) -> None:
    """Whatever fills, repeats or never ends."""
    assert_bounded(bench.c, C_BOMBS[name], HONEST_C)


def test_30_a_compiler_that_does_not_end_is_ended(bench: Bench) -> None:
    """At its limit of processor time: a timeout, which is not remembered."""
    limits = CompileLimits(wall_s=10, cpu_s=0.5, memory_mb=2048)

    compiled = bench.c(C_BOMBS["macros"], limits=limits)

    assert compiled.outcome is Outcome.TIMEOUT
    assert not bench.c(C_BOMBS["macros"], limits=limits).cached


def test_30_a_source_of_ten_megabytes_is_not_compiled(cuda: Bench) -> None:
    """The message says how much is taken."""
    compiled = cuda.cuda("//" + "x" * 10_000_000)

    assert compiled.outcome is Outcome.COMPILE_ERROR
    assert compiled.message == "the source has 10000002 bytes; at most 262144 are compiled"


@pytest.mark.parametrize("flag", ["-Xcompiler=-fopenmp", "-Xcompiler", "--run", "-include=/etc/passwd"])
def test_30_an_unknown_flag_is_refused(cuda: Bench, flag: str) -> None:
    """By name, before anything runs."""
    compiled = cuda.cuda(HONEST_CUDA, flags=(flag,))

    assert compiled.outcome is Outcome.COMPILE_ERROR
    assert flag in compiled.message
    assert compiled.usage.cpu_s == 0
