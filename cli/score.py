"""`assay score`: scores files of attempts, here or through a service, whatever their size."""

import argparse
import gc
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import assert_never

from assay.canonical import dump_line
from assay.cli.gates import Gates, allowance, floor
from assay.cli.ledger import Ledger
from assay.cli.local import TaskReader, builtin_registry, open_scorer
from assay.cli.numbers import positive_number, seconds
from assay.cli.options import (
    Commands,
    add_command,
    add_reading_options,
    add_sandbox_options,
    reading_from,
    settings_from,
)
from assay.cli.output import is_stream, open_lines, refuse_overwriting
from assay.cli.progress import Progress
from assay.cli.records.entries import read_entries
from assay.cli.remarks import remark
from assay.cli.remote import cancel_batch, score_remotely
from assay.cli.resuming import Kept, take_over
from assay.cli.spool import Spool
from assay.cli.spooled_jobs import SpooledJobs
from assay.cli.tally import GROUPS_SHOWN, Tally
from assay.clients import calls
from assay.clients.client import Client
from assay.clients.retries import RetryPolicy
from assay.errors import InvalidRequest
from assay.schema import BatchOptions, Result
from assay.settings import Settings

_ABOUT = """Score attempts. Files hold JSON lines, JSON, CSV or Parquet, plain or gzipped; - is standard input.
Without ATTEMPTS the records of TASKS hold completions too (`completion`, `completions`), or else golds are scored.
Result lines are in input order once the run has ended. Exit status 1 if an attempt has no reward, 3 if that is this
side's fault, 4 if rewards are below --fail-under."""


@dataclass(frozen=True)
class _Service:
    url: str
    key: str | None
    retry: RetryPolicy


@dataclass(frozen=True)
class _Run:
    """What a run is to do, beside what it reads."""

    settings: Settings
    options: BatchOptions
    judge: TaskReader | _Service
    """What types tasks for the verifiers here, or the service that has its own."""
    output: Path | None = None
    is_resumed: bool = False

    def ledger(self, url: str) -> AbstractContextManager[Ledger | None]:
        """Return where batches are noted: beside the output, if that is a file."""
        if self.output is None or is_stream(self.output):
            return nullcontext()
        return Ledger(self.output, url, is_kept=self.is_resumed)


def add_parser(commands: Commands) -> None:
    """Add `score` to the command line."""
    parser = add_command(commands, "score", run, _ABOUT)
    parser.add_argument("tasks", type=Path, metavar="TASKS")
    parser.add_argument("attempts", type=Path, nargs="?", metavar="ATTEMPTS")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="where results go; default: standard output")
    parser.add_argument("--resume", action="store_true", help="go on with the output of a run that was ended")
    add_reading_options(parser)
    parser.add_argument(
        "--sample", type=positive_number, metavar="N", help="score the attempts of N tasks, drawn at random"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="which tasks --sample draws; default: 0")
    _add_gates(parser)
    parser.add_argument("--profile", metavar="NAME", help="the preset of tasks that name none themselves")
    parser.add_argument("--url", metavar="URL", help="score through this service (key: first of ASSAY_API_KEYS)")
    parser.add_argument(
        "--patience",
        type=seconds,
        metavar="SECONDS",
        help=f"how long to try to reach the service at --url; default: {RetryPolicy().patience_s:g}",
    )
    parser.add_argument("--keep-output", action="store_true", help="keep captured output of passed attempts too")
    add_sandbox_options(parser)


def _add_gates(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fail-under",
        type=floor,
        metavar="[MEASURE=]X",
        help="end with status 4 if the mean reward (mean=X, or X) or the share that passed (passed=X) is less",
    )
    parser.add_argument(
        "--max-infra",
        type=allowance,
        default=Gates.allowance,
        metavar="X",
        help="how many attempts this side may fail: a number, or a share (2%%, 0.02); default: 0",
    )


def run(arguments: argparse.Namespace) -> int:
    """Score, write result lines and a summary; return the exit status."""
    plan = _plan(arguments)
    if arguments.output is not None:
        refuse_overwriting(arguments.output, filter(None, (arguments.tasks, arguments.attempts)))
    gates = Gates(arguments.fail_under, arguments.max_infra)
    with closing(_filled(arguments, plan)) as spool:
        tally = Tally(spool.groups(GROUPS_SHOWN))
        kept = _kept(arguments, spool, tally)
        progress = Progress(spool.total(), sys.stderr, done=kept.finished)
        with (
            _results(spool, plan, kept.last_seq, progress) as results,
            open_lines(arguments.output, spool, is_kept=arguments.resume) as lines,
        ):
            for result in results:
                lines.add(result.index, dump_line(result.model_dump(mode="json")), at_once=bool(result.sandbox))
                tally.add(result)
                progress.advance(tally.note)
        progress.finish(tally.note)
    report = sys.stdout if arguments.output else sys.stderr
    print(*tally.lines(), sep="\n", file=report)
    for line in gates.lines(tally):
        remark(line)
    return gates.status(tally)


def _plan(arguments: argparse.Namespace) -> _Run:
    settings = settings_from(arguments)
    if arguments.url is not None and (arguments.insecure or arguments.slots is not None):
        raise InvalidRequest(
            "--insecure and --slots are for attempts that run here", path="--url", fix="set them where the service runs"
        )
    if arguments.url is None and arguments.patience is not None:
        raise InvalidRequest("there is no service to wait for", path="--patience", fix="name one with --url")
    if arguments.resume and arguments.output is None:
        raise InvalidRequest("there is no output to go on with", path="--resume", fix="name it with -o")
    # Only the options that were given: a service that is older knows fewer of them.
    given = {"keep_output": arguments.keep_output or None, "profile": arguments.profile}
    options = BatchOptions.model_validate({name: value for name, value in given.items() if value is not None})
    if arguments.url is None:
        return _Run(settings, options, TaskReader(builtin_registry(settings), settings, arguments.profile))
    key = settings.api_keys[0].get_secret_value() if settings.api_keys else None
    retry = RetryPolicy() if arguments.patience is None else RetryPolicy(patience_s=arguments.patience)
    service = _Service(calls.service_url(arguments.url), key, retry)
    return _Run(settings, options, service, arguments.output, arguments.resume)


def _filled(arguments: argparse.Namespace, plan: _Run) -> Spool:
    """Read everything. Raises InvalidRequest for the first fault."""
    check_equal = plan.judge.check_equal if isinstance(plan.judge, TaskReader) else None
    spool = Spool(seed=arguments.seed, profile=arguments.profile, check_equal=check_equal)
    try:
        spool.fill(read_entries(arguments.tasks, arguments.attempts, reading_from(arguments), remark))
        if check_equal is None:
            spool.add_unknown_tasks()
        if arguments.sample is not None:
            spool.sample(arguments.sample)
        spool.settle()
        if not spool.total():
            raise InvalidRequest(
                "there are no attempts", path=str(arguments.attempts or arguments.tasks), fix="add some"
            )
    except BaseException:
        spool.close()
        raise
    return spool


def _kept(arguments: argparse.Namespace, spool: Spool, tally: Tally) -> Kept:
    if not arguments.resume:
        return Kept()
    kept = take_over(arguments.output, spool, tally)
    for line in kept.lines():
        remark(line)
    return kept


@contextmanager
def _results(spool: Spool, plan: _Run, last_seq: int, progress: Progress) -> Iterator[Iterator[Result]]:
    match plan.judge:
        case TaskReader() as reader:
            jobs = SpooledJobs(spool, reader, last_seq)
            with open_scorer(plan.settings, reader.registry, jobs.check()) as scorer:
                gc.freeze()  # what is loaded by now stays to the end: collections need not look through it
                with closing(scorer.score_stream(jobs, plan.options, spool.left)) as results:
                    yield map(jobs.named, results)
        case _Service(url, key, retry):
            cancel = partial(cancel_batch, url, key)
            with (
                Client(url, api_key=key, retry=retry) as client,
                plan.ledger(url) as ledger,
                closing(
                    score_remotely(client, spool, plan.options, progress.waiting, cancel, ledger=ledger)
                ) as results,
            ):
                yield results
        case _:
            assert_never(plan.judge)
