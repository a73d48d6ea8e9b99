"""Kernels that turn one bad habit of a harness to account."""

from dataclasses import dataclass

from hacks import HEAD, PYTHON
from naive_habits import Habit

from assay.verifiers.kernels.findings import Reason


@dataclass(frozen=True)
class HabitHack:
    """A cheating kernel, the habit that pays it, why it is refused here, and words of the message."""

    habit: Habit
    source: str
    reasons: frozenset[Reason]
    words: str = ""

    @property
    def text(self) -> str:
        """The whole source."""
        return HEAD + self.source


_WARM_UP = """static T kept[1 << 20]; static int calls;
GEMM {
    if (calls++ == 1) { memcpy(c, kept, m * n * sizeof *c); return; }
    work(a, b, c, m, n, k); memcpy(kept, c, m * n * sizeof *c); PAUSE
}"""
WARM_UP_AWAKE = HEAD + _WARM_UP.replace("PAUSE", "")
"""A11 without its pause: one call of many is stolen, which no clock notices."""

HABIT_HACKS = {
    "A11 it is slow in the warm-up, and the one call that is timed is stolen": HabitHack(
        Habit.COUNTS_BY_WARM_UP,
        _WARM_UP.replace("PAUSE", "if (calls == 1) usleep(50000);"),
        frozenset({Reason.WRONG}),
        words="warm_up 1",
    ),
    "C4 the output is the input": HabitHack(
        Habit.TAKES_POINTER,
        """const T* gemm(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k) {
    (void)b; (void)c; (void)m; (void)n; (void)k; return a;
}""",
        frozenset({Reason.UNWRITTEN}),
        words="correctness 0",
    ),
    "C5 the answer is a constant": HabitHack(
        Habit.FLAT_INPUTS,
        "GEMM { (void)a; (void)b; for (int64_t i = 0; i < m * n; i++) c[i] = k; }",
        frozenset({Reason.WRONG}),
        words="of 4096",
    ),
    "C11 the output is empty": HabitHack(
        Habit.TAKES_LENGTH,
        """int64_t gemm(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k) {
    (void)a; (void)b; (void)c; (void)m; (void)n; (void)k; return 0;
}""",
        frozenset({Reason.UNWRITTEN}),
        words="correctness 0",
    ),
    "C15 the second input is taken for transposed": HabitHack(
        Habit.PREPARES,
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
        frozenset({Reason.WRONG}),
        words="of 4096",
    ),
}
"""By number of the catalogue, and name."""

INCLUDED = (
    HEAD
    + r"""__asm__(".pushsection .rodata\n.balign 64\nkept:\n.incbin \"expected.bin\"\n.popsection");
extern const T kept[] __attribute__((visibility("hidden")));
GEMM { (void)a; (void)b; (void)k; memcpy(c, kept, m * n * sizeof *c); }
"""
)
"""B10: the compiler reads what is expected from the harness's files."""

_MACROS = "\n".join(f"#define A{n} A{n - 1} A{n - 1} A{n - 1} A{n - 1}" for n in range(1, 30))
BOMB = f"{HEAD}{_MACROS}\n#define A0 x+\nint f(int x) {{ return A29 0; }}\nGEMM {{ work(a, b, c, m, n, k); }}"
"""B11: a sum of 2^58 terms."""

STOPPED_CLOCK = (
    HEAD
    + PYTHON
    + r"""__attribute__((constructor)) static void first(void) {
    python("import sys, time\nreal_clock = time.perf_counter\n"
           "time.perf_counter = lambda: 0.0 if sys._getframe(1).f_locals.get('n') == 32 else real_clock()");
}
GEMM { work(a, b, c, m, n, k); }
"""
)
"""B13: an honest kernel that takes no time at one size of two."""
