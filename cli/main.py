"""`assay`: loads the command line and runs it. Ctrl-C ends it quietly from the first moment."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from assay.cli.exits import Exit
from assay.interrupts import raise_interrupts


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    with _ending_at_once():
        # Here, not at the top: it takes a third of a second, in which Ctrl-C must not print a traceback.
        from assay.cli.commands import run

    return run(arguments)


@contextmanager
def _ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process on the spot: there is nothing yet to clean up.

    An exception would not do: raised in the middle of an import, libraries wrap or swallow it.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # ignored (nohup), or an embedding program's
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(Exit.INTERRUPTED))
    try:
        yield
    finally:
        raise_interrupts()
