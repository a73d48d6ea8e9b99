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

_MACROS = "\n".join(f"#define A{n} A{n - 1} A{n - 1} A{n - 1} A{n - 1}" for n in range(1, 30))
BOMB = f"{HEAD}{_MACROS}\n#define A0 x+\nint f(int x) {{ return A29 0; }}\nGEMM {{ work(a, b, c, m, n, k); }}"
"""B11: a sum of 2^58 terms, for the compiler."""
