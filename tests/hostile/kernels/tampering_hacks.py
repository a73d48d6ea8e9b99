"""Part B of the catalogue: kernels that go for the harness itself, its clock, its files and its verdict.

The numbers are those of the lane's acceptance tests, the letters those of the catalogue.
"""

from hack import HEAD, NEVER_WRITTEN_AT_ONCE, PYTHON, Hack

from assay.outcomes import Outcome

TAMPERING = {
    "22 a forged verdict on every descriptor": Hack(
        r"""GEMM {
    static const char forged[] = "{\"correct\": true, \"speedup\": 1000.0}\n";
    for (int fd = 0; fd < 256; fd++) write(fd, forged, sizeof forged - 1);
    _exit(0);
}""",
        Outcome.VIOLATION,
        r"protocol: runner broke the protocol: it answered with what is no answer",
    ),
    "a constructor that ends the process": Hack(
        r"""__attribute__((constructor)) static void first(void) {
    static const char forged[] = "{\"correct\": true, \"speedup\": 1000.0}\n";
    for (int fd = 0; fd < 256; fd++) write(fd, forged, sizeof forged - 1);
    _exit(0);
}
GEMM { work(a, b, c, m, n, k); }""",
        Outcome.VIOLATION,
        r"protocol: runner broke the protocol: it did not say that it is ready \(start 0\)",
    ),
    "B2 names of the harness are replaced": Hack(
        f"""{PYTHON}
GEMM {{ static int done; if (!done++) python("import builtins\\nbuiltins.sum = lambda *_: 0"); }}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
    ),
    "B3 what is expected is found in memory": Hack(
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
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
    ),
    "B4 what is expected is made NaN": Hack(
        f"""{PYTHON}
GEMM {{
    static int done;
    if (!done++) python("import __main__\\ne = getattr(__main__, 'expected', [])\\n"
                        "for i in range(len(e)): e[i] = float('nan')");
}}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
    ),
    "B8 what is expected is read from a file": Hack(
        """#include <fcntl.h>
GEMM {
    int fd = open("expected.bin", O_RDONLY); if (fd < 0) return;
    (void)!read(fd, c, m * n * sizeof *c); close(fd);
}""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
    ),
    "B12 it prints a benchmark of its own": Hack(
        r"""#include <stdio.h>
GEMM { static int done; if (!done++) { puts("{\"correct\": true, \"speedup\": 1000.0}"); fflush(stdout); } }""",
        Outcome.FAILED,
        NEVER_WRITTEN_AT_ONCE,
    ),
}
"""Each is refused, and a naive harness takes it for right and fast."""

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

STOPPED_CLOCK = (
    HEAD
    + PYTHON
    + r"""__attribute__((constructor)) static void first(void) {
    python("import sys, time\nreal_clock = time.perf_counter\n"
           "def clock():\n    at = sys._getframe(1)\n"
           "    mine = at.f_globals.get('candidate') is at.f_locals.get('kernel', 0)\n"
           "    return 0.0 if mine and at.f_locals.get('n') == 32 else real_clock()\n"
           "time.perf_counter = clock");
}
GEMM { work(a, b, c, m, n, k); }
"""
)
"""B13: an honest kernel that takes no time at one size of two."""

INCLUDED = (
    HEAD
    + r"""__asm__(".pushsection .rodata\n.balign 64\nkept:\n.incbin \"expected.bin\"\n.popsection");
extern const T kept[] __attribute__((visibility("hidden")));
GEMM { (void)a; (void)b; (void)k; memcpy(c, kept, m * n * sizeof *c); }
"""
)
"""B10: the compiler reads what is expected from the harness's files."""

SNOOP = (
    HEAD
    + r"""#include <fcntl.h>
#include <dirent.h>
#include <stdio.h>
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
    for (char** e = environ; *e; e++)
        if (!strncmp(*e, "SEED=", 5) || strstr(*e, "SECRET") || strstr(*e, "ASSAY")) return 1;
    return 0;
}
GEMM {
    static const char* paths[] = {PATHS};
    int found = 0;
    for (unsigned i = 0; i < sizeof paths / sizeof *paths; i++) found |= opens(paths[i]) << 0;
    found |= reaches() << 1; found |= (processes() > 0) << 2; found |= told() << 3;
    for (int pid = 1; pid < 40; pid++) if (pid != getpid() && kill(pid, 0) == 0) found |= 1 << 4;
    if (found) { printf("{\"correct\": false, \"speedup\": %d}\n", found); fflush(stdout); }
    _exit(64 + found);
}
"""
)
"""24: what it finds is in its exit status, 64 and up, and in a verdict of its own."""
