"""`assay score`: scores files of attempts, here or through a service."""

import argparse
import gc
import math
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import httpx

from assay.canonical import dump_line
from assay.cli.exits import Exit
from assay.cli.inputs import Batch, read_batch
from assay.cli.local import build_jobs, builtin_registry, in_input_order, open_scorer
from assay.cli.options import Commands, add_command, add_format_option, add_sandbox_options, settings_from
from assay.cli.progress import Progress
from assay.cli.tally import Tally
from assay.clients import calls
from assay.clients.client import Client
from assay.clients.retries import RetryPolicy
from assay.errors import AssayError, InvalidRequest, RequestError
from assay.schema import BatchOptions, Result
from assay.settings import Settings

_ABOUT = """Score attempts. Files hold a JSON object, an array or JSON lines, plain or gzipped.
Result lines are in input order. Without ATTEMPTS every task's gold is scored.
Exit status 1 if an attempt has no reward, 3 if that is this side's fault."""

_CANCEL_TIMEOUT = httpx.Timeout(2.0)
_FLUSH_S = 0.05


@dataclass(frozen=True)
class _Service:
    url: str
    retry: RetryPolicy


def add_parser(commands: Commands) -> None:
    """Add `score` to the command line."""
    parser = add_command(commands, "score", run, _ABOUT)
    parser.add_argument("tasks", type=Path, metavar="TASKS")
    parser.add_argument("attempts", type=Path, nargs="?", metavar="ATTEMPTS")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where results go; default: standard output")
    add_format_option(parser)
    parser.add_argument("--profile", metavar="NAME", help="the preset of tasks that name none themselves")
    parser.add_argument("--url", metavar="URL", help="score through this service (key: first of ASSAY_API_KEYS)")
    parser.add_argument(
        "--patience",
        type=_seconds,
        metavar="SECONDS",
        help=f"how long to try to reach the service at --url; default: {RetryPolicy().patience_s:g}",
    )
    parser.add_argument("--keep-output", action="store_true", help="keep captured output of passed attempts too")
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Score, write result lines and a summary; return the exit status."""
    settings = settings_from(arguments)
    if arguments.url is not None and (arguments.insecure or arguments.slots is not None):
        raise InvalidRequest(
            "--insecure and --slots are for attempts that run here", path="--url", fix="set them where the service runs"
        )
    if arguments.url is None and arguments.patience is not None:
        raise InvalidRequest("there is no service to wait for", path="--patience", fix="name one with --url")
    service = None if arguments.url is None else _Service(calls.service_url(arguments.url), _retry(arguments.patience))
    batch = read_batch(arguments.tasks, arguments.attempts, arguments.format)
    if not batch.attempts:
        raise InvalidRequest("there are no attempts", path=str(arguments.attempts or arguments.tasks), fix="add some")
    options = _options(arguments)
    tally = Tally()
    progress = Progress(len(batch.attempts), sys.stderr)
    with _results(batch, options, settings, service, progress) as results, _output(arguments.output) as out:
        _write(in_input_order(_counted(results, tally, progress)), out)
    report = sys.stdout if arguments.output else sys.stderr
    print(*tally.lines(), sep="\n", file=report)
    return exit_status(tally)


def _options(arguments: argparse.Namespace) -> BatchOptions:
    """Return the options that were given, and no others: a service that is older knows fewer of them."""
    given = {"keep_output": arguments.keep_output or None, "profile": arguments.profile}
    return BatchOptions.model_validate({name: value for name, value in given.items() if value is not None})


def exit_status(tally: Tally) -> Exit:
    """Say what a finished score tells its caller."""
    if tally.has_our_fault:
        return Exit.OUR_FAULT
    return Exit.FOUND_FAULTS if tally.has_null else Exit.OK


@contextmanager
def _results(
    batch: Batch, options: BatchOptions, settings: Settings, service: _Service | None, progress: Progress
) -> Iterator[Iterator[Result]]:
    if service is None:
        registry = builtin_registry(settings)
        jobs = build_jobs(registry, batch, settings, options.profile)
        gc.freeze()  # they stay to the end: collections would look through all of them again and again
        with open_scorer(settings, registry, jobs) as scorer, closing(scorer.score(jobs, options)) as results:
            yield results
        return
    key = settings.api_keys[0].get_secret_value() if settings.api_keys else None
    with Client(service.url, api_key=key, retry=service.retry) as client:
        try:
            accepted = client.submit(batch.tasks, batch.attempts, options=options)
        except RequestError as error:
            error.path = batch.locate(error.path)
            raise
        finished = False
        try:
            yield client.iter_results(accepted, on_waiting=lambda text: progress.remark(f"assay: waiting: {text}"))
            finished = True
        finally:
            if not finished:
                _cancel(service.url, key, accepted.batch_id)


def _cancel(url: str, key: str | None, batch_id: str) -> None:
    """Try once, and not for long: whoever pressed Ctrl-C does not want to wait."""
    with Client(url, api_key=key, retry=RetryPolicy(patience_s=0.0), timeout=_CANCEL_TIMEOUT) as client:
        try:
            client.cancel(batch_id)
        except AssayError as error:
            print(f"assay: batch {batch_id} was not cancelled: {error}", file=sys.stderr)


def _retry(patience_s: float | None) -> RetryPolicy:
    return RetryPolicy() if patience_s is None else RetryPolicy(patience_s=patience_s)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds at or above 0")
    return value


def _counted(results: Iterator[Result], tally: Tally, progress: Progress) -> Iterator[Result]:
    for result in results:
        tally.add(result)
        progress.advance(tally.note)
        yield result
    progress.finish(tally.note)


def _write(results: Iterator[Result], out: TextIO) -> None:
    """Write lines, each at once: but for results that nothing had to be run for, which come by the thousand."""
    flushed = time.monotonic()
    for result in results:
        out.write(dump_line(result.model_dump(mode="json")) + "\n")
        if result.sandbox or time.monotonic() - flushed > _FLUSH_S:
            out.flush()
            flushed = time.monotonic()


@contextmanager
def _output(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        yield sys.stdout
        return
    try:
        with path.open("w", encoding="ascii") as stream:
            yield stream
    except OSError as error:
        raise InvalidRequest(f"cannot write {path}: {error}", path=str(path), fix="check the path") from error
