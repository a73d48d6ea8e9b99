"""Part D of the catalogue: kernels that take the machine, for as long or as much as they can."""

from hack import HEAD

ENDLESS = HEAD + "GEMM { signal(SIGTERM, SIG_IGN); signal(SIGALRM, SIG_IGN); for (volatile int x = 0;; x++) {} }"
"""25: it does not end, whatever it is told."""

GLUTTON = (
    HEAD
    + """GEMM {
    work(a, b, c, m, n, k);
    for (int i = 0; i < 4096; i++) { char* p = malloc(1 << 20); if (p) memset(p, 1, 1 << 20); }
}
"""
)
"""D3: four gigabytes are taken."""

LEAVER = (
    HEAD
    + r"""#include <sched.h>
#include <stdio.h>
GEMM {
    cpu_set_t asked, got; int cores = 0;
    for (int core = 0; core < CPU_SETSIZE; core++) {
        CPU_ZERO(&asked); CPU_SET(core, &asked);
        sched_setaffinity(0, sizeof asked, &asked); sched_getaffinity(0, sizeof got, &got);
        cores += CPU_EQUAL(&asked, &got);
    }
    if (cores > 1) { printf("{\"correct\": false, \"speedup\": %d}\n", cores); fflush(stdout); }
    _exit(64 + (cores > 1 ? 2 : cores));
}
"""
)
"""20: it leaves a busy core for one that it likes better; how many it could have is in its exit status and verdict."""

_MACROS = "\n".join(f"#define A{n} A{n - 1} A{n - 1} A{n - 1} A{n - 1}" for n in range(1, 30))
BOMB = f"{HEAD}{_MACROS}\n#define A0 x+\nint f(int x) {{ return A29 0; }}\nGEMM {{ work(a, b, c, m, n, k); }}"
"""B11: a sum of 2^58 terms, for the compiler."""
