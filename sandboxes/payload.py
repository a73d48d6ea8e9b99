"""What a child is given to read: an anonymous file, so that it can be of any size and nobody waits for a reader."""

import os
from collections.abc import Iterator


def write_payload(data: bytes) -> int:
    """Return a descriptor of an anonymous file that holds `data`; it is closed on exec."""
    fd = os.memfd_create("payload", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    return fd


def read_payload(fd: int) -> bytes:
    """Return what the file holds, and close it. Where its descriptor stands does not matter, nor is it moved."""
    data = b"".join(read_pieces(fd, 0, os.fstat(fd).st_size))
    os.close(fd)
    return data


def read_pieces(fd: int, offset: int, size: int, *, most_bytes: int = 2**30) -> Iterator[bytes]:
    """Yield `size` bytes of the file from `offset` on, or as many as there are, at most `most_bytes` at a time."""
    end = offset + size
    while offset < end:
        piece = os.pread(fd, min(most_bytes, end - offset), offset)
        if not piece:
            return
        yield piece
        offset += len(piece)
