"""Measures one backend beside another in the same run: the same attempts, isolated, through evaluate, without HTTP.

  .venv/bin/python benchmarks/backends.py [--backends local docker] [--attempts 492] [--rounds 5] [--humaneval FILE]

Rounds alternate, so that a busy machine disturbs both alike; the figure is the median of the rounds' ratios.
"""

import argparse
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from workload import DEFAULT_FILE, Workload, load_workload

from assay.outcomes import Outcome
from assay.sandboxes.backends import open_pool
from assay.settings import load_settings, override
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator


def main() -> None:
    """Measure and print the rates and their ratio."""
    arguments = _arguments()
    workload = load_workload(arguments.humaneval)
    settings = [override(load_settings(), {"sandbox": name}) for name in arguments.backends]
    pools = [open_pool(one) for one in settings]
    cores = len(os.sched_getaffinity(0))
    print(f"{workload.name}; {arguments.attempts} attempts a round, {cores} cores, {pools[0].size} slots")
    try:
        evaluators = [Evaluator(default_registry(), pool) for pool in pools]
        for evaluator, pool in zip(evaluators, pools, strict=True):
            rate(evaluator, workload, 4 * pool.size, pool.size)  # warm interpreters start with the first attempts
        ratios = []
        for number in range(arguments.rounds):
            first, second = (
                rate(evaluator, workload, arguments.attempts, pool.size)
                for evaluator, pool in zip(evaluators, pools, strict=True)
            )
            ratios.append(second / first)
            print(
                f"round {number + 1}: {pools[0].level} {first:.1f}/s, {pools[1].level} {second:.1f}/s "
                f"= {second / first:.2f}",
                flush=True,
            )
    finally:
        for pool in pools:
            pool.close()
    print(f"median: {pools[1].level} is {statistics.median(ratios):.2f} of {pools[0].level} (at least 0.8 is asked)")


def rate(evaluator: Evaluator, workload: Workload, count: int, slots: int) -> float:
    """Judge `count` right programs, as many at once as there are slots; returns attempts per second."""
    registry = default_registry()
    tasks = [registry.parse_task(task) for task in workload.tasks]
    started = time.perf_counter()
    with ThreadPoolExecutor(slots) as threads:
        judged = [
            threads.submit(evaluator.evaluate, tasks[number % len(tasks)], workload.completions[number % len(tasks)])
            for number in range(count)
        ]
        outcomes = [one.result().verdict.outcome for one in judged]
    took_s = time.perf_counter() - started
    wrong = [outcome for outcome in outcomes if outcome is not Outcome.PASSED]
    if wrong:
        raise SystemExit(f"{len(wrong)} of {count} right programs were not passed: {sorted(set(wrong))}")
    return count / took_s


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", nargs=2, default=["local", "docker"], metavar="NAME")
    parser.add_argument("--attempts", type=int, default=492, help="attempts a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--humaneval", type=Path, default=DEFAULT_FILE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
