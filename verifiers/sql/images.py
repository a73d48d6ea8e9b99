"""Images of databases: their bytes in sealed anonymous files, which a process can read and nobody can write.

An image is named by its content, so that all tasks on one database share it. Where an operator has a folder of
databases, tasks name a file below it together with its SHA-256: the name finds the file, and the digest is what is
judged by, and part of the task's content.
"""

import errno
import fcntl
import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from assay.errors import InfraFault, TaskFault

MOST_BYTES = 512 << 20
"""Of all images that are kept, and of the largest one."""
LONGEST_NAME = 255
"""Bytes of a file's or a folder's name: more no file system of ours takes."""
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_SQLITE_MAGIC = b"SQLite format 3\0"
_DUCKDB_MAGIC, _DUCKDB_MAGIC_AT = b"DUCK", 8
_VERSIONS_AT, _WAL = slice(18, 20), b"\x02\x02"
_ROLLBACK = b"\x01\x01"
_OF_THE_NAME = frozenset({errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.ENOENT, errno.EINVAL})


class Images:
    """Keeps images, the least used ones go first. Thread-safe."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._bytes = 0
        self._kept: OrderedDict[str, tuple[int, int]] = OrderedDict()  # name -> descriptor, size

    @contextmanager
    def lend(self, name: str, make: Callable[[], bytes]) -> Iterator[int]:
        """Yield a descriptor of the image of that name, which `make` makes if it is not kept."""
        with self._lock:
            fd = self._duplicate(name)
        if fd is None:
            image = make()
            with self._lock:
                fd = self._duplicate(name)
                if fd is None:
                    fd = self._keep(name, image)
        try:
            yield fd
        finally:
            os.close(fd)

    def _duplicate(self, name: str) -> int | None:
        if name not in self._kept:
            return None
        self._kept.move_to_end(name)
        return os.dup(self._kept[name][0])

    def _keep(self, name: str, image: bytes) -> int:
        fd = _sealed(image)
        self._kept[name] = fd, len(image)
        self._bytes += len(image)
        lent = os.dup(fd)
        while self._bytes > self._most_bytes:
            _, (dropped, size) = self._kept.popitem(last=False)
            os.close(dropped)
            self._bytes -= size
        return lent


def _sealed(image: bytes) -> int:
    fd = os.memfd_create("database", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    view = memoryview(image)
    while view:
        view = view[os.write(fd, view) :]
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    return fd


def is_database(head: bytes, dialect: str) -> bool:
    """Whether a file that begins like this is a database of that dialect."""
    if dialect == "sqlite":
        return head.startswith(_SQLITE_MAGIC)
    return head[_DUCKDB_MAGIC_AT:].startswith(_DUCKDB_MAGIC)


def without_wal(image: bytes, dialect: str) -> bytes:
    """Return an image that can be opened in memory: one in WAL mode says otherwise of itself.

    What stands in a log beside the file is not part of the image.
    """
    if dialect != "sqlite" or image[_VERSIONS_AT] != _WAL:
        return image
    return image[: _VERSIONS_AT.start] + _ROLLBACK + image[_VERSIONS_AT.stop :]


def read_named(folder: Path | None, name: str, sha256: str) -> bytes:
    """Return the content of a file below the operator's folder.

    Raises InfraFault if no folder is configured or the file cannot be read, TaskFault if there is no such file or its
    digest is another.
    """
    if folder is None:
        raise InfraFault(f"this worker has no folder of databases, so not {name!r} either: set ASSAY_DATABASES")
    content = _read_below(folder.resolve(), name)
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise TaskFault(f"the database {name!r} has the SHA-256 {found}, not the task's {sha256}")
    return content


def _read_below(root: Path, name: str) -> bytes:
    try:
        path = (root / name).resolve()
        if not path.is_relative_to(root) or not path.is_file():
            raise TaskFault(f"there is no database {name!r} in the folder of databases")
        if path.stat().st_size > MOST_BYTES:
            raise TaskFault(f"the database {name!r} has more than {MOST_BYTES} bytes")
        return path.read_bytes()
    except OSError as error:
        if error.errno in _OF_THE_NAME:
            raise TaskFault(f"there can be no database {name!r}: {error.strerror}") from error
        raise InfraFault(f"cannot read the database {name!r}: {error.strerror}") from error
    except (RuntimeError, ValueError) as error:  # links in a circle; a name that is none
        raise TaskFault(f"there can be no database {name!r}: {error}") from error
