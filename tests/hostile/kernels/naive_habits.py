"""Naive harnesses that each have one bad habit of published ones; like the first, each is one process."""

import base64
from enum import StrEnum

from naive_harness import NaiveVerdict, run_naively

from assay.sandboxes.interface import Slot


class Habit(StrEnum):
    """What a harness does that a kernel, or who else is on the machine, can turn to account."""

    COUNTS_BY_WARM_UP = "counts by warm-up"
    """One call outside the clock decides how many are timed: as many as fit into 20 ms."""
    COMPILES = "compiles"
    """It compiles what it is given itself, beside its own files and without limits."""
    MULTIPLIES_TIMES = "multiplies times"
    """Kernels are compared by the geometric mean of their times at two sizes."""
    TAKES_POINTER = "takes pointer"
    """The output is where the kernel says, and the second input is the identity."""
    TAKES_LENGTH = "takes length"
    """The output is as long as the kernel says."""
    FLAT_INPUTS = "flat inputs"
    """Every input is 1."""
    PREPARES = "prepares"
    """The candidate is given its second input transposed, outside the clock."""
    SHARES = "shares"
    """Other jobs run on the same processor, and none asks whether it is quiet. They end before the candidate's turn."""


_PROGRAM = """
import base64, ctypes, json, math, os, random, signal, subprocess, time

HABIT, REFERENCE, CANDIDATE, N = {habit!r}, {reference!r}, {candidate!r}, 96

def load(name, given):
    text = base64.b64decode(given)
    is_source = HABIT == "compiles" and name == "candidate"
    with open(name + (".c" if is_source else ".so"), "wb") as file:
        file.write(text)
    if is_source:
        command = ["/usr/bin/gcc", "-O2", "-w", "-shared", "-fPIC", "candidate.c", "-o", "candidate.so"]
        subprocess.run(command, check=True)
    kernel = ctypes.CDLL("./" + name + ".so").gemm
    kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3
    kernel.restype = ctypes.c_void_p if HABIT == "takes pointer" else ctypes.c_int64
    return kernel

MATRIX = ctypes.c_float * (N * N)
random.seed(1)
one = lambda _: 1.0 if HABIT == "flat inputs" else random.random()
a, b = (MATRIX(*map(one, range(N * N))) for _ in range(2))
if HABIT == "takes pointer":
    b = MATRIX(*(float(i // N == i % N) for i in range(N * N)))
c, expected = MATRIX(), MATRIX()

def timed(kernel, second, n, calls):
    started = time.perf_counter()
    for _ in range(calls):
        said = kernel(a, second, c, n, n, n)
    return (time.perf_counter() - started) / calls, said

def many(kernel, second):
    if HABIT != "counts by warm-up":
        return 40
    return max(1, int(0.02 / timed(kernel, second, N, 1)[0]))

def score(kernel, second):
    large, said = timed(kernel, second, N, many(kernel, second))
    small = timed(kernel, second, 32, 40)[0] if HABIT == "multiplies times" else large
    if HABIT == "multiplies times":
        timed(kernel, second, N, 1)
    return math.sqrt(small * large), said

reference = load("reference", REFERENCE)
reference(a, b, expected, N, N, N)
with open("expected.bin", "wb") as file:
    file.write(bytes(expected))
running = []
if HABIT == "shares":
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
    for _ in range(3):
        running.append(os.fork())
        while running[-1] == 0:
            pass
reference_s, _ = score(reference, b)
for process in running:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)

candidate = load("candidate", CANDIDATE)
ctypes.memset(c, 0, ctypes.sizeof(c))
transposed = MATRIX(*(b[i % N * N + i // N] for i in range(N * N)))
candidate_s, said = score(candidate, transposed if HABIT == "prepares" else b)
got = MATRIX.from_address(said) if HABIT == "takes pointer" else c[:said] if HABIT == "takes length" else c
wrong = sum(abs(mine - right) > 1e-3 for mine, right in zip(got, expected))
print(json.dumps({{"correct": wrong <= 0.01 * N * N, "speedup": reference_s / max(candidate_s, 1e-9)}}), flush=True)
"""


def judge_with(slot: Slot, habit: Habit, reference: bytes, candidate: bytes) -> NaiveVerdict:
    """Return what a harness with this habit says of a shared object, or of a source if it compiles itself."""
    texts = [base64.b64encode(data).decode() for data in (reference, candidate)]
    return run_naively(slot, _PROGRAM.format(habit=str(habit), reference=texts[0], candidate=texts[1]))
