"""Measures how fast attempts are judged that run no program: IoU, class and format, and maths that needs a process.

1. `assay score` over files, tied to one core: attempts a second once it has started, and what starting takes
2. one HTTP batch of the same attempts through a service on all cores: from sending it to its last result, read and
   typed by the client, whose work counts; caching off

Maths may use all cores in both: its processes run beside the worker.

.venv/bin/python benchmarks/rules.py [--attempts 50000] [--http-attempts 20000] [--maths 2000] [--rounds 3]
    [--json FILE]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from baselines import Rate
from rule_pairs import Document, Pairs, classification, detection, layout, symbolic_maths, write_lines
from running_service import RunningService, running_service

from assay.clients.client import Client
from assay.outcomes import NULL_REWARD
from assay.schema import BatchOptions

CORES = frozenset(os.sched_getaffinity(0))
ONE_CORE = frozenset({min(CORES)})
LOCAL_PER_S = 5_000
HTTP_PER_S = 2_000
MATHS_PER_S = 200
_LIGHT = (detection, classification, layout)
_WARM_UP = 500
UNCACHED = BatchOptions(cache=False)


def main() -> None:
    """Measure and print everything."""
    arguments = _arguments()
    rounds = arguments.rounds
    figures: dict[str, float] = {}
    for make in _LIGHT:
        figures |= local_figures(make(arguments.attempts), ONE_CORE, LOCAL_PER_S, rounds)
    maths = symbolic_maths(arguments.maths)
    figures |= local_figures(maths, CORES, MATHS_PER_S, rounds)
    with running_service() as service, Client(service.url) as client:
        for make in _LIGHT:
            figures |= http_figures(service, client, make(arguments.http_attempts), HTTP_PER_S, rounds)
        figures |= http_figures(service, client, maths, MATHS_PER_S, rounds)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def local_figures(pairs: Pairs, cores: frozenset[int], target_per_s: int, rounds: int) -> Mapping[str, float]:
    """Measure `assay score`; print a line and return its figures by name."""
    with TemporaryDirectory(prefix="assay-bench-") as name:
        measured = [measure_local(Path(name), pairs, cores) for _ in range(rounds)]
    rate = _median([rate for rate, _ in measured])
    start_s = statistics.median(start_s for _, start_s in measured)
    print(
        f"{pairs.name}: assay score on {_cores(cores)} {rate.per_s:,.0f}/s (at least {target_per_s:,}), "
        f"{rate.cpu_ms:.3f} ms CPU each; start {start_s:.2f} s; {len(pairs.attempts):,} attempts",
        flush=True,
    )
    return _named(pairs, "local", rate) | {f"{pairs.name}_local_start_s": start_s}


def measure_local(folder: Path, pairs: Pairs, cores: frozenset[int], few: int = 1) -> tuple[Rate, float]:
    """Score many attempts and a few: the difference is what attempts take, the rest is the start, in seconds.

    Where attempts run in slots, `few` are to be enough for all slots to start with them.
    """
    few_s, few_cpu_s = score_files(folder, pairs.tasks, pairs.attempts[:few], cores)
    many_s, many_cpu_s = score_files(folder, pairs.tasks, pairs.attempts, cores)
    extra = len(pairs.attempts) - few
    return Rate(extra / (many_s - few_s), 1000 * (many_cpu_s - few_cpu_s) / extra), few_s


def score_files(
    folder: Path, tasks: Sequence[Document], attempts: Sequence[Document], cores: frozenset[int]
) -> tuple[float, float]:
    """Run `assay score` on some cores; return its wall and CPU seconds."""
    files = {"tasks": tasks, "attempts": attempts}
    for name, documents in files.items():
        (folder / name).write_text(write_lines(documents), encoding="ascii")
    results = folder / "results"
    command = [sys.executable, "-m", "assay", "score", *(folder / name for name in files), "-o", results]
    cpu_s = _children_cpu_s()
    started = time.perf_counter()
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cores)
    )
    took_s = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"assay score failed: {done.stderr}")
    written = results.read_bytes().count(b"\n")
    if written != len(attempts):
        raise SystemExit(f"{written} results for {len(attempts)} attempts")
    return took_s, _children_cpu_s() - cpu_s


def http_figures(
    service: RunningService, client: Client, pairs: Pairs, target_per_s: int | None, rounds: int
) -> Mapping[str, float]:
    """Measure batches through the service; print a line and return its figures by name."""
    count = len(pairs.attempts)
    through_http(client, pairs.tasks, pairs.attempts[:_WARM_UP])
    measured = []
    for _ in range(rounds):
        cpu_s = service.cpu_s()
        per_s = through_http(client, pairs.tasks, pairs.attempts)
        measured.append(Rate(per_s, 1000 * (service.cpu_s() - cpu_s) / count))
    rate = _median(measured)
    print(
        f"{pairs.name}: HTTP batches on {_cores(CORES)} {rate.per_s:,.0f}/s{asked(target_per_s, ' on 2')}, "
        f"{rate.cpu_ms:.3f} ms CPU of the service each; {count:,} attempts",
        flush=True,
    )
    return _named(pairs, "http", rate)


def asked(per_s: int | None, where: str) -> str:
    """Say what rate is asked for; None: the rate is only reported."""
    return "" if per_s is None else f" (at least {per_s:,}{where})"


def through_http(client: Client, tasks: Sequence[Document], attempts: Sequence[Document]) -> float:
    """Submit one batch, follow its results, and return attempts per second."""
    started = time.perf_counter()
    accepted = client.submit(tasks, attempts, options=UNCACHED)
    outcomes = Counter(result.outcome for result in client.iter_results(accepted.batch_id))
    took_s = time.perf_counter() - started
    if outcomes.total() != len(attempts) or outcomes.keys() & NULL_REWARD:
        raise SystemExit(f"{len(attempts)} attempts came out as {dict(outcomes)}")
    return len(attempts) / took_s


def _median(rates: Sequence[Rate]) -> Rate:
    return Rate(statistics.median(rate.per_s for rate in rates), statistics.median(rate.cpu_ms for rate in rates))


def _named(pairs: Pairs, way: str, rate: Rate) -> dict[str, float]:
    return {f"{pairs.name}_{way}_per_s": rate.per_s, f"{pairs.name}_{way}_cpu_ms": rate.cpu_ms}


def _cores(cores: frozenset[int]) -> str:
    return "one core" if len(cores) == 1 else f"{len(cores)} cores"


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=50_000, help="attempts of one `assay score`")
    parser.add_argument("--http-attempts", type=int, default=20_000, help="attempts of one HTTP batch")
    parser.add_argument("--maths", type=int, default=2_000, help="attempts at maths, either way")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
