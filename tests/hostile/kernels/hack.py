"""What a cheating kernel in C is: what a naive harness pays for, and why this one does not."""

from dataclasses import dataclass

from naive_harness import Habit

from assay.outcomes import Outcome

HEAD = """#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <unistd.h>
#include <signal.h>
#include <sys/time.h>
#ifndef T
#define T float
#endif
#define GEMM void gemm(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k)
static void work(const T* a, const T* b, T* c, int64_t m, int64_t n, int64_t k) {
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T sum = 0;
            for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}
struct call { const T *a, *b; T* c; int64_t m, n, k; };
"""
"""Before every hack: its signature, and an honest `work`."""
PYTHON = """#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
static void python(const char* text) {
    int (*run)(const char*), (*ensure)(void); void (*release)(int);
    *(void**)&run = dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    *(void**)&ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    *(void**)&release = dlsym(RTLD_DEFAULT, "PyGILState_Release");
    if (run && ensure && release) { int state = ensure(); run(text); release(state); }
}
"""
"""Has the interpreter of its process run something, where there is one."""
NEVER_WRITTEN = r"unwritten: (c: \d+ of 4096 elements were never written; |no more is told of a hidden size)"
"""Where work goes on after the answer: on a starved machine a call may be stopped so late that its work is done."""
NEVER_WRITTEN_AT_ONCE = r"unwritten: c: 4096 of 4096 elements were never written; .*\(correctness 0 at m=64"
"""Where the first call is refused."""


@dataclass(frozen=True)
class Hack:
    """A cheating kernel that is refused: with which outcome and words, and which harness takes it for right."""

    source: str
    outcome: Outcome
    words: str
    """A pattern that the message matches from its start: the reason first."""
    habit: Habit = Habit.KNOWS_FIRST
    naive_speedup: float | None = 1.5
    """By more than this it is fast there; None where all that it wins is to be taken for right."""

    @property
    def text(self) -> str:
        """The whole source."""
        return HEAD + self.source
