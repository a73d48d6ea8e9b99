"""Kernels in Triton and in PTX, compiled ahead of time in the jail: what models write, and what becomes of it."""

import json

import pytest
from kernel_compiling import Bench, open_bench

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes import syscalls
from assay.sandboxes.jails import JailPool
from assay.verifiers.kernels.answers import read_offer
from assay.verifiers.kernels.building import Builder, Built
from assay.verifiers.kernels.compile import Compiler, Job
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.toolchain import Language, Toolchain

pytestmark = pytest.mark.jail
_HEAD = "import torch\nimport torch.nn as nn\nimport triton\nimport triton.language as tl\n\n"
AXPY = f"""{_HEAD}
@triton.jit
def axpy(alpha, x, y, out, n, BLOCK: tl.constexpr = 128):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, alpha * tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


def run(alpha: float, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    axpy[(triton.cdiv(x.numel(), 128),)](alpha, x, y, out, x.numel())
    return out


class ModelNew(nn.Module):
    def forward(self, x):
        return run(1.0, x, x)
"""
SOFTMAX = f"""{_HEAD}
@triton.jit
def softmax(x, y, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    largest = tl.full((), -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf")).to(tl.float32)
        largest = tl.maximum(largest, tl.max(v, 0))
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(v - largest), 0)
    for start in range(0, cols, BLOCK):
        i = start + tl.arange(0, BLOCK)
        v = tl.load(x + row * cols + i, mask=i < cols, other=-float("inf")).to(tl.float32)
        tl.store(y + row * cols + i, tl.exp(v - largest) / total, mask=i < cols)
"""
GEMM = f"""{_HEAD}
@triton.autotune(
    configs=[
        triton.Config({{"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32}}, num_warps=8, num_stages=2),
        triton.Config({{"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32}}),
    ],
    key=["m", "n", "k"],
)
@triton.jit
def matmul_kernel(a, b, c, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        p = start + tl.arange(0, BLOCK_K)
        left = tl.load(a + rows[:, None] * k + p[None, :], mask=(rows[:, None] < m) & (p[None, :] < k), other=0.0)
        right = tl.load(b + p[:, None] * n + cols[None, :], mask=(p[:, None] < k) & (cols[None, :] < n), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + cols[None, :], total, mask=(rows[:, None] < m) & (cols[None, :] < n))
"""
PTX = """.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u64 o, .param .u64 n) { ret; }
"""


@pytest.fixture(scope="module")
def builder(pool: JailPool, compiler: Compiler) -> Builder:
    """A builder where triton is installed."""
    open_bench(pool, compiler, needs="triton")
    return Builder(compiler)


def build(pool: JailPool, builder: Builder, name: str, completion: str, **fields: object) -> Built:
    """Build what a completion offers."""
    document = {"id": "k", "verifier": "kernel", "kernel": name, "backend": "cuda", "language": "triton", **fields}
    task = KernelTask.model_validate(document)
    offered = read_offer(task, completion)
    assert offered is not None
    with pool.slot() as slot:
        return builder.build(task, offered, slot)


def test_a_function_with_the_entrys_name_is_compiled(pool: JailPool, builder: Builder) -> None:
    """With the default of its constant; host code beside it, that needs torch, is left alone."""
    built = build(pool, builder, "axpy/float32", f"```python\n{AXPY}```")

    assert built.kernel is not None, built.message
    (step,) = built.kernel.plan or ()
    assert (step.kernel, step.threads, step.integers) == ("axpy", ("128", "1", "1"), {"BLOCK": 128})


def test_a_plan_gives_constants_and_warps(pool: JailPool, builder: Builder) -> None:
    """The completion's own, as a block of JSON."""
    plan = json.dumps({"kernel": "softmax", "blocks": "rows", "constants": {"BLOCK": 256}, "warps": 8})

    built = build(pool, builder, "softmax/float16", f"```triton\n{SOFTMAX}```\n```json\n{plan}\n```")

    assert built.kernel is not None, built.message
    (step,) = built.kernel.plan or ()
    assert (step.blocks, step.threads) == (("rows", "1", "1"), ("256", "1", "1"))


def test_the_first_configuration_of_autotune_is_taken(pool: JailPool, builder: Builder) -> None:
    """For the only kernel there is, whatever its name; shared memory is what it needs."""
    built = build(pool, builder, "gemm/float16", f"```python\n{GEMM}```", arch="sm_80")

    assert built.kernel is not None, built.message
    (step,) = built.kernel.plan or ()
    assert step.kernel == "matmul_kernel"
    assert (step.threads[0], step.integers["BLOCK_M"]) == ("256", 64)
    assert int(step.shared_bytes) > 0


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (SOFTMAX, "the constant BLOCK has no value"),
        (
            SOFTMAX.replace("rows, cols, BLOCK: tl.constexpr", "cols, BLOCK: tl.constexpr = 8"),
            "the kernel takes 3 parameters (x, y, cols), and 4 are passed",
        ),
        (SOFTMAX.replace("tl.maximum", "tl.nothing"), "kernel.py:"),
        (SOFTMAX.replace("@triton.jit", ""), "there is no kernel 'softmax'"),
        (SOFTMAX.replace("@triton.jit", "@triton.jit("), "SyntaxError"),
        (SOFTMAX + "\nraise SystemExit(0)", "SystemExit"),
        (SOFTMAX + "\nimport nothing_of_that_name", "nothing_of_that_name"),
        (SOFTMAX + "\nprint('forged')\nimport os\nos._exit(0)", ""),
        (SOFTMAX + "\nimport os\nopen('kernel.triton', 'wb').write(b'forged')\nos._exit(0)", "no kernel"),
    ],
)
def test_what_is_no_kernel_is_a_compile_error(pool: JailPool, builder: Builder, source: str, words: str) -> None:
    """The message says what is missing; nothing that a source prints is shown."""
    built = build(pool, builder, "softmax/float32", f"```python\n{source}\n```")

    assert (built.kernel, built.outcome) == (None, Outcome.COMPILE_ERROR)
    assert words in built.message
    assert "forged" not in built.message


def test_a_source_that_does_not_end_is_ended(pool: JailPool, builder: Builder) -> None:
    """As any compiler is."""
    source = SOFTMAX + "\nwhile True:\n    pass\n"

    built = build(pool, builder, "softmax/float32", f"```python\n{source}```", policy={"compile_s": 2.0})

    assert (built.kernel, built.outcome) == (None, Outcome.TIMEOUT)


def test_ptx_is_assembled(pool: JailPool, cuda: Bench) -> None:
    """Where the task asks for it; its parameters must be those that are passed."""
    builder = Builder(cuda.compiler)

    good = build(pool, builder, "axpy/float32", f"```ptx\n{PTX}```", language="ptx", arch="sm_80")
    other = build(
        pool, builder, "axpy/float32", f"```ptx\n{PTX.replace('.f32', '.u64')}```", language="ptx", arch="sm_80"
    )
    short = PTX.replace(", .param .u64 n", "")
    fewer = build(pool, builder, "axpy/float32", f"```ptx\n{short}```", language="ptx", arch="sm_80")

    assert good.kernel is not None, good.message
    assert other.kernel is not None  # a float and a long take the same room: what it computes is for the oracle
    assert fewer.outcome is Outcome.COMPILE_ERROR
    assert "takes 32 bytes of parameters, and its launch passes 40" in fewer.message


def test_without_triton_nobody_is_blamed(pool: JailPool) -> None:
    """The message says how to get it."""
    compiler = Compiler()
    with pool.slot() as slot:
        key = (("level", slot.description), *sorted(slot.origin.items()))
        compiler._toolchains[key] = Toolchain(gcc="gcc")

        with pytest.raises(InfraFault, match=r"pip install '\.\[triton\]'"):
            compiler.compile(Job(Language.TRITON, AXPY, "sm_90"), slot)


@pytest.mark.skipif(not syscalls.landlock_version(), reason="no Landlock")
def test_26_errors_hold_no_text_of_other_files(pool: JailPool, builder: Builder) -> None:
    """Triton compiles with libraries alone to be read; what a source raises is one line."""
    built = build(pool, builder, "axpy/float32", f"```python\n{AXPY}raise ValueError(open('/etc/passwd').read())\n```")

    assert built.outcome is Outcome.COMPILE_ERROR
    assert "kernel.py:" in built.message
    assert "root:" not in built.message
