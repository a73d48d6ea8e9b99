"""Captured output is capped and decoded by nobody."""

import fcntl
import os

from assay.sandboxes.capture import TAIL_BYTES, Capture


def captured(data: bytes, cap: int) -> Capture:
    """Send `data` through a pipe into a capture."""
    read_fd, write_fd = os.pipe()
    capture = Capture(read_fd, cap)
    for start in range(0, len(data), 30_000):
        os.write(write_fd, data[start : start + 30_000])
        capture.drain_all()
    os.close(write_fd)
    capture.drain_all()
    return capture


def test_output_below_the_cap_is_kept_whole() -> None:
    """What is shorter than the cap comes back byte for byte, also when chunks tear characters."""
    text = ("é" * 60_000).encode()

    capture = captured(text, cap=200_000)

    assert capture.kept() == text
    assert capture.total == len(text)


def test_output_beyond_the_cap_keeps_head_and_tail() -> None:
    """Past the cap only the last bytes are kept, and all are counted."""
    data = b"a" * 1000 + b"b" * 100_000 + b"END"

    capture = captured(data, cap=1000)

    assert capture.kept() == b"a" * 1000 + (b"b" * TAIL_BYTES + b"END")[-TAIL_BYTES:]
    assert capture.total == len(data)


def test_only_what_waits_is_read() -> None:
    """A writer that goes on writing cannot keep the reader; what was written before is read whole."""
    read_fd, write_fd = os.pipe()
    capture = Capture(read_fd, cap=10)
    fcntl.fcntl(write_fd, fcntl.F_SETPIPE_SZ, 1 << 18)
    os.write(write_fd, b"x" * 200_000)

    capture.drain_waiting()

    assert capture.total == 200_000
    os.close(write_fd)
    capture.close()
    capture.drain_waiting()


def test_closed_writer_gives_back_the_descriptor() -> None:
    """Once the writer is gone there is nothing left to poll."""
    assert captured(b"x", cap=10).fd is None
