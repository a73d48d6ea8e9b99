"""Kernels in C that cheat: what a naive harness pays for, and why this one does not.

The numbers are those of the lane's acceptance tests. Every source is completed by `SIGNATURE` and an honest `work`.
"""

from dataclasses import dataclass, field

from assay.verifiers.kernels.findings import Reason

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


@dataclass(frozen=True)
class Hack:
    """A cheating kernel: why it is refused, words of the message, and by how much a naive harness thinks it faster."""

    source: str
    reasons: frozenset[Reason]
    words: str = ""
    naive_speedup: float | None = 1.5
    """At least; None where it only has to be taken for right."""
    is_early: bool = False
    """Whether the naive harness has what is expected before it loads the kernel."""
    fields: dict[str, object] = field(default_factory=dict)
    """Of the task."""

    @property
    def text(self) -> str:
        """The whole source."""
        return HEAD + self.source


def _hack(source: str, *reasons: Reason, words: str = "", naive: float | None = 1.5, is_early: bool = False) -> Hack:
    return Hack(source, frozenset(reasons), words, naive, is_early)


_LATE = (Reason.UNWRITTEN, Reason.WRONG, Reason.LATE_WORK)
HACKS = {
    "06 a thread finishes 5 ms after the answer": _hack(
        """#include <pthread.h>
static void* later(void* given) {
    struct call t = *(struct call*)given; free(given); usleep(5000); work(t.a, t.b, t.c, t.m, t.n, t.k); return 0;
}
GEMM {
    struct call* t = malloc(sizeof *t); *t = (struct call){a, b, c, m, n, k};
    pthread_t thread; if (pthread_create(&thread, 0, later, t) == 0) pthread_detach(thread);
}""",
        *_LATE,
        words="c",
    ),
    "06 an alarm computes after the answer": _hack(
        """static struct call t;
static void later(int signal) { (void)signal; work(t.a, t.b, t.c, t.m, t.n, t.k); }
GEMM {
    t = (struct call){a, b, c, m, n, k}; signal(SIGALRM, later);
    struct itimerval soon = {{0, 0}, {0, 1000}}; setitimer(ITIMER_REAL, &soon, 0);
}""",
        *_LATE,
    ),
    "06 the answer comes first, and the work goes on": _hack(
        """GEMM {
    char said; for (int fd = 3; fd < 8; fd++) write(fd, "d", 1);
    work(a, b, c, m, n, k);
    for (int fd = 3; fd < 8; fd++)
        while (read(fd, &said, 1) == 1 && said == 'g') { write(fd, "d", 1); work(a, b, c, m, n, k); }
}""",
        *_LATE,
        Reason.PROTOCOL,
        naive=None,
    ),
    "07 a child computes": _hack(
        """#include <sys/mman.h>
GEMM { if (fork() == 0) { work(a, b, c, m, n, k); _exit(0); } }""",
        *_LATE,
        naive=None,
    ),
    "08 results are kept by shape": _hack(
        """static T kept[1 << 20]; static int64_t key[3];
GEMM {
    if (key[0] != m || key[1] != n || key[2] != k) { work(a, b, kept, m, n, k); key[0] = m; key[1] = n; key[2] = k; }
    memcpy(c, kept, m * n * sizeof *c);
}""",
        Reason.WRONG,
        words="correctness 1",
    ),
    "10 eight calls are collected": _hack(
        """static struct call held[8]; static int count;
GEMM {
    held[count++] = (struct call){a, b, c, m, n, k};
    if (count == 8) { count = 0; work(a, b, c, m, n, k); }
}""",
        Reason.UNWRITTEN,
        words="correctness 0",
    ),
    "11 nothing is done": _hack("GEMM {}", Reason.UNWRITTEN, words="correctness 0"),
    "12 one element in two hundred is left out": _hack(
        """GEMM { work(a, b, c, m, n, k); for (int64_t i = 0; i < m * n; i += 200) c[i] += 1; }""",
        Reason.WRONG,
        words="21 of 4096",
        naive=None,
    ),
    "13 inputs and output are zeroed": _hack(
        """GEMM {
    memset((void*)a, 0, m * k * sizeof *a); memset((void*)b, 0, n * k * sizeof *b); memset(c, 0, m * n * sizeof *c);
}""",
        Reason.INPUT_MODIFIED,
        words="a",
    ),
    "14 one element is written past the output": _hack(
        "GEMM { work(a, b, c, m, n, k); c[m * n] = 1; }",
        Reason.CANARY,
        words="canary after 'c'",
        naive=None,
    ),
    "14 one element is written before the output": _hack(
        "GEMM { work(a, b, c, m, n, k); c[-1] = 1; }",
        Reason.CANARY,
        words="canary before 'c'",
        naive=None,
    ),
    "15 NaN everywhere": _hack("GEMM { for (int64_t i = 0; i < m * n; i++) c[i] = NAN; }", Reason.NONFINITE),
    "15 one infinity": _hack(
        "GEMM { work(a, b, c, m, n, k); c[m * n / 2] = INFINITY; }",
        Reason.NONFINITE,
        words="1 of 4096",
        naive=None,
    ),
    "17 right for ten calls": _hack(
        "static int calls; GEMM { work(a, b, c, m, n, k); if (++calls > 10) c[calls % (m * n)] += 1; }",
        Reason.WRONG,
        words="correctness 1 at m=67",
        naive=None,
    ),
    "18 tiles of 64": _hack(
        """GEMM {
    work(a, b, c, m, n, k);
    for (int64_t i = 0; i < m; i++) for (int64_t j = n / 32 * 32; j < n; j++) c[i * n + j] = 0;
}""",
        Reason.WRONG,
        words="m=67",
        naive=None,
    ),
    "22 a forged verdict on every descriptor": _hack(
        r"""GEMM {
    static const char forged[] = "{\"correct\": true, \"speedup\": 1000.0}\n";
    for (int fd = 0; fd < 256; fd++) write(fd, forged, sizeof forged - 1);
    _exit(0);
}""",
        Reason.PROTOCOL,
        Reason.DIED,
    ),
    "a constructor that ends the process": _hack(
        r"""__attribute__((constructor)) static void first(void) {
    static const char forged[] = "{\"correct\": true, \"speedup\": 1000.0}\n";
    for (int fd = 0; fd < 256; fd++) write(fd, forged, sizeof forged - 1);
    _exit(0);
}
GEMM { work(a, b, c, m, n, k); }""",
        Reason.PROTOCOL,
        Reason.DIED,
    ),
    "A3 the output is computed when it is read": _hack(
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
        Reason.UNWRITTEN,
        words="correctness 0",
    ),
    "A7 it is all computed while it is loaded, from the seed in the environment": _hack(
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
        Reason.UNWRITTEN,
        words="correctness 0",
        is_early=True,
    ),
    "B2 names of the harness are replaced": _hack(
        f"""{PYTHON}
GEMM {{ static int done; if (!done++) python("import builtins\\nbuiltins.sum = lambda *_: 0"); }}""",
        Reason.UNWRITTEN,
        is_early=True,
    ),
    "B3 what is expected is found in memory": _hack(
        f"""{PYTHON}
static T* found;
GEMM {{
    if (!found) {{
        char text[200];
        snprintf(text, sizeof text, "import ctypes, gc\\nfor o in gc.get_objects():\\n  if type(o) is dict and "
                 "'expected' in o: ctypes.c_void_p.from_address(%lu).value = ctypes.addressof(o['expected'])",
                 (unsigned long)&found);
        python(text);
    }}
    if (found) memcpy(c, found, m * n * sizeof *c);
}}""",
        Reason.UNWRITTEN,
        is_early=True,
    ),
    "B4 what is expected is made NaN": _hack(
        f"""{PYTHON}
GEMM {{
    static int done;
    if (!done++) python("import __main__\\ne = getattr(__main__, 'expected', [])\\n"
                        "for i in range(len(e)): e[i] = float('nan')");
}}""",
        Reason.UNWRITTEN,
        is_early=True,
    ),
    "B8 what is expected is read from a file": _hack(
        """#include <fcntl.h>
GEMM {
    int fd = open("expected.bin", O_RDONLY); if (fd < 0) return;
    (void)!read(fd, c, m * n * sizeof *c); close(fd);
}""",
        Reason.UNWRITTEN,
        is_early=True,
    ),
    "B12 it prints a benchmark of its own": _hack(
        r"""#include <stdio.h>
GEMM { static int done; if (!done++) { puts("{\"correct\": true, \"speedup\": 1000.0}"); fflush(stdout); } }""",
        Reason.UNWRITTEN,
        is_early=True,
    ),
    "C7 right for values between 0 and 1 alone": _hack(
        """static T in(T x) { return x < 0 ? 0 : x > 1 ? 1 : x; }
GEMM {
    for (int64_t i = 0; i < m; i++) for (int64_t j = 0; j < n; j++) {
        T sum = 0;
        for (int64_t p = 0; p < k; p++) sum += in(a[i * k + p]) * in(b[p * n + j]);
        c[i * n + j] = sum;
    }
}""",
        Reason.WRONG,
        words="of 4096",
        naive=None,
        is_early=True,
    ),
    "C14 a race that is lost now and then": _hack(
        "static int calls; GEMM { work(a, b, c, m, n, k); if (++calls % 7 == 0) c[m * n / 2] = c[0]; }",
        Reason.WRONG,
        naive=None,
    ),
    "C16 the fast path is never taken": _hack(
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
        Reason.UNWRITTEN,
        words="correctness 0",
        naive=None,
        is_early=True,
    ),
    "C13 the reference computes": _hack(
        f"""{PYTHON}
GEMM {{
    static void (*theirs)(const T*, const T*, T*, int64_t, int64_t, int64_t);
    if (!theirs) {{
        void* found = dlopen("./reference.so", RTLD_NOW); if (!found) return;
        *(void**)&theirs = dlsym(found, "gemm");
    }}
    theirs(a, b, c, m, n, k);
}}""",
        Reason.UNWRITTEN,
        naive=None,
        is_early=True,
    ),
}
"""By number of the acceptance tests, or of the catalogue, and name."""

HOG = (
    HEAD
    + """#include <pthread.h>
#include <sched.h>
static volatile int is_over; static pthread_t thread;
static void* burn(void* x) { while (!is_over) {} return x; }
__attribute__((constructor)) static void first(void) {
    cpu_set_t one; CPU_ZERO(&one); CPU_SET(sched_getcpu(), &one); sched_setaffinity(0, sizeof one, &one);
    if (pthread_create(&thread, 0, burn, 0) == 0) pthread_detach(thread);
}
GEMM { is_over = 1; work(a, b, c, m, n, k); }
"""
)
"""20: a thread burns in the reference's turns, until the kernel's own."""

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

GLUTTON = (
    HEAD
    + """GEMM {
    work(a, b, c, m, n, k);
    for (int i = 0; i < 4096; i++) { char* p = malloc(1 << 20); if (p) memset(p, 1, 1 << 20); }
}
"""
)
"""D3: four gigabytes are taken."""

PATCHED_CLOCK = (
    HEAD
    + """#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec* t) { (void)id; t->tv_sec = 0; t->tv_nsec = 0; return 0; }
int gettimeofday(struct timeval* restrict t, void* restrict z) { (void)z; t->tv_sec = 0; t->tv_usec = 0; return 0; }
static int (*run)(const char*);
__attribute__((constructor)) static void first(void) {
    *(void**)&run = dlsym(RTLD_DEFAULT, "PyRun_SimpleString");
    if (run) run("import time\\nticks = iter(range(10**9))\\nlast = [0.0]\\n"
                 "def perf_counter():\\n    last[0] += 1.0 / (1 + next(ticks)) ** 9\\n    return last[0]\\n"
                 "time.perf_counter = perf_counter");
}
GEMM { work(a, b, c, m, n, k); }
"""
)
"""23: an honest kernel whose process has other clocks."""

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

ENDLESS = HEAD + "GEMM { signal(SIGTERM, SIG_IGN); signal(SIGALRM, SIG_IGN); for (volatile int x = 0;; x++) {} }"
"""25."""

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
"""16."""

SNOOP = (
    HEAD
    + r"""#include <fcntl.h>
#include <dirent.h>
#include <sys/socket.h>
#include <netinet/in.h>
extern char** environ;
static int opens(const char* path) {
    char x; int fd = open(path, O_RDONLY), got = fd < 0 ? 0 : read(fd, &x, 1); if (fd >= 0) close(fd); return got == 1;
}
static int reaches(void) {
    int fd = socket(AF_INET, SOCK_STREAM, 0); if (fd < 0) return 0;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT), .sin_addr.s_addr = htonl(0x7f000001)};
    return connect(fd, (struct sockaddr*)&to, sizeof to) == 0;
}
static int processes(void) {
    int count = 0; DIR* folder = opendir("/proc"); if (!folder) return 0;
    for (struct dirent* e; (e = readdir(folder));) count += atoi(e->d_name) > 0 && atoi(e->d_name) != getpid();
    return count;
}
static int told(void) {
    for (char** e = environ; *e; e++) if (strstr(*e, "SECRET") || strstr(*e, "ASSAY")) return 1;
    return 0;
}
GEMM {
    static const char* paths[] = {PATHS};
    int found = 0;
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) found |= opens(paths[i]) << 0;
    found |= reaches() << 1; found |= (processes() > 0) << 2; found |= told() << 3;
    for (int pid = 1; pid < 40; pid++) if (pid != getpid() && kill(pid, 0) == 0) found |= 1 << 4;
    _exit(64 + found);
}
"""
)
"""24: what it finds is in its exit status, 64 and up."""
