"""Kernels of known speed on this machine's processor: is equal called equal, and twice as fast twice?

Run it beside whatever else the machine does:

    python benchmarks/kernels.py --tasks all --kinds equal --runs 1      # every ready task against itself
    python benchmarks/kernels.py --tasks all --kinds double --runs 1     # and with a kernel of twice its speed
    python benchmarks/kernels.py --kinds equal,double,half --runs 20     # a few tasks, many times

`equal` is a ready task whose reference is offered as candidate. For the others one of the two is made to take twice as
long: what computes does its work twice; what waits for memory, of which a second time would find all in caches, spins
for as long again as it took.

One line of JSON an attempt; then one a task and kind; then one a kind, with what must hold: equal kernels are never
significant, double ones are measured as 1.8 to 2.2 with an interval that excludes 1, and the share of `inconclusive` is
the same for every speed.
"""

import argparse
import json
import re
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from assay.outcomes import Outcome
from assay.sandboxes.backends import open_pool
from assay.sandboxes.pool import Pool
from assay.schema import TaskBase
from assay.settings import Settings
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator
from assay.verifiers.kernels.ready import NAMES
from assay.verifiers.kernels.task import KernelTask

USUAL = ("gemm/float32", "reduction/int32", "axpy/float32")
"""One that computes, and the two that were hardest to time."""
COMPUTING = frozenset({"gemm", "convolution", "softmax"})
"""Operations that wait for memory little."""
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


class Kind(StrEnum):
    """How fast the candidate is."""

    EQUAL = "equal"
    DOUBLE = "double"
    HALF = "half"


SPEEDS = {Kind.EQUAL: 1.0, Kind.DOUBLE: 2.0, Kind.HALF: 0.5}


@dataclass(frozen=True)
class Run:
    """One attempt."""

    task: str
    kind: Kind
    outcome: str
    speedup: float | None
    low: float | None
    is_significant: bool
    wall_s: float
    message: str


@dataclass(frozen=True)
class Match:
    """A task and a candidate of known speed."""

    name: str
    kind: Kind
    task: TaskBase
    source: str


def match(name: str, kind: Kind, timing: dict[str, object]) -> Match:
    """The match of that kind at a ready task."""
    document: dict[str, object] = {"id": f"{name} {kind}", "verifier": "kernel", "kernel": name, "timing": timing}
    ready = KernelTask.model_validate(document)
    if kind is Kind.EQUAL:
        return Match(name, kind, default_registry().parse_task(document), ready.reference.source)
    plain, slow = ready.reference.source, slowed(ready)
    reference, candidate = (slow, plain) if kind is Kind.DOUBLE else (plain, slow)
    document["reference"] = {"language": "c", "source": reference}
    return Match(name, kind, default_registry().parse_task(document), candidate)


def slowed(task: KernelTask) -> str:
    """The reference, taking twice its time."""
    found = SIGNATURE.search(task.reference.source)
    assert found is not None  # ready sources have one function
    inner = f"__attribute__((noinline)) static void once({found[2]}) {{"
    once = task.reference.source.replace(found[0], inner)
    body = TWICE if task.operation.name in COMPUTING else SPIN
    names = ", ".join(param.name for param in task.abi.params)
    return f"{once}void {found[1]}({found[2]}) {{\n{body.replace('ARGUMENTS', names)}}}\n"


def measured(pool: Pool, matches: Sequence[Match], runs: int, retries: int) -> Iterator[Run]:
    """Every match in turn, so that the machine's moods fall on all of them."""
    evaluator = Evaluator(default_registry(), pool, retries=retries)
    for _ in range(runs):
        for one in matches:
            started = time.monotonic()
            verdict = evaluator.evaluate(one.task, f"```c\n{one.source}```").verdict
            is_told = verdict.outcome in (Outcome.PASSED, Outcome.FAILED)
            yield Run(
                one.name,
                one.kind,
                str(verdict.outcome),
                verdict.terms.get("speedup"),
                verdict.terms.get("speedup_low"),
                is_told and re.search(r"\], significant", verdict.message) is not None,
                time.monotonic() - started,
                verdict.message,
            )


def summary(kind: Kind, runs: Sequence[Run]) -> dict[str, object]:
    """What the runs of one kind came to."""
    told = [run for run in runs if run.outcome in (Outcome.PASSED, Outcome.FAILED)]
    speedups = sorted(run.speedup for run in told if run.speedup is not None)
    walls = sorted(run.wall_s for run in runs)
    inconclusive = sum(run.outcome == Outcome.INCONCLUSIVE for run in runs)
    return {
        "kind": kind,
        "runs": len(runs),
        "inconclusive": inconclusive,
        "share_inconclusive": round(inconclusive / len(runs), 3),
        "other": sum(run.outcome not in (Outcome.PASSED, Outcome.FAILED, Outcome.INCONCLUSIVE) for run in runs),
        "significant": sum(run.is_significant for run in told),
        "off_by_a_tenth": sum(abs(speedup / SPEEDS[kind] - 1) > 0.1 for speedup in speedups),
        "least_median_most": [speedups[0], statistics.median(speedups), speedups[-1]] if speedups else None,
        "median_and_most_wall_s": [statistics.median(walls), walls[-1]],
    }


def chosen(tasks: str) -> Sequence[str]:
    """The tasks of a list."""
    return NAMES if tasks == "all" else tasks.split(",")


def report(runs: Sequence[Run], say: Callable[[dict[str, object]], None]) -> None:
    """One line a task and kind, then one a kind."""
    kinds = list(dict.fromkeys(run.kind for run in runs))
    for name in dict.fromkeys(run.task for run in runs):
        for kind in kinds:
            say({"task": name, **summary(kind, [run for run in runs if (run.task, run.kind) == (name, kind)])})
    for kind in kinds:
        say(summary(kind, [run for run in runs if run.kind == kind]))


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=",".join(USUAL), help="ready tasks, or `all`")
    parser.add_argument("--kinds", default="equal,double,half")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--profile", default="quick", help="of the timing")
    parser.add_argument("--retries", type=int, default=0, help="of inconclusive attempts")
    given = parser.parse_args()
    timing: dict[str, object] = {"profile": given.profile}
    matches = [match(name, Kind(kind), timing) for name in chosen(given.tasks) for kind in given.kinds.split(",")]
    pool = open_pool(Settings(slots=1, sandbox="local"))
    runs: list[Run] = []
    try:
        for run in measured(pool, matches, given.runs, given.retries):
            runs.append(run)
            print(json.dumps(asdict(run)), flush=True)
    finally:
        pool.close()
    report(runs, lambda line: print(json.dumps(line), flush=True))


if __name__ == "__main__":
    main()
