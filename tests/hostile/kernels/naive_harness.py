"""What a harness in the kernel's own process says: the same clock, buffers and inputs for both, and a bad habit more.

It runs in a jail, as the program of a `run` task. Its faults are those of published harnesses. Whatever its habit is:
the seed is in the environment, what is expected lies in memory and on disk beside the kernel (but for one habit), every
call has the same inputs, 99 % of the output are enough, and the verdict is the first line that anybody prints.
"""

import base64
import json
from dataclasses import dataclass
from enum import StrEnum

from assay.sandboxes.interface import Slot
from assay.verifiers.run import RunTask, RunVerifier


class Habit(StrEnum):
    """What a harness does that a kernel, or who else is on the machine, can turn to account."""

    KNOWS_FIRST = "knows first"
    """Nothing more than above. The output is cleared before the candidate's turn."""
    KEEPS_OUTPUT = "keeps output"
    """The output is the reference's still; what is expected is computed afterwards, from inputs that may have changed.
    """
    LOOKS_LATE = "looks late"
    """The output is looked at a while after the clock was stopped."""
    CHECKS_FIRST = "checks first"
    """The output of the first call is looked at, and those that are timed are not."""
    ASKS = "asks"
    """Kernels run in a process of their own, which answers a byte; it is not stopped when it has answered, and inputs
    are made ready between calls. The output is looked at a while later, and the quickest call counts."""
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
    """Other jobs run on the same cores, and none asks whether they are quiet. They end before the candidate's turn."""


_PROGRAM = """
import base64, ctypes, json, math, mmap, os, random, signal, socket, subprocess, time

HABIT, KIND, N, CALLS, MARGIN, AFTERWARDS = {habit!r}, ctypes.{kind}, 96, 40, 1 << 18, 0.4
os.environ["SEED"] = "1"

def load(name, given):
    is_source = HABIT == "compiles" and name == "candidate"
    with open(name + (".c" if is_source else ".so"), "wb") as file:
        file.write(base64.b64decode(given))
    if is_source:
        command = ["/usr/bin/gcc", "-O2", "-w", "-shared", "-fPIC", "candidate.c", "-o", "candidate.so"]
        subprocess.run(command, check=True)
    kernel = ctypes.CDLL("./" + name + ".so").gemm
    kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3
    kernel.restype = ctypes.c_void_p if HABIT == "takes pointer" else ctypes.c_int64
    return kernel

def matrix(values=None):
    memory = mmap.mmap(-1, 2 * MARGIN + N * N * ctypes.sizeof(KIND))  # processes that it starts share it
    made = (KIND * (N * N)).from_buffer(memory, MARGIN)
    if values is not None:
        made[:] = values
    return made

def timed(kernel, second, n, calls):
    started = time.perf_counter()
    for _ in range(calls):
        said = kernel(a, second, c, n, n, n)
    return (time.perf_counter() - started) / calls, said

def asked(kernel, second):
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        os.dup2(theirs.fileno(), 3)
        while os.read(3, 1) == b"g":
            kernel(a, second, c, N, N, N)
            os.write(3, b"d")
    took = []
    for _ in range(2):
        started = time.perf_counter()
        ours.send(b"g")
        ours.recv(1)
        took.append(time.perf_counter() - started)
        time.sleep(AFTERWARDS)
    return min(took), None

def score(kernel, second):
    calls = CALLS
    if HABIT == "asks":
        return asked(kernel, second)
    if HABIT == "checks first":
        timed(kernel, second, N, 1)
        checked[:] = c
    if HABIT == "counts by warm-up":
        calls = max(1, int(0.02 / timed(kernel, second, N, 1)[0]))
    large, said = timed(kernel, second, N, calls)
    if HABIT != "multiplies times":
        return large, said
    small = timed(kernel, second, 32, CALLS)[0]
    timed(kernel, second, N, 1)
    return math.sqrt(small * large), said

random.seed(int(os.environ["SEED"]))
a, b = (matrix([1.0 if HABIT == "flat inputs" else random.random() for _ in range(N * N)]) for _ in range(2))
if HABIT == "takes pointer":
    b = matrix([float(i // N == i % N) for i in range(N * N)])
c, expected, checked = matrix(), matrix(), matrix()
reference = load("reference", {reference!r})
if HABIT != "keeps output":
    reference(a, b, expected, N, N, N)
    with open("expected.bin", "wb") as file:
        file.write(bytes(expected))
candidate = load("candidate", {candidate!r})

others = []
if HABIT == "shares":
    for _ in range(min(50, 4 * os.cpu_count())):
        others.append(os.fork())
        while others[-1] == 0:
            pass
reference_s, _ = score(reference, b)
for process in others:
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)

if HABIT != "keeps output":
    ctypes.memset(c, 0, ctypes.sizeof(c))
second = matrix([b[i % N * N + i // N] for i in range(N * N)]) if HABIT == "prepares" else b
candidate_s, said = score(candidate, second)
if HABIT == "looks late":
    time.sleep(AFTERWARDS)
if HABIT == "takes pointer":
    got = type(c).from_address(said)
else:
    got = list(checked if HABIT == "checks first" else c[:said] if HABIT == "takes length" else c)
if HABIT == "keeps output":
    reference(a, b, expected, N, N, N)
wrong = sum(abs(mine - right) > 1e-3 for mine, right in zip(got, expected))
print(json.dumps({{"correct": wrong <= 0.01 * N * N, "speedup": reference_s / max(candidate_s, 1e-9)}}), flush=True)
os._exit(0)
"""


@dataclass(frozen=True)
class NaiveVerdict:
    """What it says; None as the speed-up means that it did not end."""

    correct: bool
    speedup: float | None


def judge_naively(
    slot: Slot, habit: Habit, reference: bytes, candidate: bytes, kind: str = "c_float", cpu_s: float = 10
) -> NaiveVerdict:
    """Return what a harness with this habit says of a shared object, or of a source if it compiles itself.

    `kind` is the type of the matrices' elements, of ctypes; `cpu_s` is how long it may compute.
    """
    texts = [base64.b64encode(data).decode() for data in (reference, candidate)]
    program = _PROGRAM.format(habit=str(habit), kind=kind, reference=texts[0], candidate=texts[1])
    limits = {"wall_s": 10, "cpu_s": cpu_s, "processes": 64}
    task = RunTask.model_validate({"id": "naive", "verifier": "run", "limits": limits})
    lines = RunVerifier().judge(task, program, slot).stdout.splitlines()
    if not lines:
        return NaiveVerdict(False, None)
    said = json.loads(lines[0])
    return NaiveVerdict(said["correct"], said["speedup"])
