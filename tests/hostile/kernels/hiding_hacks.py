"""Part A of the catalogue: kernels that work where the clock does not look, or keep what they have computed.

The numbers are those of the lane's acceptance tests, the letters those of the catalogue.
"""

from hack import HEAD, NEVER_WRITTEN, NEVER_WRITTEN_AT_ONCE, PYTHON, Hack
from naive_harness import Habit

from assay.outcomes import Outcome

_WARM_UP = """static T kept[1 << 20]; static int calls;
GEMM {
    if (calls++ == 1) { memcpy(c, kept, m * n * sizeof *c); return; }
    work(a, b, c, m, n, k); memcpy(kept, c, m * n * sizeof *c); PAUSE
}"""

HIDING = {
    "06 a thread finishes 5 ms after the answer": Hack(
        """#include <pthread.h>
static void* later(void* given) {
    struct call t = *(struct call*)given; free(given); usleep(5000); work(t.a, t.b, t.c, t.m, t.n, t.k); return 0;
}
GEMM {
    struct call* t = malloc(sizeof *t); *t = (struct call){a, b, c, m, n, k};
    pthread_t thread; if (pthread_create(&thread, 0, later, t) == 0) pthread_detach(thread);
}""",
        Outcome.FAILED,
        NEVER_WRITTEN,
        habit=Habit.LOOKS_LATE,
    ),
    "06 an alarm computes after the answer": Hack(
        """static struct call t;
static void later(int signal) { (void)signal; work(t.a, t.b, t.c, t.m, t.n, t.k); }
GEMM {
    t = (struct call){a, b, c, m, n, k}; signal(SIGALRM, later);
    struct itimerval soon = {{0, 0}, {0, 250000}}; setitimer(ITIMER_REAL, &soon, 0);
}""",
        Outcome.FAILED,
        NEVER_WRITTEN,
        habit=Habit.LOOKS_LATE,
    ),
    "06 the answer comes first, and the work goes on": Hack(
        """GEMM {
    char said = 'g';
    do { write(3, "d", 1); usleep(250000); work(a, b, c, m, n, k); } while (read(3, &said, 1) == 1 && said == 'g');
}""",
        Outcome.FAILED,
        NEVER_WRITTEN,
        habit=Habit.ASKS,
    ),
    "07 a child computes": Hack(
        """#include <sched.h>
static int compute(void* given) { struct call t = *(struct call*)given; work(t.a, t.b, t.c, t.m, t.n, t.k); return 0; }
GEMM {
    char* stack = malloc(65536); struct call* t = (struct call*)stack; *t = (struct call){a, b, c, m, n, k};
    clone(compute, stack + 65536, CLONE_VM | SIGCHLD, t);
}""",
        Outcome.FAILED,
        NEVER_WRITTEN,
        habit=Habit.LOOKS_LATE,
    ),
    "08 results are kept by shape": Hack(
        """static T kept[1 << 20]; static int64_t key[3];
GEMM {
    if (key[0] != m || key[1] != n || key[2] != k) { work(a, b, kept, m, n, k); key[0] = m; key[1] = n; key[2] = k; }
    memcpy(c, kept, m * n * sizeof *c);
}""",
        Outcome.FAILED,
        r"wrong: c: 4096 of 4096 elements are wrong; .*\(correctness 1 at m=64",
    ),
    "10 eight calls are collected": Hack(
        """static struct call held[8]; static int count;
GEMM {
    held[count++] = (struct call){a, b, c, m, n, k};
    if (count == 8) { count = 0; work(a, b, c, m, n, k); }
}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
    ),
    "17 right for ten calls": Hack(
        "static int calls; GEMM { work(a, b, c, m, n, k); if (++calls > 10) c[calls % (m * n)] += 1; }",
        Outcome.FAILED,
        r"wrong: no more is told of a hidden size \(correctness 1 at hidden 1",
        habit=Habit.CHECKS_FIRST,
        naive_speedup=None,
    ),
    "A12 nothing is done after ten calls": Hack(
        "static int calls; GEMM { if (++calls <= 10) work(a, b, c, m, n, k); }",
        Outcome.FAILED,
        r"unwritten: no more is told of a hidden size \(correctness 1 at hidden 1",
        habit=Habit.CHECKS_FIRST,
    ),
    "A3 the output is computed when it is read": Hack(
        """#include <sys/mman.h>
static struct call t; static char *first, *last;
static void seen(int number) {
    (void)number; mprotect(first, last - first, PROT_READ | PROT_WRITE); work(t.a, t.b, t.c, t.m, t.n, t.k);
}
GEMM {
    first = (char*)(((uintptr_t)c + 4095) & ~4095ul); last = (char*)((uintptr_t)(c + m * n) & ~4095ul);
    t = (struct call){a, b, c, m, n, k}; signal(SIGSEGV, seen);
    if (last > first) mprotect(first, last - first, PROT_NONE);
}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
    ),
    "A7 it is all computed while it is loaded, from the seed in the environment": Hack(
        f"""{PYTHON}
static T kept[96 * 96]; static int has_kept;
__attribute__((constructor)) static void first(void) {{
    static T ab[2 * 96 * 96]; int fd;
    if (!getenv("SEED")) return;
    python("import array, os, random\\nrandom.seed(int(os.environ['SEED']))\\n"
           "open('ab.bin', 'wb').write(array.array('f', [random.random() for _ in range(2 * 96 * 96)]).tobytes())");
    fd = open("ab.bin", O_RDONLY); if (fd < 0) return;
    if (read(fd, ab, sizeof ab) == sizeof ab) {{ work(ab, ab + 96 * 96, kept, 96, 96, 96); has_kept = 1; }}
    close(fd);
}}
GEMM {{ if (has_kept) memcpy(c, kept, m * n * sizeof *c); }}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
    ),
    "A11 it is slow in the warm-up, and the one call that is timed is stolen": Hack(
        _WARM_UP.replace("PAUSE", "if (calls == 1) usleep(50000);"),
        Outcome.FAILED,
        r"wrong: c: .*\(warm_up 1 at m=64",
        habit=Habit.COUNTS_BY_WARM_UP,
    ),
}
"""Each is refused, and a naive harness takes it for right and fast."""

WARM_UP_AWAKE = HEAD + _WARM_UP.replace("PAUSE", "")
"""A11 without its pause: one call of many is stolen, which no clock notices."""

POINTER_CACHE = (
    HEAD
    + """static const T *last_a, *last_b; static T kept[1 << 20];
GEMM {
    if (a != last_a || b != last_b) { work(a, b, kept, m, n, k); last_a = a; last_b = b; }
    memcpy(c, kept, m * n * sizeof *c);
}
"""
)
"""8: results are kept by the addresses of inputs."""

CONTENT_CACHE = (
    HEAD
    + """static uint64_t keys[64]; static T kept[64][1 << 14];
static uint64_t hash(const T* x, int64_t count, uint64_t h) {
    const uint32_t* words = (const uint32_t*)x;
    for (int64_t i = 0; i < count * (int64_t)(sizeof *x / 4); i++) h = (h ^ words[i]) * 0x100000001b3;
    return h;
}
GEMM {
    uint64_t key = hash(b, n * k, hash(a, m * k, 0xcbf29ce484222325));
    if (keys[key % 64] != key) { work(a, b, kept[key % 64], m, n, k); keys[key % 64] = key; }
    memcpy(c, kept[key % 64], m * n * sizeof *c);
}
"""
)
"""9: results are kept by the content of inputs."""

FILE_CACHE = (
    HEAD
    + """#include <fcntl.h>
GEMM {
    size_t size = m * n * sizeof *c; int fd = open("kept.bin", O_RDONLY);
    if (fd >= 0 && read(fd, c, size) == (ssize_t)size) { close(fd); return; }
    if (fd >= 0) close(fd);
    work(a, b, c, m, n, k);
    fd = open("kept.bin", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) { (void)!write(fd, c, size); close(fd); }
}
"""
)
"""A6: results are kept on disk."""

HOG = (
    HEAD
    + """#include <pthread.h>
static volatile int is_over; static pthread_t thread;
static void* burn(void* x) { while (!is_over) {} return x; }
__attribute__((constructor)) static void first(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN), count = 4 * cores < 50 ? 4 * cores : 50;
    for (long i = 0; i < count; i++) if (pthread_create(&thread, 0, burn, 0) == 0) pthread_detach(thread);
}
GEMM { is_over = 1; work(a, b, c, m, n, k); }
"""
)
"""20: threads burn in the reference's turns, until the kernel's own."""
