"""What the kernel of this machine tells of a runner's process: that it waits for a processor, and that it ends."""

import os
import socket
import subprocess
import sys

import pytest

from assay.sandboxes.devices.channel import is_ending, is_unread, tell
from assay.sandboxes.devices.processor_time import RunQueue, now_s, waiting

BUSY_S = 0.05
SPIN = f"import time\nend = time.thread_time() + {BUSY_S}\nwhile time.thread_time() < end: pass"


def test_a_process_that_ends_is_told_from_one_that_lives() -> None:
    """Also before anybody has waited for it, and after that."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        assert not is_ending(process.pid)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert is_ending(process.pid)
    finally:
        process.communicate()
    assert is_ending(process.pid)


def test_waiting_for_a_processor_is_told() -> None:
    """Of two that want one processor, each waits while the other runs; sleeping is not waiting."""
    core = min(os.sched_getaffinity(0))
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    process = subprocess.Popen([sys.executable, "-c", SPIN])
    try:
        queue, began_s = RunQueue(process.pid), now_s()
        before_s = queue.waited_s()
        if before_s is None:
            pytest.skip("this kernel keeps no account of waiting")
        after_s = before_s
        while process.poll() is None:
            if (told := queue.waited_s()) is not None:
                after_s = told
        took_s = now_s() - began_s
    finally:
        process.kill()
        process.wait()
        os.sched_setaffinity(0, usual)
        queue.close()

    waited_s = waiting(before_s, after_s)
    assert waited_s is not None
    assert BUSY_S / 2 < waited_s < 2 * took_s
    assert queue.waited_s() is None


def test_nothing_is_known_where_a_look_told_nothing() -> None:
    """And no waiting is less than none."""
    assert waiting(None, 1.0) is None
    assert waiting(1.0, None) is None
    assert waiting(2.0, 1.0) == 0.0


def test_telling_never_waits_for_who_does_not_read() -> None:
    """A full channel takes nothing more; what is unread is known, and a closed channel is told apart."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert tell(ours, b"g")
        assert is_unread(ours)
        theirs.recv(1, socket.MSG_PEEK)
        assert is_unread(ours)
        theirs.recv(1)
        assert not is_unread(ours)
        while tell(ours, b"g"):
            pass
        assert is_unread(ours)
        theirs.close()
        with pytest.raises(BrokenPipeError):
            tell(ours, b"g")
