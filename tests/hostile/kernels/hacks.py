"""Kernels in C that cheat: what a naive harness pays for, and why this one does not.

The numbers are those of the lane's acceptance tests. Every source is completed by `SIGNATURE` and an honest `work`.
"""

from dataclasses import dataclass, field

from assay.verifiers.kernels.findings import Reason

_HEAD = """#define _GNU_SOURCE
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


@dataclass(frozen=True)
class Hack:
    """A cheating kernel: why it is refused, words of the message, and by how much a naive harness thinks it faster."""

    source: str
    reasons: frozenset[Reason]
    words: str = ""
    naive_speedup: float | None = 1.5
    """At least; None where it only has to be taken for right."""
    fields: dict[str, object] = field(default_factory=dict)
    """Of the task."""

    @property
    def text(self) -> str:
        """The whole source."""
        return _HEAD + self.source


def _hack(source: str, *reasons: Reason, words: str = "", naive: float | None = 1.5) -> Hack:
    return Hack(source, frozenset(reasons), words, naive)


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
}
"""By number and name."""

PATCHED_CLOCK = (
    _HEAD
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
    _HEAD
    + """static const T *last_a, *last_b; static T kept[1 << 20];
GEMM {
    if (a != last_a || b != last_b) { work(a, b, kept, m, n, k); last_a = a; last_b = b; }
    memcpy(c, kept, m * n * sizeof *c);
}
"""
)
"""8: results are kept by the addresses of inputs."""

CONTENT_CACHE = (
    _HEAD
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

ENDLESS = _HEAD + "GEMM { signal(SIGTERM, SIG_IGN); signal(SIGALRM, SIG_IGN); for (volatile int x = 0;; x++) {} }"
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
    _HEAD
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
