"""What a child is given to read: an anonymous file, so that it can be of any size and nobody waits for a reader."""

import os


def write_payload(data: bytes) -> int:
    """Return a descriptor of an anonymous file that holds `data`; it is closed on exec."""
    fd = os.memfd_create("payload", os.MFD_CLOEXEC)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    return fd


def read_payload(fd: int) -> bytes:
    """Return what the file holds, and close it. Where its descriptor stands does not matter, nor is it moved."""
    size = os.fstat(fd).st_size
    chunks = []
    offset = 0
    while offset < size:
        chunk = os.pread(fd, size - offset, offset)
        if not chunk:
            break
        chunks.append(chunk)
        offset += len(chunk)
    os.close(fd)
    return b"".join(chunks)
