"""Measures `/run_code` with isolation beside a plain route that runs one unisolated subprocess per request.

.venv/bin/python benchmarks/run_code.py [--calls 400] [--at-once 64] [--rounds 3] [--crowd 4000] [--json FILE]

`--rounds 0` leaves the first out.

1. both ways, turn by turn, the same calls from the same client: calls a second, their ratio (at least 3), and what one
   call costs each server in processor time, which a busy machine changes less
2. with `--crowd`: so many calls at once against two workers, from patient clients: all answered, none cut short
3. and as many with clients' usual time-outs (10 s + 10 s), which are told to come again (504) if their turn does not
   come, and do, as verl's client does: all answered in the end, none cut short

In a crowd the service weighs at most 150 MB and 100 kB a call more than before the first, and after the second crowd
at most 60 MB more than after the first.

The plain route runs its programs with this interpreter, or with that of `--interpreter`.
"""

import argparse
import asyncio
import json
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from raw_http import RawClient, connected
from running_service import RunningService, cpu_s, free_port, running_service

LEAST_RATIO = 3.0
_PEER = Path(__file__).with_name("plain_route.py")
_FILES = 16_384
_CROWD_MB = 150.0
_CROWD_MB_PER_CALL = 0.1
_GROWTH_MB = 60.0
_COME_AGAIN = str(int(httpx.codes.GATEWAY_TIMEOUT))


@dataclass(frozen=True)
class Patience:
    """How long a client lets a program be compiled and run, which is also how long it waits, and how often it comes."""

    compile_s: float
    run_s: float
    tries: int


_PATIENT = Patience(570.0, 10.0, 1)
_USUAL = Patience(10.0, 10.0, 20)


@dataclass(frozen=True)
class Server:
    """One of the two: where it listens, and the CPU seconds that it has used so far."""

    url: str
    spent_s: Callable[[], float]


def main() -> None:
    """Measure and print; exit with 1 if a promise is broken."""
    arguments = _arguments()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, most), most))
    broken: list[str] = []
    figures: dict[str, float] = {}
    with running_service("--workers", "2") as service:
        if arguments.rounds:
            with plain_route(arguments.interpreter) as peer:
                servers = {"assay": Server(service.url, service.cpu_s), "plain": peer}
                figures |= _compare(servers, arguments, broken)
        if arguments.crowd:
            figures |= _crowds(service, arguments.crowd, broken)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if broken:
        raise SystemExit(f"broken: {', '.join(sorted(set(broken)))}")


def _compare(servers: dict[str, Server], arguments: argparse.Namespace, broken: list[str]) -> dict[str, float]:
    """Measure both turn by turn; return the medians."""
    seen: dict[str, list[float]] = {f"{name}_{what}": [] for name in servers for what in ("per_s", "cpu_ms")}
    for number in range(arguments.rounds + 1):
        for name, server in servers.items():
            before_s = server.spent_s()
            rate = asyncio.run(_rate(server.url, arguments.calls, arguments.at_once, broken))
            if number:  # the first round warms both
                seen[f"{name}_per_s"].append(rate)
                seen[f"{name}_cpu_ms"].append((server.spent_s() - before_s) / arguments.calls * 1000)
    figures = {name: statistics.median(values) for name, values in seen.items()}
    figures["ratio"] = figures["assay_per_s"] / figures["plain_per_s"]
    for name in servers:
        rates = ", ".join(f"{rate:,.0f}" for rate in seen[f"{name}_per_s"])
        print(f"{name}: {rates} calls/s, {figures[f'{name}_cpu_ms']:.1f} ms of CPU a call", flush=True)
    print(f"ratio: {figures['ratio']:.2f} (at least {LEAST_RATIO:g})", flush=True)
    if figures["ratio"] < LEAST_RATIO:
        broken.append("the ratio")
    return figures


@contextmanager
def plain_route(interpreter: str) -> Iterator[Server]:
    """Start the peer; end it at the end."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(_PEER), str(port), interpreter])
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                httpx.get(url)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        else:
            raise SystemExit("the plain route does not answer")
        yield Server(url, lambda: cpu_s(process.pid))
    finally:
        process.terminate()
        process.wait()


async def _rate(url: str, calls: int, at_once: int, broken: list[str]) -> float:
    """Return calls a second."""
    numbers = iter(range(calls))

    async def send() -> None:
        async with connected(url) as client:
            for number in numbers:
                if await _call(client, number, _PATIENT) != "Success":
                    broken.append("an answer")

    started = time.monotonic()
    await asyncio.gather(*(send() for _ in range(at_once)))
    return calls / (time.monotonic() - started)


def _crowds(service: RunningService, calls: int, broken: list[str]) -> dict[str, float]:
    """Send all calls at once, patiently and then with usual time-outs; judge the answers and the memory."""
    idle_mb = service.pss_mb()
    figures: dict[str, float] = {"idle_mb": idle_mb}
    most_mb = idle_mb + _CROWD_MB + _CROWD_MB_PER_CALL * calls
    for name, patience in (("patient", _PATIENT), ("usual", _USUAL)):
        with service.weighed() as seen:
            figures |= {f"{name}_{what}": value for what, value in _crowd(service.url, calls, patience, broken).items()}
        figures |= {f"{name}_peak_mb": max(seen), f"{name}_after_mb": seen[-1]}
        print(f"the service weighed up to {max(seen):,.0f} MB (PSS; at most {most_mb:,.0f}), {seen[-1]:,.0f} after it")
        if max(seen) > most_mb:
            broken.append("the memory of the crowd")
    if figures["usual_after_mb"] > figures["patient_after_mb"] + _GROWTH_MB:
        broken.append("the memory that was given back")
    return figures


def _crowd(url: str, calls: int, patience: Patience, broken: list[str]) -> dict[str, float]:
    """Send all calls at once."""
    refused = 0

    async def one(number: int) -> str:
        nonlocal refused
        for again in range(patience.tries):
            async with connected(url) as client:
                answer = await _call(client, number, patience)
            if answer != _COME_AGAIN:
                return answer
            refused += 1
            await asyncio.sleep(again + 1)
        return _COME_AGAIN

    async def send() -> Counter[str]:
        return Counter(await asyncio.gather(*map(one, range(calls))))

    started = time.monotonic()
    answers = asyncio.run(send())
    seconds = time.monotonic() - started
    print(f"{calls} at once, {patience.compile_s:g} s + {patience.run_s:g} s: {dict(answers)} in {seconds:,.1f} s, "
          f"{refused} times told to come again", flush=True)  # fmt: skip
    if answers != {"Success": calls}:
        broken.append("the crowd")
    return {"s": seconds, "answered": float(answers["Success"]), "come_again": float(refused)}


async def _call(client: RawClient, number: int, patience: Patience) -> str:
    times = {"compile_timeout": patience.compile_s, "run_timeout": patience.run_s}
    try:
        status, document = await client.post("/run_code", {"code": f"print({number})", "language": "python", **times})
    except (OSError, asyncio.IncompleteReadError) as error:
        return type(error).__name__
    if status != httpx.codes.OK:
        return str(status)
    right = (document.get("run_result") or {}).get("stdout") == f"{number}\n"
    return str(document["status"]) if right else "wrong output"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crowd", type=int, default=0)
    parser.add_argument("--interpreter", default=sys.executable, help="what the plain route runs programs with")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
