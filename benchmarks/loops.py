"""Measures what endless loops cost the others, and what a thousand callers at once see.

1. one batch of 2,000 attempts of which 5 % loop for ever, wall limit 2 s: the others must be done in the time they
   need plus what the loops' slots cost, and none may wait for a loop in its chunk
2. 1,000 concurrent one-attempt scores: all answered, p99 at most 1.5 times (1,000 / throughput)

.venv/bin/python benchmarks/loops.py [--attempts 2000] [--callers 1000] [--humaneval FILE]
"""

import argparse
import asyncio
import resource
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any  # Any: attempts are JSON documents

import httpx
from running_service import running_service
from throughput import CORES, SLOTS, UNCACHED, quantile, through_http
from workload import DEFAULT_FILE, LOOP, Workload, load_workload

from assay.clients import calls
from assay.clients.client import Client
from assay.outcomes import Outcome

WALL_S = 2.0
EVERY = 20  # 5 %


def main() -> None:
    """Measure and print both."""
    arguments = _arguments()
    workload = load_workload(arguments.humaneval)
    print(f"{workload.name}; {SLOTS} slots")
    with running_service() as service, Client(service.url) as client:
        through_http(client, workload, SLOTS * 4)  # warm interpreters start with the first attempts
        rate = through_http(client, workload, 4 * len(workload.tasks) if len(workload.tasks) > 1 else 400)
        print(f"without loops: {rate:.1f}/s")
        batch_with_loops(client, workload, arguments.attempts, rate)
        asyncio.run(callers_at_once(service.url, workload, arguments.callers, rate))


def batch_with_loops(client: Client, workload: Workload, count: int, rate: float) -> None:
    """Run the batch and print when the others were done beside when they could be."""
    attempts: list[Mapping[str, Any]] = [
        {**attempt, "completion": LOOP} if number % EVERY == 0 else attempt
        for number, attempt in enumerate(workload.attempts(count))
    ]
    loops = len(attempts[::EVERY])
    started = time.perf_counter()
    accepted = client.submit(workload.with_limits({"wall_s": WALL_S}), attempts, options=UNCACHED)
    others_s = 0.0
    wrong = []
    for result in client.iter_results(accepted.batch_id):
        expected = Outcome.TIMEOUT if result.index % EVERY == 0 else Outcome.PASSED
        if result.outcome is not expected:
            wrong.append((result.index, result.outcome))
        if result.outcome is Outcome.PASSED:
            others_s = time.perf_counter() - started
    total_s = time.perf_counter() - started
    own_s = (count - loops) / rate
    by_slots_s, by_cores_s = (own_s + loops * WALL_S / places for places in (SLOTS, CORES))
    print(
        f"{count} attempts, {loops} endless: others done after {others_s:.1f} s, all after {total_s:.1f} s; their own "
        f"time and the loops' is {by_slots_s:.1f} s if loops only wait in their slots, {by_cores_s:.1f} s if each "
        f"burns a core for its {WALL_S:g} s (ratios {others_s / by_slots_s:.2f} and {others_s / by_cores_s:.2f})"
    )
    if wrong:
        print(f"  {len(wrong)} unexpected outcomes: {wrong[:10]}")


async def callers_at_once(url: str, workload: Workload, count: int, rate: float) -> None:
    """Score one attempt in each of `count` concurrent calls, each on a connection of its own; print latencies.

    Plain sockets: a client library's pool would hold most calls back, and measure itself.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    address = httpx.URL(url)
    attempts = workload.attempts(count)
    requests = [_score_request(workload.tasks[n % len(workload.tasks)], attempts[n]) for n in range(count)]

    async def call(request: bytes) -> float:
        started = time.perf_counter()
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(request)
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        if b" 200 " not in head or b'"outcome":"passed"' not in body:
            print(f"  unexpected answer: {head[:80]!r} {body[:200]!r}")
        return time.perf_counter() - started

    started = time.perf_counter()
    took = await asyncio.gather(*map(call, requests))
    total_s = time.perf_counter() - started
    p50, p99 = quantile(took, 0.5), quantile(took, 0.99)
    print(
        f"{count} callers at once: all answered in {total_s:.1f} s, p50 {p50:.2f} s, p99 {p99:.2f} s; "
        f"{count}/throughput is {count / rate:.2f} s (ratio {p99 * rate / count:.2f}, at most 1.5)"
    )


def _score_request(task: Mapping[str, Any], attempt: Mapping[str, Any]) -> bytes:
    call = calls.score([task], [attempt], UNCACHED, None)
    body = call.body or b""
    headers = {**call.headers, "Host": "localhost", "Content-Length": str(len(body)), "Connection": "close"}
    lines = [f"POST {call.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("ascii") + body


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=2000)
    parser.add_argument("--callers", type=int, default=1000)
    parser.add_argument("--humaneval", type=Path, default=DEFAULT_FILE)
    return parser.parse_args()


if __name__ == "__main__":
    main()
