"""What a warm interpreter does before it forks."""

import subprocess
import sys

import pytest

_PLAYED_TWICE = """
import os, threading
from assay.verifiers.split.rehearsal import {rehearse}
before = os.listdir("/proc/self/fd")
{rehearse}()
{rehearse}()
assert os.listdir("/proc/self/fd") == before, os.listdir("/proc/self/fd")
assert threading.active_count() == 1, threading.enumerate()
"""


@pytest.mark.parametrize("rehearse", ["rehearse_candidate", "rehearse_oracle"])
def test_a_rehearsal_leaves_nothing_open(rehearse: str) -> None:
    """Playing a conversation leaves no descriptor, thread or print behind, and can be done again.

    In an interpreter of its own, as in a host: with other threads the conversation would be another one.
    """
    command = [sys.executable, "-W", "error", "-c", _PLAYED_TWICE.format(rehearse=rehearse)]
    played = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert (played.returncode, played.stdout, played.stderr) == (0, "", "")
