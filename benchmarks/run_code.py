"""Measures `/run_code` with isolation beside a plain route that runs one unisolated subprocess per request.

.venv/bin/python benchmarks/run_code.py [--calls 400] [--at-once 64] [--rounds 3] [--crowd 4000] [--json FILE]

1. both ways, turn by turn, the same calls from the same client: calls a second, and their ratio (at least 3)
2. with `--crowd`: so many calls at once against two workers: all answered, none cut short, and what the service weighs
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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from running_service import free_port, running_service

LEAST_RATIO = 3.0
_PEER = Path(__file__).with_name("plain_route.py")
_FILES = 16_384
_WAIT_S = 590.0


def main() -> None:
    """Measure and print; exit with 1 if a promise is broken."""
    arguments = _arguments()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_FILES, most), most))
    figures: dict[str, float] = {}
    broken: list[str] = []
    with running_service("--workers", "2") as service, plain_route() as peer:
        rates: dict[str, list[float]] = {"assay": [], "plain": []}
        for number in range(arguments.rounds + 1):
            for name, url in (("assay", service.url), ("plain", peer)):
                rate = asyncio.run(_rate(url, arguments.calls, arguments.at_once, broken))
                if number:  # the first round warms both
                    rates[name].append(rate)
        figures |= {f"{name}_per_s": statistics.median(values) for name, values in rates.items()}
        figures["ratio"] = figures["assay_per_s"] / figures["plain_per_s"]
        print(
            f"run_code: {figures['assay_per_s']:,.0f}/s isolated, {figures['plain_per_s']:,.0f}/s by a plain route: "
            f"{figures['ratio']:.2f} (at least {LEAST_RATIO:g})",
            flush=True,
        )
        if figures["ratio"] < LEAST_RATIO:
            broken.append("the ratio")
        if arguments.crowd:
            figures |= _crowd(service.url, arguments.crowd, broken)
            figures["pss_mb"] = service.pss_mb()
            print(f"the service weighs {figures['pss_mb']:,.0f} MB (PSS) after it", flush=True)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    if broken:
        raise SystemExit(f"broken: {', '.join(sorted(set(broken)))}")


@contextmanager
def plain_route() -> Iterator[str]:
    """Start the peer; end it at the end."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(_PEER), str(port)])
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(200):
            try:
                httpx.get(url)
                break
            except httpx.TransportError:
                time.sleep(0.05)
        yield url
    finally:
        process.terminate()
        process.wait()


async def _rate(url: str, calls: int, at_once: int, broken: list[str]) -> float:
    """Return calls a second."""
    gate = asyncio.Semaphore(at_once)
    started = time.monotonic()
    async with _client() as client:

        async def one(number: int) -> None:
            async with gate:
                if await _call(client, url, number) != "Success":
                    broken.append("an answer")

        await asyncio.gather(*map(one, range(calls)))
    return calls / (time.monotonic() - started)


def _crowd(url: str, calls: int, broken: list[str]) -> dict[str, float]:
    """Send all calls at once."""

    async def send() -> Counter[str]:
        async with _client() as client:
            return Counter(await asyncio.gather(*(_call(client, url, number) for number in range(calls))))

    started = time.monotonic()
    answers = asyncio.run(send())
    seconds = time.monotonic() - started
    print(f"{calls} at once: {dict(answers)} in {seconds:,.1f} s", flush=True)
    if answers != {"Success": calls}:
        broken.append("the crowd")
    return {"crowd_s": seconds, "crowd_answered": float(answers["Success"])}


def _client() -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
    return httpx.AsyncClient(limits=limits, timeout=_WAIT_S)


async def _call(client: httpx.AsyncClient, url: str, number: int) -> str:
    asked = {"code": f"print({number})", "language": "python", "compile_timeout": _WAIT_S - 20, "run_timeout": 10}
    try:
        answer = await client.post(f"{url}/run_code", json=asked)
    except httpx.TransportError as error:
        return type(error).__name__
    if answer.status_code != httpx.codes.OK:
        return str(answer.status_code)
    document = answer.json()
    right = (document.get("run_result") or {}).get("stdout") == f"{number}\n"
    return str(document["status"]) if right else "wrong output"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crowd", type=int, default=0)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
