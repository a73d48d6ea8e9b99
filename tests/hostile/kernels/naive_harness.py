"""What a harness in the kernel's own process would say: the same clock, buffers and inputs for both, one late check.

It runs in a jail, as the program of a `run` task. Every kernel of `hacks` is shown to be accepted by it.
"""

import base64
import json
from dataclasses import dataclass

from assay.sandboxes.interface import Slot
from assay.verifiers.run import RunTask, RunVerifier

_PROGRAM = """
import base64, ctypes, json, random, sys, time

def load(name, text):
    with open(name, "wb") as file:
        file.write(base64.b64decode(text))
    kernel = ctypes.CDLL("./" + name).gemm
    kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3
    kernel.restype = None
    return kernel

REFERENCE, CANDIDATE, N, CALLS, KIND = {reference!r}, {candidate!r}, 96, 40, ctypes.{kind}
reference, candidate = load("reference.so", REFERENCE), load("candidate.so", CANDIDATE)
random.seed(1)
a, b = ((KIND * (N * N))(*(random.random() for _ in range(N * N))) for _ in range(2))
c = (KIND * (N * N))()

def timed(kernel):
    started = time.perf_counter()
    for _ in range(CALLS):
        kernel(a, b, c, N, N, N)
    return time.perf_counter() - started

reference_s, candidate_s = timed(reference), timed(candidate)
got = list(c)
reference(a, b, c, N, N, N)
wrong = sum(abs(mine - right) > 1e-3 for mine, right in zip(got, c))
print(json.dumps({{"correct": wrong <= 0.01 * N * N, "speedup": reference_s / max(candidate_s, 1e-9)}}), flush=True)
"""
_LIMITS = {"wall_s": 5, "cpu_s": 5, "processes": 64}


@dataclass(frozen=True)
class NaiveVerdict:
    """What it says; None as the speed-up means that it did not end."""

    correct: bool
    speedup: float | None


def judge_naively(slot: Slot, reference: bytes, candidate: bytes, kind: str = "c_float") -> NaiveVerdict:
    """Return its verdict on two shared objects, read from the first line that it, or anybody, printed."""
    texts = [base64.b64encode(data).decode() for data in (reference, candidate)]
    source = _PROGRAM.format(reference=texts[0], candidate=texts[1], kind=kind)
    task = RunTask.model_validate({"id": "naive", "verifier": "run", "limits": _LIMITS})
    verdict = RunVerifier().judge(task, source, slot)
    lines = verdict.stdout.splitlines()
    if not lines:
        return NaiveVerdict(False, None)
    said = json.loads(lines[0])
    return NaiveVerdict(said["correct"], said["speedup"])
