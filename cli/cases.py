"""`assay cases`: runs conformity files through the real verifiers."""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from assay.cli.conformity.judging import Judge
from assay.cli.conformity.lines import HackLine
from assay.cli.conformity.runner import CaseReport, Entry, read_entries, run_entries
from assay.cli.exits import Exit
from assay.cli.local import builtin_registry, open_scorer
from assay.cli.options import Commands, add_command, add_sandbox_options, settings_from
from assay.cli.progress import Progress
from assay.settings import Settings, override
from assay.terminals import harmless

_ABOUT = """Run conformity files. Honest programs, hacks and reward families are told apart by their keys.
Caching is off. The last line is `cases: N passed, M failed`, with each failure before it.
Exit status 1 if any line failed."""

_API_KEY = "canary-7f3a91-api-key"
_REDIS_URL = "redis://:canary-redis-pw@127.0.0.1:6379/0"


def add_parser(commands: Commands) -> None:
    """Add `cases` to the command line."""
    parser = add_command(commands, "cases", run, _ABOUT)
    parser.add_argument("files", type=Path, nargs="+", metavar="FILE")
    add_sandbox_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run every line of every file, print failures and the count; return the exit status."""
    entries = read_entries(arguments.files)
    settings = settings_from(arguments)
    # Hacks look for secrets: the sandbox starts from an environment that holds the markers they seek.
    os.environ.update(canaries(entries))
    with open_scorer(with_canaries(settings), builtin_registry(settings)) as scorer:
        failed = _report(run_entries(entries, Judge(scorer)), len(entries))
    print(f"cases: {len(entries) - failed} passed, {failed} failed")
    return Exit.FOUND_FAULTS if failed else Exit.OK


def canaries(entries: Iterable[Entry]) -> Mapping[str, str]:
    """Return environment variables that hold every marker no result may show."""
    markers = {marker for entry in entries if isinstance(entry.line, HackLine) for marker in entry.line.leak_markers}
    numbered = {f"ASSAY_CANARY_{n}_KEY": marker for n, marker in enumerate(sorted(markers))}
    return {"ASSAY_API_KEYS": _API_KEY, "ASSAY_REDIS_URL": _REDIS_URL, "REDIS_URL": _REDIS_URL, **numbered}


def with_canaries(settings: Settings) -> Settings:
    """Return settings whose secrets are the markers."""
    return override(settings, {"api_keys": (_API_KEY,), "redis_url": _REDIS_URL})


def _report(reports: Iterable[CaseReport], total: int) -> int:
    progress = Progress(total, sys.stderr)
    failed = 0
    for report in reports:
        if report.problems:
            failed += 1
            print(harmless(f"FAILED {report.id}: {'; '.join(report.problems)}"), flush=True)
        progress.advance(f"{failed} failed")
    progress.finish(f"{failed} failed")
    return failed
