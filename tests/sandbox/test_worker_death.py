"""When a worker dies, everything it started dies with it."""

import signal
import subprocess
import sys

import pytest
from process_trees import descendants, living
from waiting import wait_for

from assay.sandboxes.jails import JailPool

WORKER = """
from assay.sandboxes.backends import open_pool
from assay.schema import Limits
from assay.settings import Settings
from assay.verifiers.run import RunTask, RunVerifier
pool = open_pool(Settings(slots=1))
with pool.slot() as slot:
    source = "import os, time\\nfor _ in range(3): os.fork()\\nprint('up', flush=True)\\ntime.sleep(600)"
    print("judging", flush=True)
    RunVerifier().judge(RunTask(id="t", verifier="run", limits=Limits(wall_s=600)), source, slot)
"""


@pytest.mark.usefixtures("pool")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_jails_end_with_their_worker(number: signal.Signals, pool: JailPool) -> None:
    """A worker that is killed in mid-attempt leaves no warm interpreter, host or child."""
    del pool
    worker = subprocess.Popen([sys.executable, "-c", WORKER], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    worker.stdout.readline()
    wait_for(lambda: len(descendants(worker.pid)) >= 10)  # interpreter, host and eight processes of the program
    below = descendants(worker.pid)

    worker.send_signal(number)
    worker.wait()
    worker.stdout.close()

    wait_for(lambda: not living(below))
