"""Part C of the catalogue: kernels that compute something else, or nothing.

The numbers are those of the lane's acceptance tests, the letters those of the catalogue.
"""

from hack import NEVER_WRITTEN_AT_ONCE, PYTHON, Hack
from naive_harness import Habit

from assay.outcomes import Outcome

WRONG = {
    "11 nothing is done": Hack(
        "GEMM {}",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
        habit=Habit.KEEPS_OUTPUT,
    ),
    "12 one element in two hundred is left out": Hack(
        """GEMM { work(a, b, c, m, n, k); for (int64_t i = 0; i < m * n; i += 200) c[i] += 1; }""",
        Outcome.FAILED,
        r"wrong: c: 21 of 4096 elements are wrong; ",
        naive_speedup=None,
    ),
    "13 inputs and output are zeroed": Hack(
        """GEMM {
    memset((void*)a, 0, m * k * sizeof *a); memset((void*)b, 0, n * k * sizeof *b); memset(c, 0, m * n * sizeof *c);
}""",
        Outcome.VIOLATION,
        r"input_modified: input modified: ",
        habit=Habit.KEEPS_OUTPUT,
    ),
    "14 one element is written past the output": Hack(
        "GEMM { work(a, b, c, m, n, k); c[m * n] = 1; }",
        Outcome.VIOLATION,
        r"canary: canary after 'c' overwritten",
        naive_speedup=None,
    ),
    "14 one element is written before the output": Hack(
        "GEMM { work(a, b, c, m, n, k); c[-1] = 1; }",
        Outcome.VIOLATION,
        r"canary: canary before 'c' overwritten",
        naive_speedup=None,
    ),
    "14 a word is written far from all buffers": Hack(
        """#include <sys/mman.h>
GEMM {
    work(a, b, c, m, n, k);
    char *page = (char*)((uintptr_t)c & ~4095ul);
    while (msync(page - 4096, 1, MS_ASYNC) == 0) {
        page -= 4096;
        if ((char*)c - page > 200000 && *(int64_t*)page == 0) break; /* nobody's, where nothing guards it */
    }
    if ((char*)c - page > 200000) *(int64_t*)page = 0;
}""",
        Outcome.VIOLATION,
        r"canary: canary beyond all buffers overwritten",
        naive_speedup=None,
    ),
    "15 NaN everywhere": Hack(
        "GEMM { for (int64_t i = 0; i < m * n; i++) c[i] = NAN; }",
        Outcome.FAILED,
        r"nonfinite: c: 4096 of 4096 elements are not finite; ",
    ),
    "15 one infinity": Hack(
        "GEMM { work(a, b, c, m, n, k); c[m * n / 2] = INFINITY; }",
        Outcome.FAILED,
        r"nonfinite: c: 1 of 4096 elements are not finite; ",
        naive_speedup=None,
    ),
    "18 tiles of 64": Hack(
        """GEMM {
    work(a, b, c, m, n, k);
    for (int64_t i = 0; i < m; i++) for (int64_t j = n / 32 * 32; j < n; j++) c[i * n + j] = 0;
}""",
        Outcome.FAILED,
        r"wrong: no more is told of a hidden size \(correctness 0 at hidden 1",
        naive_speedup=None,
    ),
    "C7 right for values between 0 and 1 alone": Hack(
        """static T in(T x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
GEMM {
    for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) {
        T sum = 0;
        for (int64_t p = 0; p < k; p++) sum += in(a[i * k + p]) * in(b[p * n + j]);
        c[i * n + j] = sum;
    }
}""",
        Outcome.FAILED,
        r"wrong: c: .* of 4096 elements are wrong; ",
        naive_speedup=None,
    ),
    "C14 a race that is lost now and then": Hack(
        "static int calls; GEMM { work(a, b, c, m, n, k); if (++calls % 7 == 0) c[m * n / 2] = c[0]; }",
        Outcome.FAILED,
        r"wrong: c: 1 of 4096 elements are wrong; ",
        naive_speedup=None,
    ),
    "C16 the fast path is never taken": Hack(
        """#include <dlfcn.h>
static void fast(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m * n; i++) c[i] = 0;
    for (int64_t i = 0; i < m; i++)
        for (int64_t p = 0; p < k; p++)
            for (int64_t j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j];
}
GEMM {
    void (*theirs)(const T*, const T*, T*, int64_t, int64_t, int64_t);
    if (m < 0) { fast(a, b, c, m, n, k); return; }
    void* found = dlopen("./reference.so", RTLD_NOW); if (!found) return;
    *(void**)&theirs = dlsym(found, "gemm"); theirs(a, b, c, m, n, k); dlclose(found);
}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
        naive_speedup=None,
    ),
    "C13 the reference computes": Hack(
        f"""{PYTHON}
GEMM {{
    static void (*theirs)(const T*, const T*, T*, int64_t, int64_t, int64_t);
    if (!theirs) {{
        void* found = dlopen("./reference.so", RTLD_NOW); if (!found) return;
        *(void**)&theirs = dlsym(found, "gemm");
    }}
    theirs(a, b, c, m, n, k);
}}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
        naive_speedup=None,
    ),
    "C4 the output is the input": Hack(
        """const T* gemm(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k) {
    (void)b; (void)c; (void)m; (void)n; (void)k; return a;
}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
        habit=Habit.TAKES_POINTER,
    ),
    "C5 the answer is a constant": Hack(
        "GEMM { (void)a; (void)b; for (int64_t i = 0; i < m * n; i++) c[i] = k; }",
        Outcome.FAILED,
        r"wrong: c: .* of 4096 elements are wrong; ",
        habit=Habit.FLAT_INPUTS,
    ),
    "C11 the output is empty": Hack(
        """int64_t gemm(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k) {
    (void)a; (void)b; (void)c; (void)m; (void)n; (void)k; return 0;
}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
        habit=Habit.TAKES_LENGTH,
    ),
    "C15 the second input is taken for transposed": Hack(
        """GEMM {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T sum[16] = {0}, all = 0; int64_t p = 0;
            for (; p + 16 <= k; p += 16)
                for (int64_t q = 0; q < 16; q++) sum[q] += a[i * k + p + q] * b[j * k + p + q];
            for (; p < k; p++) all += a[i * k + p] * b[j * k + p];
            for (int64_t q = 0; q < 16; q++) all += sum[q];
            c[i * n + j] = all;
        }
}""",
        Outcome.FAILED,
        r"wrong: c: .* of 4096 elements are wrong; ",
        habit=Habit.PREPARES,
    ),
}
"""Each is refused, and a naive harness takes it for right, and fast where that is the point of it."""

FLOAT_SUM = """#include <stdint.h>
void gemm(const double* a, const double* b, double* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = 0;
            for (int64_t p = 0; p < k; p++) sum += (float)a[i * k + p] * (float)b[p * n + j];
            c[i * n + j] = sum;
        }
}
"""
"""16: sums in single precision, for matrices in double."""
