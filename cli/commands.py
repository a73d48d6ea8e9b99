"""The commands of `assay`: reads arguments, calls one command, turns faults into exit statuses.

Exit statuses, the same for every command:
  0  done, nothing wrong
  1  done, and something is wrong with what was judged (a failed case, a broken task, a null reward), or has changed
  2  the arguments or the input are refused
  3  this side failed (no isolation, no service, a fault of ours)
  4  done, and the rewards are below what --fail-under asks for
  130  interrupted
  141  nobody reads the output any more
"""

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from assay import __version__
from assay.cli import bench, cases, check, demo, diff, doctor, report, score, serve, verifiers, worker
from assay.cli.exits import Exit
from assay.cli.remarks import remark
from assay.errors import AssayError, InfraFault
from assay.extras import how_to_get
from assay.terminals import harmless, log_to_stderr

_COMMANDS = (serve, worker, score, report, diff, check, cases, doctor, verifiers, bench, demo)


def run(arguments: Sequence[str] | None) -> int:
    """Run the command line and return its exit status."""
    try:
        parsed = build_parser().parse_args(arguments)
        log_to_stderr("WARNING", "%(levelname)s %(name)s %(message)s")
        status: int = parsed.run(parsed)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _forget_stdout()
        return Exit.UNREAD
    except ModuleNotFoundError as error:
        if str(error.name).startswith("assay"):
            raise  # no missing extra: this installation is broken
        print(f"assay: {error.name} is not installed: {how_to_get([str(error.name)])}", file=sys.stderr)
        return Exit.OUR_FAULT
    except AssayError as error:
        remark(str(error))
        return Exit.OUR_FAULT if isinstance(error, InfraFault) else Exit.REFUSED
    except Exception:  # noqa: BLE001 - the entry point: whatever it is, it is this side's fault, and told in full
        print(harmless(traceback.format_exc().rstrip()), file=sys.stderr)
        remark("this side failed, as told above; what was written so far stands")
        return Exit.OUR_FAULT
    return status


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every command, as the help text and the documentation show it."""
    parser = argparse.ArgumentParser(
        prog="assay",
        description="Execution service for verifiable rewards.",
        epilog="exit status: 0 done; 1 something judged is wrong; 2 refused; 3 this side failed; 4 rewards too low",
    )
    parser.add_argument("--version", action="version", version=f"assay {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for module in _COMMANDS:
        module.add_parser(commands)
    return parser


def _forget_stdout() -> None:
    """Send the rest to nowhere, or the interpreter would report the broken pipe again when it ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, sys.stdout.fileno())
    os.close(null)
