"""References in CUDA C++ of the ready tasks, with their launch plans: one thread an element, or one block a row."""

from collections.abc import Mapping
from typing import Any  # Any: parts of task documents are JSON values

from assay.verifiers.kernels.abi import Abi, prototype

_TYPES: Mapping[str, tuple[str, str]] = {
    "float32": ("float", "float"),
    "float16": ("__half", "float"),
    "int32": ("int32_t", "uint32_t"),
}
_HEAD = """#include <cuda_fp16.h>
#include <stdint.h>
typedef {element} T;
typedef {sum} S;
#define KERNEL extern "C" __global__ void
"""
_WIDTH = 256
"""Threads of a block."""
_ROW = """
__device__ float over_block(float value, bool largest) {
    __shared__ float held[256];
    held[threadIdx.x] = value;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            float other = held[threadIdx.x + half];
            held[threadIdx.x] = largest ? fmaxf(held[threadIdx.x], other) : held[threadIdx.x] + other;
        }
        __syncthreads();
    }
    float found = held[0];
    __syncthreads();
    return found;
}
"""
_BODIES: Mapping[str, str] = {
    "gemm": """
KERNEL gemm(const T *a, const T *b, T *c, int64_t m, int64_t n, int64_t k) {
    __shared__ S left[16][16], right[16][16];
    int64_t j = blockIdx.x * 16LL + threadIdx.x, i = blockIdx.y * 16LL + threadIdx.y;
    S sum = 0;
    for (int64_t p = 0; p < k; p += 16) {
        left[threadIdx.y][threadIdx.x] = i < m && p + threadIdx.x < k ? (S)a[i * k + p + threadIdx.x] : (S)0;
        right[threadIdx.y][threadIdx.x] = j < n && p + threadIdx.y < k ? (S)b[(p + threadIdx.y) * n + j] : (S)0;
        __syncthreads();
        for (int q = 0; q < 16; q++) sum += left[threadIdx.y][q] * right[q][threadIdx.x];
        __syncthreads();
    }
    if (i < m && j < n) c[i * n + j] = (T)sum;
}
""",
    "axpy": """
KERNEL axpy(T alpha, const T *x, const T *y, T *out, int64_t n) {
    int64_t i = blockIdx.x * 256LL + threadIdx.x;
    if (i < n) out[i] = (T)((S)alpha * (S)x[i] + (S)y[i]);
}
""",
    "softmax": _ROW
    + """
KERNEL softmax(const T *x, T *y, int64_t rows, int64_t cols) {
    const T *in = x + blockIdx.x * cols;
    float largest = -INFINITY, sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 256) largest = fmaxf(largest, (S)in[j]);
    largest = over_block(largest, true);
    for (int64_t j = threadIdx.x; j < cols; j += 256) sum += expf((S)in[j] - largest);
    sum = over_block(sum, false);
    for (int64_t j = threadIdx.x; j < cols; j += 256) y[blockIdx.x * cols + j] = (T)(expf((S)in[j] - largest) / sum);
}
""",
    "layer_norm": _ROW
    + """
KERNEL layer_norm(const T *x, const T *gamma, const T *beta, float eps, T *y, int64_t rows, int64_t cols) {
    const T *in = x + blockIdx.x * cols;
    float sum = 0, squares = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 256) sum += (S)in[j];
    float mean = over_block(sum, false) / cols;
    for (int64_t j = threadIdx.x; j < cols; j += 256) squares += ((S)in[j] - mean) * ((S)in[j] - mean);
    float scale = 1 / sqrtf(over_block(squares, false) / cols + eps);
    for (int64_t j = threadIdx.x; j < cols; j += 256)
        y[blockIdx.x * cols + j] = (T)(((S)in[j] - mean) * scale * (S)gamma[j] + (S)beta[j]);
}
""",
    "reduction": """
KERNEL reduction(const T *x, T *y, int64_t rows, int64_t cols) {
    __shared__ S held[256];
    S sum = 0;
    for (int64_t j = threadIdx.x; j < cols; j += 256) sum += (S)x[blockIdx.x * cols + j];
    held[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) held[threadIdx.x] += held[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = (T)held[0];
}
""",
    "transpose": """
KERNEL transpose(const T *x, T *y, int64_t rows, int64_t cols) {
    __shared__ T tile[16][17];
    int64_t j = blockIdx.x * 16LL + threadIdx.x, i = blockIdx.y * 16LL + threadIdx.y;
    if (i < rows && j < cols) tile[threadIdx.y][threadIdx.x] = x[i * cols + j];
    __syncthreads();
    i = blockIdx.y * 16LL + threadIdx.x, j = blockIdx.x * 16LL + threadIdx.y;
    if (i < rows && j < cols) y[j * rows + i] = tile[threadIdx.x][threadIdx.y];
}
""",
    "convolution": """
KERNEL convolution(const T *x, const T *w, T *y, int64_t batch, int64_t channels, int64_t height, int64_t width,
                   int64_t filters, int64_t rows, int64_t cols) {
    int64_t high = height - rows + 1, wide = width - cols + 1, at = blockIdx.x * 256LL + threadIdx.x;
    if (at >= batch * filters * high * wide) return;
    int64_t j = at % wide, i = at / wide % high, f = at / (wide * high) % filters, b = at / (wide * high * filters);
    S sum = 0;
    for (int64_t c = 0; c < channels; c++)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t s = 0; s < cols; s++)
                sum += (S)x[((b * channels + c) * height + i + r) * width + j + s] *
                       (S)w[((f * channels + c) * rows + r) * cols + s];
    y[at] = (T)sum;
}
""",
}
_ELEMENTS = "batch * filters * (height - rows + 1) * (width - cols + 1)"
_LINE, _TILE = (str(_WIDTH), "1", "1"), ("16", "16", "1")
_GRIDS: Mapping[str, tuple[tuple[str, str, str], tuple[str, str, str]]] = {
    "gemm": (("ceildiv(n, 16)", "ceildiv(m, 16)", "1"), _TILE),
    "axpy": ((f"ceildiv(n, {_WIDTH})", "1", "1"), _LINE),
    "softmax": (("rows", "1", "1"), _LINE),
    "layer_norm": (("rows", "1", "1"), _LINE),
    "reduction": (("rows", "1", "1"), _LINE),
    "transpose": (("ceildiv(cols, 16)", "ceildiv(rows, 16)", "1"), _TILE),
    "convolution": (
        (f"ceildiv({_ELEMENTS}, {_WIDTH})", "1", "1"),
        _LINE,
    ),
}
_PROGRAMS: Mapping[str, tuple[str, ...]] = {
    "gemm": ("ceildiv(n, BLOCK_N)", "ceildiv(m, BLOCK_M)"),
    "axpy": ("ceildiv(n, BLOCK)",),
    "softmax": ("rows",),
    "layer_norm": ("rows",),
    "reduction": ("rows",),
    "transpose": ("ceildiv(cols, BLOCK_COLS)", "ceildiv(rows, BLOCK_ROWS)"),
    "convolution": (f"ceildiv({_ELEMENTS}, BLOCK)",),
}
"""Programs of kernels in Triton, by constants of theirs."""


def cuda_source(operation: str, dtype: str) -> str:
    """Return the reference in CUDA C++ of a ready task. Raises KeyError if there is none."""
    element, total = _TYPES[dtype]
    return _HEAD.format(element=element, sum=total) + _BODIES[operation]


def cuda_plan(operation: str) -> list[dict[str, Any]]:
    """Return its launches, which serve completions without a plan as well."""
    blocks, threads = _GRIDS[operation]
    return [{"kernel": operation, "blocks": list(blocks), "threads": list(threads)}]


def native_source(operation: str, dtype: str, abi: Abi) -> str:
    """Return the same reference with host code of its own, which launches it by its plan on the caller's stream."""
    blocks, threads = (", ".join(one) for one in _GRIDS[operation])
    passed = ", ".join(param.name for param in abi.params)
    kernel = f"{operation}_kernel"
    return (
        f"#define {operation} {kernel}\n{cuda_source(operation, dtype)}#undef {operation}\n"
        "static int64_t ceildiv(int64_t value, int64_t by) { return (value + by - 1) / by; }\n"
        f'extern "C" {prototype(abi, is_cuda=True)[:-1]}, cudaStream_t stream) {{\n'
        f"    {kernel}<<<dim3({blocks}), dim3({threads}), 0, stream>>>({passed});\n}}\n"
    )


def triton_plan(operation: str) -> list[dict[str, Any]]:
    """Return the launch of kernels in Triton that come without one: programs by their own `constexpr` parameters."""
    return [{"kernel": operation, "blocks": list(_PROGRAMS[operation])}]
