"""References in C of the ready tasks: plain loops, one for each operation; what they compute is said by the oracles.

`T` is the type of elements and `S` that in which sums are kept. Integers are multiplied and added without a sign, so
that they wrap around as the oracle's do.
"""

from collections.abc import Mapping

_TYPES: Mapping[str, tuple[str, str]] = {
    "float32": ("float", "float"),
    "float16": ("_Float16", "float"),
    "int32": ("int32_t", "uint32_t"),
}
_HEAD = """#include <math.h>
#include <stdint.h>
typedef {element} T;
typedef {sum} S;
"""
_BODIES: Mapping[str, str] = {
    "gemm": """
void gemm(const T *a, const T *b, T *c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            S sum = 0;
            for (int64_t p = 0; p < k; p++) sum += (S)a[i * k + p] * (S)b[p * n + j];
            c[i * n + j] = (T)sum;
        }
}
""",
    "axpy": """
void axpy(T alpha, const T *x, const T *y, T *out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = (T)((S)alpha * (S)x[i] + (S)y[i]);
}
""",
    "softmax": """
void softmax(const T *x, T *y, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; i++) {
        const T *in = x + i * cols;
        S largest = in[0], sum = 0;
        for (int64_t j = 1; j < cols; j++) largest = fmaxf(largest, in[j]);
        for (int64_t j = 0; j < cols; j++) sum += expf((S)in[j] - largest);
        for (int64_t j = 0; j < cols; j++) y[i * cols + j] = (T)(expf((S)in[j] - largest) / sum);
    }
}
""",
    "layer_norm": """
void layer_norm(const T *x, const T *gamma, const T *beta, float eps, T *y, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; i++) {
        const T *in = x + i * cols;
        S mean = 0, variance = 0;
        for (int64_t j = 0; j < cols; j++) mean += (S)in[j];
        mean /= (S)cols;
        for (int64_t j = 0; j < cols; j++) variance += ((S)in[j] - mean) * ((S)in[j] - mean);
        S scale = 1 / sqrtf(variance / (S)cols + eps);
        for (int64_t j = 0; j < cols; j++)
            y[i * cols + j] = (T)(((S)in[j] - mean) * scale * (S)gamma[j] + (S)beta[j]);
    }
}
""",
    "reduction": """
void reduction(const T *x, T *y, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; i++) {
        S sum = 0;
        for (int64_t j = 0; j < cols; j++) sum += (S)x[i * cols + j];
        y[i] = (T)sum;
    }
}
""",
    "transpose": """
void transpose(const T *x, T *y, int64_t rows, int64_t cols) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) y[j * rows + i] = x[i * cols + j];
}
""",
    "convolution": """
void convolution(const T *x, const T *w, T *y, int64_t batch, int64_t channels, int64_t height, int64_t width,
                 int64_t filters, int64_t rows, int64_t cols) {
    int64_t high = height - rows + 1, wide = width - cols + 1;
    for (int64_t b = 0; b < batch; b++)
        for (int64_t f = 0; f < filters; f++)
            for (int64_t i = 0; i < high; i++)
                for (int64_t j = 0; j < wide; j++) {
                    S sum = 0;
                    for (int64_t c = 0; c < channels; c++)
                        for (int64_t r = 0; r < rows; r++)
                            for (int64_t s = 0; s < cols; s++)
                                sum += (S)x[((b * channels + c) * height + i + r) * width + j + s] *
                                       (S)w[((f * channels + c) * rows + r) * cols + s];
                    y[((b * filters + f) * high + i) * wide + j] = (T)sum;
                }
}
""",
}


def c_source(operation: str, dtype: str) -> str:
    """Return the reference in C of a ready task. Raises KeyError if there is none."""
    element, total = _TYPES[dtype]
    return _HEAD.format(element=element, sum=total) + _BODIES[operation]
