"""Stopping processes by signals, where there are no control groups."""

import subprocess
import sys
from pathlib import Path

import pytest
from native_runners import DOUBLE, Open, started
from starved import Starved

from assay.sandboxes.freezer import NotStopped, SignalFreezer, stop

pytestmark = pytest.mark.jail


RESISTING = "import os, signal\nprint('up', flush=True)\nwhile True: os.kill(os.getpid(), signal.SIGCONT)"


def test_signals_stop_a_process_or_tell_that_they_did_not() -> None:
    """Also one that sends itself on: when `freeze` returns it has stopped."""
    process = subprocess.Popen([sys.executable, "-c", RESISTING], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        process.stdout.readline()
        freezer, stopped = SignalFreezer(process.pid), 0
        for _ in range(20):
            try:
                freezer.freeze()
            except NotStopped:
                continue
            assert Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] in "Tt"
            stopped += 1
            freezer.thaw()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()

    assert stopped


def test_patience_ends(start: Open) -> None:
    """With what goes on, and at once with what has ended meanwhile."""
    freezer = started(start(DOUBLE)).freezer
    assert freezer is not None

    assert not stop(Starved(freezer, 1), lambda: True)
    with pytest.raises(NotStopped, match="did not stop"):
        stop(Starved(freezer, 10_000), lambda: False)


def test_signals_tell_of_a_process_that_is_gone() -> None:
    """There is nothing to stop, and nothing to thaw."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    freezer = SignalFreezer(process.pid)

    with pytest.raises(NotStopped):
        freezer.freeze()
    freezer.thaw()
