"""What a harness in the kernel's own process would say: the same clock, buffers and inputs for both, one late check.

It runs in a jail, as the program of a `run` task. Every kernel of `hacks` is shown to be accepted by it. Its faults are
those of published harnesses: seed in the environment, expected values in memory and on disk beside the kernel.
"""

import base64
import json
from dataclasses import dataclass

from assay.sandboxes.interface import Slot
from assay.verifiers.run import RunTask, RunVerifier

_PROGRAM = """
import base64, ctypes, json, os, random, sys, time

os.environ["SEED"] = "1"

def load(name, text):
    with open(name, "wb") as file:
        file.write(base64.b64decode(text))
    kernel = ctypes.CDLL("./" + name).gemm
    kernel.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] * 3
    kernel.restype = None
    return kernel

REFERENCE, CANDIDATE, N, CALLS, KIND, IS_EARLY = {reference!r}, {candidate!r}, 96, 40, ctypes.{kind}, {is_early!r}
random.seed(int(os.environ["SEED"]))
a, b = ((KIND * (N * N))(*(random.random() for _ in range(N * N))) for _ in range(2))
c, expected = (KIND * (N * N))(), (KIND * (N * N))()
reference = load("reference.so", REFERENCE)
if IS_EARLY:
    reference(a, b, expected, N, N, N)
    with open("expected.bin", "wb") as file:
        file.write(bytes(expected))
candidate = load("candidate.so", CANDIDATE)

def timed(kernel):
    started = time.perf_counter()
    for _ in range(CALLS):
        kernel(a, b, c, N, N, N)
    return time.perf_counter() - started

reference_s = timed(reference)
if IS_EARLY:
    ctypes.memset(c, 0, ctypes.sizeof(c))
candidate_s = timed(candidate)
got = list(c)
if not IS_EARLY:
    reference(a, b, expected, N, N, N)
wrong = sum(abs(mine - right) > 1e-3 for mine, right in zip(got, expected))
print(json.dumps({{"correct": wrong <= 0.01 * N * N, "speedup": reference_s / max(candidate_s, 1e-9)}}), flush=True)
"""
_LIMITS = {"wall_s": 10, "cpu_s": 10, "processes": 64}


@dataclass(frozen=True)
class NaiveVerdict:
    """What it says; None as the speed-up means that it did not end."""

    correct: bool
    speedup: float | None


def judge_naively(
    slot: Slot, reference: bytes, candidate: bytes, kind: str = "c_float", *, is_early: bool = False
) -> NaiveVerdict:
    """Return its verdict on two shared objects, read from the first line that it, or anybody, printed.

    `is_early` has what is expected computed and kept before the candidate is loaded, and the output zeroed; else it is
    computed afterwards, from the same inputs, which may have changed.
    """
    texts = [base64.b64encode(data).decode() for data in (reference, candidate)]
    source = _PROGRAM.format(reference=texts[0], candidate=texts[1], kind=kind, is_early=is_early)
    return run_naively(slot, source)


def run_naively(slot: Slot, program: str) -> NaiveVerdict:
    """Return what a harness of this kind says, from the first line that it, or anybody, printed."""
    task = RunTask.model_validate({"id": "naive", "verifier": "run", "limits": _LIMITS})
    verdict = RunVerifier().judge(task, program, slot)
    lines = verdict.stdout.splitlines()
    if not lines:
        return NaiveVerdict(False, None)
    said = json.loads(lines[0])
    return NaiveVerdict(said["correct"], said["speedup"])
