"""Measures in one run what Assay costs beside two ways without isolation.

  1. the whole HTTP path, isolation and split oracle included: one batch submitted, its results followed
  2. the bare-fork limit: warm interpreter, fork, exec the same program, no isolation, one forker per core; and the
     same by a single forker with numpy loaded, which is what the targets were set against (docs/decisions/0005)
  3. one unisolated `python file.py` per attempt, as many at once as the service runs

Then the latency of a one-attempt `POST /v1/score` beside `python -c pass`, the memory of the idle service, and how
long a large batch takes to be accepted.

  .venv/bin/python benchmarks/throughput.py [--attempts 492] [--rounds 3] [--humaneval FILE] [--json FILE]
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import httpx
from baselines import Rate, measure
from running_service import RunningService, running_service
from workload import DEFAULT_FILE, Workload, load_workload

from assay.clients import calls
from assay.clients.client import Client
from assay.outcomes import Outcome
from assay.schema import BatchOptions

CORES = len(os.sched_getaffinity(0))
SLOTS = 2 * CORES
_NAMES = {"http": "http", "fork": "bare fork", "one_forker": "one forker", "spawn": "python file.py"}
UNCACHED = BatchOptions(cache=False)


def main() -> None:
    """Measure and print everything."""
    arguments = _arguments()
    workload = load_workload(arguments.humaneval)
    print(f"{workload.name}; {arguments.attempts} attempts a round, {CORES} cores, {SLOTS} slots")
    with running_service() as service, Client(service.url) as client:
        idle_mb = service.pss_mb()
        through_http(client, workload, SLOTS * 4)  # warm interpreters start with the first attempts
        rates = _rounds(service, client, workload, arguments)
        figures: dict[str, float] = {**rates, **latency(client, workload, arguments.calls), **memory(service, idle_mb)}
        accepted_s = acceptance_s(service, client, workload, arguments.batch)
        figures |= {"batch_attempts": arguments.batch, "batch_accepted_s": accepted_s}
    _print_tail(figures)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def through_http(client: Client, workload: Workload, count: int) -> float:
    """Submit one batch, follow its results, and return attempts per second."""
    started = time.perf_counter()
    accepted = client.submit(workload.tasks, workload.attempts(count), options=UNCACHED)
    outcomes = [result.outcome for result in client.iter_results(accepted.batch_id)]
    took_s = time.perf_counter() - started
    wrong = [outcome for outcome in outcomes if outcome is not Outcome.PASSED]
    if wrong:
        raise SystemExit(f"{len(wrong)} of {count} right programs were not passed: {sorted(set(wrong))}")
    return count / took_s


def latency(client: Client, workload: Workload, count: int) -> Mapping[str, float]:
    """Time one-attempt scores one after the other, and starts of a Python that does nothing in between."""
    scored, started = [], []
    for attempt in range(count):
        number = attempt % len(workload.tasks)
        task, completion = workload.tasks[number], workload.completions[number]
        scored.append(_timed(lambda t=task, c=completion: client.score_one(t, c)))  # type: ignore[misc]  # bound now
        if attempt % 4 == 0:
            started.append(_timed(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True)))
    return {
        "score_p50_ms": 1000 * statistics.median(scored),
        "score_p99_ms": 1000 * quantile(scored, 0.99),
        "python_c_pass_p50_ms": 1000 * statistics.median(started),
    }


def memory(service: RunningService, idle_mb: float) -> Mapping[str, float]:
    """Return the service's memory before the first attempt and now, idle again."""
    return {"pss_fresh_mb": idle_mb, "pss_idle_mb": service.pss_mb()}


def acceptance_s(service: RunningService, client: Client, workload: Workload, count: int) -> float:
    """Return the seconds between sending a ready-made batch and its acceptance; then cancel it."""
    call = calls.submit(workload.tasks, workload.attempts(count), UNCACHED, None)
    started = time.perf_counter()
    answer = httpx.post(
        service.url + call.path, headers=dict(call.headers), content=call.body, timeout=60.0
    ).raise_for_status()
    took_s = time.perf_counter() - started
    client.cancel(answer.json()["batch_id"])
    return took_s


def quantile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _rounds(
    service: RunningService, client: Client, workload: Workload, arguments: argparse.Namespace
) -> Mapping[str, float]:
    """Measure the three ways back to back, so that a busy machine disturbs them alike; medians over rounds."""
    count = arguments.attempts
    rows = []
    for number in range(arguments.rounds):
        cpu_s = service.cpu_s()
        http = Rate(through_http(client, workload, count), 0.0)
        row = {
            "http": Rate(http.per_s, 1000 * (service.cpu_s() - cpu_s) / count),
            "fork": measure("fork", workload.programs, CORES, count),
            "one_forker": measure("fork-numpy", workload.programs, 1, count),
            "spawn": measure("spawn", workload.programs, SLOTS, count),
        }
        rows.append(row)
        print(
            f"round {number + 1}: " + ", ".join(f"{_NAMES[name]} {_shown(rate)}" for name, rate in row.items()),
            flush=True,
        )
    figures = {f"{name}_per_s": statistics.median(row[name].per_s for row in rows) for name in _NAMES}
    figures |= {f"{name}_cpu_ms": statistics.median(row[name].cpu_ms for row in rows) for name in _NAMES}
    for name in ("fork", "one_forker", "spawn"):
        figures[f"http_to_{name}"] = statistics.median(row["http"].per_s / row[name].per_s for row in rows)
    return figures


def _shown(rate: Rate) -> str:
    return f"{rate.per_s:.1f}/s ({rate.cpu_ms:.1f} ms CPU)"


def _print_tail(figures: Mapping[str, float]) -> None:
    print(
        f"median: http {figures['http_per_s']:.1f}/s = {figures['http_to_one_forker']:.2f} of one forker "
        f"(at least 0.4, aim 0.5) = {figures['http_to_fork']:.2f} of a forker on each of {CORES} cores "
        f"= {figures['http_to_spawn']:.2f} of python file.py (at least 1.5, aim 2)"
    )
    print(
        f"CPU of one attempt: http {figures['http_cpu_ms']:.1f} ms, bare fork {figures['fork_cpu_ms']:.1f} ms, "
        f"python file.py {figures['spawn_cpu_ms']:.1f} ms"
    )
    print(
        f"one-attempt score: p50 {figures['score_p50_ms']:.1f} ms, p99 {figures['score_p99_ms']:.1f} ms; "
        f"python -c pass: {figures['python_c_pass_p50_ms']:.1f} ms "
        f"(ratio {figures['score_p50_ms'] / figures['python_c_pass_p50_ms']:.2f}, at most 2)"
    )
    print(
        f"memory (PSS, whole service): {figures['pss_fresh_mb']:.0f} MB before the first attempt, "
        f"{figures['pss_idle_mb']:.0f} MB idle after {CORES} cores' work (at most 400)"
    )
    print(
        f"{figures['batch_attempts']:,} attempts accepted in {figures['batch_accepted_s']:.2f} s "
        "(10,000 in at most 2 s)"
    )


def _timed(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=492, help="attempts a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=200, help="one-attempt scores for the latency")
    parser.add_argument("--batch", type=int, default=10_000, help="attempts of the batch whose acceptance is timed")
    parser.add_argument("--humaneval", type=Path, default=DEFAULT_FILE)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
