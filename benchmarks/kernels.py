"""Kernels of known speed on this machine's processor: is equal called equal, and twice as fast twice?

Run it beside whatever else the machine does: `python benchmarks/kernels.py --runs 20`. Every candidate computes the
product of the reference (which does it twice) once, twice or four times over; so the true speed-ups are 2, 1 and 0.5.
One line of JSON a run, then one a speed: how many were significant, inconclusive, or off by more than a tenth.
"""

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from assay.outcomes import Outcome
from assay.sandboxes.backends import open_pool
from assay.sandboxes.pool import Pool
from assay.schema import TaskBase
from assay.settings import Settings
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator

SOURCE = """#include <stdint.h>
void gemm(const float *a, const float *b, float *c, int64_t m, int64_t n, int64_t k) {
    for (int again = 0; again < TIMES; again++) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                float sum = 0;
                for (int64_t p = 0; p < k; p++) sum += a[i * k + p] * b[p * n + j];
                c[i * n + j] = sum;
            }
        __asm__ volatile("" ::: "memory");
    }
}
"""
REFERENCE_TIMES = 2


@dataclass(frozen=True)
class Run:
    """One attempt."""

    true_speedup: float
    outcome: str
    speedup: float | None
    low: float | None
    is_significant: bool
    wall_s: float
    message: str


def source(times: int) -> str:
    """The product, so many times over."""
    return SOURCE.replace("TIMES", str(times))


def make_task(time_s: float) -> TaskBase:
    """A product of 96 rows; long beside an empty call."""
    document = {
        "id": "benchmark",
        "verifier": "kernel",
        "kernel": "gemm/float32",
        "reference": {"language": "c", "source": source(REFERENCE_TIMES)},
        "public_shapes": [{"axes": {"m": 96, "n": 96, "k": 96}}],
        "hidden_shapes": [{"axes": {"m": 67, "n": 129, "k": 31}, "weight": 0}],
        "timing": {"warm_up_s": 0.2, "time_s": time_s},
    }
    return default_registry().parse_task(document)


def measured(pool: Pool, task: TaskBase, runs: int, retries: int) -> Iterator[Run]:
    """Every candidate in turn, so that the machine's moods fall on all of them."""
    evaluator = Evaluator(default_registry(), pool, retries=retries)
    for _ in range(runs):
        for times in (1, 2, 4):
            started = time.monotonic()
            verdict = evaluator.evaluate(task, f"```c\n{source(times)}```").verdict
            yield Run(
                REFERENCE_TIMES / times,
                str(verdict.outcome),
                verdict.terms.get("speedup"),
                verdict.terms.get("speedup_low"),
                "no significant difference" not in verdict.message and verdict.outcome is not Outcome.INCONCLUSIVE,
                time.monotonic() - started,
                verdict.message,
            )


def summary(true_speedup: float, runs: list[Run]) -> dict[str, object]:
    """What the runs of one candidate came to."""
    told = [run for run in runs if run.outcome in (Outcome.PASSED, Outcome.FAILED)]
    speedups = sorted(run.speedup for run in told if run.speedup is not None)
    return {
        "true_speedup": true_speedup,
        "runs": len(runs),
        "inconclusive": sum(run.outcome == Outcome.INCONCLUSIVE for run in runs),
        "other": sum(run.outcome not in (Outcome.PASSED, Outcome.FAILED, Outcome.INCONCLUSIVE) for run in runs),
        "significant": sum(run.is_significant for run in told),
        "off_by_a_tenth": sum(abs(speedup / true_speedup - 1) > 0.1 for speedup in speedups),
        "least_median_most": [speedups[0], statistics.median(speedups), speedups[-1]] if speedups else None,
        "median_wall_s": statistics.median(run.wall_s for run in runs),
    }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--time-s", type=float, default=1.0, help="seconds of timed calls of the reference")
    parser.add_argument("--retries", type=int, default=0, help="of inconclusive attempts")
    given = parser.parse_args()
    pool = open_pool(Settings(slots=1, sandbox="local"))
    runs: list[Run] = []
    try:
        for run in measured(pool, make_task(given.time_s), given.runs, given.retries):
            runs.append(run)
            print(json.dumps(asdict(run)), flush=True)
    finally:
        pool.close()
    for true_speedup in (1.0, 2.0, 0.5):
        print(json.dumps(summary(true_speedup, [run for run in runs if run.true_speedup == true_speedup])))


if __name__ == "__main__":
    main()
