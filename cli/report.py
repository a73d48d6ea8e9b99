"""`assay report`: what files of results come to, for a terminal, a pull request, a browser or a CI service."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from assay.cli.exits import Exit
from assay.cli.options import Commands, add_command
from assay.cli.output import is_stream, refuse_overwriting, replacing
from assay.cli.records.opening import STDIN
from assay.cli.reports.junit import Suite, write_junit
from assay.cli.reports.pages import html_lines
from assay.cli.reports.sections import Section, sections
from assay.cli.reports.summary import Summary
from assay.cli.reports.texts import markdown_lines, terminal_lines
from assay.cli.results.lines import read_result_lines
from assay.cli.results.telling import on_a_line
from assay.errors import InvalidRequest

_ABOUT = """Report on files of results. Outcomes, rewards, groups, attempts without a reward, verdicts that are not
stable, the slowest attempts; of several files together. Where a file is named for a form, nothing is printed but what
goes to -. Exit status 0 whatever the results say: `assay score` has the gates."""
_FORMS = {"markdown": markdown_lines, "html": html_lines}


def add_parser(commands: Commands) -> None:
    """Add `report` to the command line."""
    parser = add_command(commands, "report", run, _ABOUT)
    parser.add_argument("results", type=Path, nargs="+", metavar="RESULTS")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write a document with tables; - is the output")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a page with plots that needs nothing else")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write JUnit XML, a test case for each attempt")


def run(arguments: argparse.Namespace) -> int:
    """Read results and write the reports that were asked for."""
    chosen = {name: getattr(arguments, name) for name in (*_FORMS, "junit") if getattr(arguments, name) is not None}
    if list(chosen.values()).count(STDIN) > 1:
        raise InvalidRequest("only one report can go to the output", path="-", fix="name files for the others")
    for path in chosen.values():
        refuse_overwriting(path, arguments.results)
    summary, suites = _read(arguments.results, with_suites="junit" in chosen)
    told = sections(summary, [str(path) for path in arguments.results])
    if not chosen:
        print(*terminal_lines(told), sep="\n")
    for name, path in chosen.items():
        _write(name, path, told, suites)
    return Exit.OK


def _read(paths: list[Path], *, with_suites: bool) -> tuple[Summary, list[Suite]]:
    if paths.count(STDIN) > 1:
        raise InvalidRequest("standard input can be read once", path="-", fix="name it once")
    summary, suites = Summary(), []
    for path in paths:
        suites.append(Suite(on_a_line(str(path))))
        for line in read_result_lines(path):
            summary.add(line, str(path))
            if with_suites:
                suites[-1].add(line)
    return summary, suites


def _write(name: str, path: Path, told: list[Section], suites: list[Suite]) -> None:
    with _opened(path) as stream:
        if name == "junit":
            write_junit(suites, stream)
            return
        for line in _FORMS[name](told):
            stream.write(f"{line}\n".encode())


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open a report: the output, a pipe, or a file that gets its new content as a whole."""
    if path == STDIN:
        yield sys.stdout.buffer
        return
    try:
        if is_stream(path):
            with path.open("wb") as stream:
                yield stream
            return
        path.touch()
        with replacing(path) as new:
            yield new
    except OSError as error:
        raise InvalidRequest(f"cannot be written: {error}", path=str(path), fix="check the path") from error
