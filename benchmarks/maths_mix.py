"""Shows that bombs cost honest answers nothing, and how fast `math` is where it needs processes.

1. answers that only a process can decide, through the path of `assay score`
2. honest answers, one in ten of them such ones, with 1,000 bombs and a few endless ones mixed in: every honest one must
   be paid, no bomb may be, and none may be null

.venv/bin/python benchmarks/maths_mix.py [--symbolic 2000] [--honest 9000] [--bombs 1000] [--endless 20] [--json FILE]
"""

import argparse
import json
import os
import random
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from maths_pairs import Pair, bombs, documents, endless, plain_pairs, symbolic_pairs

from assay.cli.inputs import Batch
from assay.cli.local import Scorer, build_jobs, builtin_registry, open_scorer
from assay.schema import BatchOptions, Result
from assay.settings import Settings

CORES = len(os.sched_getaffinity(0))
TARGET_PER_S = 200
_WARM_UP = 32
UNCACHED = BatchOptions(cache=False)


def main() -> None:
    """Measure and print everything."""
    arguments = _arguments()
    settings, registry = Settings(), builtin_registry()
    with open_scorer(settings, registry) as scorer:
        score(scorer, symbolic_pairs(_WARM_UP))  # warm interpreters start with the first attempts
        figures = {**symbolic_figures(scorer, arguments.symbolic, arguments.rounds), **mix_figures(scorer, arguments)}
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def symbolic_figures(scorer: Scorer, count: int, rounds: int) -> Mapping[str, float]:
    """Measure answers that need a process; print a line and return the figures by name."""
    rates, cpu_ms = [], []
    pairs = symbolic_pairs(count)
    for _ in range(rounds):
        used_s, started = time.process_time(), time.perf_counter()
        results = score(scorer, pairs)
        rates.append(count / (time.perf_counter() - started))
        used_s = time.process_time() - used_s + sum(result.usage.cpu_s for result in results)
        cpu_ms.append(1000 * used_s / count)
        _require(pairs, results)
    rate = statistics.median(rates)
    print(
        f"symbolic: {rate:,.0f}/s on {CORES} cores ({statistics.median(cpu_ms):.2f} ms CPU each, worker and process); "
        f"{count:,} attempts, {rounds} rounds (at least {TARGET_PER_S}/s)",
        flush=True,
    )
    return {"symbolic_per_s": rate, "symbolic_cpu_ms": statistics.median(cpu_ms)}


def mix_figures(scorer: Scorer, arguments: argparse.Namespace) -> Mapping[str, float]:
    """Score the mix; print a line and return the figures by name."""
    symbolic = arguments.honest // 10
    pairs = [
        *plain_pairs(arguments.honest - symbolic),
        *symbolic_pairs(symbolic),
        *bombs(arguments.bombs),
        *endless(arguments.endless),
    ]
    random.Random(0).shuffle(pairs)
    started = time.perf_counter()
    results = score(scorer, pairs)
    took_s = time.perf_counter() - started
    _require(pairs, results)
    undecided = sum("undecided" in result.flags for result in results)
    slowest_s = max(result.timing.run_s for result in results)
    print(
        f"mix: {arguments.honest:,} honest answers, {arguments.bombs:,} bombs, {arguments.endless} endless ones in "
        f"{took_s:.1f} s; none lost, none null, {undecided} undecided, the slowest took {slowest_s:.1f} s",
        flush=True,
    )
    return {"mix_s": took_s, "mix_per_s": len(pairs) / took_s, "mix_undecided": undecided}


def score(scorer: Scorer, pairs: Sequence[Pair]) -> list[Result]:
    """Return the results in the order of the pairs."""
    tasks, attempts = documents(pairs)
    jobs = build_jobs(scorer.registry, Batch(tuple(tasks), tuple(attempts)), Settings())
    return sorted(scorer.score(jobs, UNCACHED), key=lambda result: result.index)


def _require(pairs: Sequence[Pair], results: Sequence[Result]) -> None:
    wrong = [
        f"{pair[1][:60]}: {result.outcome} {result.reward} {result.message[:100]}"
        for pair, result in zip(pairs, results, strict=True)
        if result.reward != pair[2]
    ]
    if wrong:
        raise SystemExit(f"{len(wrong)} of {len(pairs)} got another reward, such as:\n" + "\n".join(wrong[:10]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--symbolic", type=int, default=2000, help="answers that need a process, a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--honest", type=int, default=9000, help="honest answers of the mix")
    parser.add_argument("--bombs", type=int, default=1000)
    parser.add_argument("--endless", type=int, default=20, help="answers of the mix that use up their limits")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
