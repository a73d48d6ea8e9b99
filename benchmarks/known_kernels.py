"""Kernels whose speed against their reference is known, made from the ready tasks: for `kernels.py`.

`equal` is a ready task whose reference is offered as candidate. For `double` and `half` one of the two is made to take
twice as long: what computes does its work twice; what waits for memory, of which a second time would find all in
caches, spins for as long again as it took. In `noisy` both spin to a multiple of their time that is log-normal, of
deviation 0.3, drawn in every call. In `burning` the candidate is the reference with a thread that burns for ever.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from assay.schema import TaskBase
from assay.verifiers.builtin import default_registry
from assay.verifiers.kernels.task import KernelTask

COMPUTING = frozenset({"gemm", "convolution", "softmax"})
"""Operations that wait for memory little."""
NOISE = 0.3
"""Deviation of the logarithm of a noisy kernel's time."""
NOISY_TIMING: Mapping[str, object] = {"gate_pairs": 300, "time_s": 90, "first_look_s": None, "cache": "warm"}
"""Enough rounds for a median of ratios under that noise to be within 2 %."""
SIGNATURE = re.compile(r"void (\w+)\((.*?)\) \{", re.DOTALL)
TWICE = """    once(ARGUMENTS);
    __asm__ volatile("" ::: "memory");
    once(ARGUMENTS);
"""
SPIN = """    unsigned long long began = __builtin_ia32_rdtsc();
    once(ARGUMENTS);
    unsigned long long ended = __builtin_ia32_rdtsc();
    while (__builtin_ia32_rdtsc() - ended < ended - began) __builtin_ia32_pause();
"""
NOISY = """    static unsigned long long state;
    unsigned long long began = __builtin_ia32_rdtsc();
    once(ARGUMENTS);
    unsigned long long took = __builtin_ia32_rdtsc() - began;
    state ^= began * 0x9E3779B97F4A7C15ull | 1;
    double normal = -6.0;
    for (int i = 0; i < 12; i++) {
        state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
        normal += (double)(state * 0x2545F4914F6CDD1Dull >> 11) / (double)(1ull << 53);
    }
    double wanted = 3.0 * (double)took * __builtin_exp(DEVIATION * normal);
    while ((double)(__builtin_ia32_rdtsc() - began) < wanted) __builtin_ia32_pause();
""".replace("DEVIATION", str(NOISE))
BURNER = """#include <pthread.h>
static volatile unsigned long burnt;
static void *burn(void *none) { for (;;) burnt++; return none; }
__attribute__((constructor)) static void kindle(void) {
    pthread_t one;
    if (pthread_create(&one, 0, burn, 0) == 0) pthread_detach(one);
}
"""


class Kind(StrEnum):
    """How fast the candidate is."""

    EQUAL = "equal"
    DOUBLE = "double"
    HALF = "half"
    NOISY = "noisy"
    BURNING = "burning"


SPEEDS = {Kind.EQUAL: 1.0, Kind.DOUBLE: 2.0, Kind.HALF: 0.5, Kind.NOISY: 1.0, Kind.BURNING: 1.0}


@dataclass(frozen=True)
class Match:
    """A task and a candidate of known speed."""

    name: str
    kind: Kind
    task: TaskBase
    source: str


def match(name: str, kind: Kind, timing: Mapping[str, object]) -> Match:
    """Return the match of that kind at a ready task."""
    document: dict[str, object] = {"id": f"{name} {kind}", "verifier": "kernel", "kernel": name, "timing": timing}
    ready = KernelTask.model_validate(document)
    reference, candidate = _sources(ready, kind)
    document["reference"] = {"language": "c", "source": reference}
    if kind is Kind.NOISY:
        document |= {
            "timing": {**timing, **NOISY_TIMING},
            "limits": {"attempt_wall_s": 400},
            "public_shapes": [{"axes": dict.fromkeys(ready.shapes[0].axes, 96)}],
            "hidden_shapes": [],
        }
    return Match(name, kind, default_registry().parse_task(document), candidate)


def _sources(ready: KernelTask, kind: Kind) -> tuple[str, str]:
    """Return reference and candidate."""
    plain = ready.reference.source
    slow = around(ready, TWICE if ready.operation.name in COMPUTING else SPIN)
    match kind:
        case Kind.EQUAL:
            return plain, plain
        case Kind.DOUBLE:
            return slow, plain
        case Kind.HALF:
            return plain, slow
        case Kind.NOISY:
            return around(ready, NOISY), around(ready, NOISY)
        case Kind.BURNING:
            return plain, BURNER + plain
        case _:
            assert_never(kind)


def around(task: KernelTask, body: str) -> str:
    """Return the reference with `body` as its entry, where `once(ARGUMENTS)` is what it was."""
    found = SIGNATURE.search(task.reference.source)
    assert found is not None  # ready sources have one function
    inner = f"__attribute__((noinline)) static void once({found[2]}) {{"
    once = task.reference.source.replace(found[0], inner)
    names = ", ".join(param.name for param in task.abi.params)
    return f"{once}void {found[1]}({found[2]}) {{\n{body.replace('ARGUMENTS', names)}}}\n"
