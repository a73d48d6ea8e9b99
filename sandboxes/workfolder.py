"""Folders that attempts may write to where they have no file system of their own: made, measured, removed.

Nothing here follows a link or trusts a path: while an attempt runs it may swap a folder for a link at any time.
"""

import errno
import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PREFIX = "assay-work-"
_UNNAMED = "assay-new-"  # of folders that are not locked yet: under their own name they would look left behind
_DEEPEST = 64
_REMOVAL_S = 5.0
_RETRY_S = 0.002
_BLOCK_BYTES = 512


@dataclass(frozen=True)
class Content:
    """What a folder holds: files and folders in it, the space they take, and whether folders nest absurdly deep."""

    files: int
    disk_bytes: int
    too_deep: bool = False


@dataclass(frozen=True)
class WorkerFolder:
    """The folder below which a worker's attempts get theirs; `close` removes it."""

    path: str
    close: Callable[[], None]


def open_worker_folder() -> WorkerFolder:
    """Make a worker's folder in the system's temporary one; folders of workers that are gone are removed.

    A lock, which ends with the worker, tells the living from the dead.
    """
    import tempfile  # here, not at the top: a warm interpreter measures folders, and would pay with two libraries

    for stale in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        _remove_unlocked(stale)
    made = tempfile.mkdtemp(prefix=_UNNAMED)
    lock = os.open(made, _as_folder())
    _lock(lock)
    os.chmod(made, 0o711)
    path = f"{os.path.dirname(made)}/{_PREFIX}{os.urandom(8).hex()}"
    os.rename(made, path)

    def close() -> None:
        nonlocal lock
        if lock >= 0:
            remove(path)
            os.close(lock)
            lock = -1

    return WorkerFolder(path, close)


def measure(path: str, *, most_files: int) -> Content:
    """Count what lies in a folder that its attempt may be changing; stops counting beyond `most_files`."""
    try:
        top = _open_folder(path, None)
    except OSError:
        return Content(0, 0)
    try:
        return _measure(top, most_files, depth=0)
    finally:
        os.close(top)


def remove(path: str) -> None:
    """Remove a folder, whatever is in it and however deep it nests. Nothing may be using it. Idempotent.

    Raises OSError if something cannot be removed.
    """
    deadline = time.monotonic() + _REMOVAL_S
    while True:
        try:
            _flatten(path)
            os.rmdir(path)
        except FileNotFoundError:
            if not os.path.lexists(path):
                return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)  # something that was killed has not quite ended
        else:
            return


def _as_folder() -> int:
    return os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _lock(folder: int) -> None:
    """Raises BlockingIOError if another process holds it."""
    import fcntl  # here, not at the top: other systems lack it

    fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _remove_unlocked(folder: Path) -> None:
    try:
        lock = os.open(folder, _as_folder())
    except OSError:
        return  # another user's, or gone meanwhile
    try:
        if os.fstat(lock).st_uid == os.getuid():
            _lock(lock)
            remove(str(folder))
    except BlockingIOError:
        return  # its worker lives
    finally:
        os.close(lock)


def _measure(folder: int, most_files: int, depth: int) -> Content:
    files = disk_bytes = 0
    too_deep = False
    with os.scandir(folder) as entries:
        for entry in entries:
            if files > most_files or too_deep:
                break
            files += 1
            try:
                status = entry.stat(follow_symlinks=False)
                disk_bytes += status.st_blocks * _BLOCK_BYTES
                if stat.S_ISDIR(status.st_mode):
                    inner = _measure_inner(folder, entry.name, most_files - files, depth + 1)
                    files += inner.files
                    disk_bytes += inner.disk_bytes
                    too_deep = inner.too_deep
            except OSError:
                continue  # it was removed, moved or replaced between two looks
    return Content(files, disk_bytes, too_deep)


def _measure_inner(parent: int, name: str, most_files: int, depth: int) -> Content:
    if depth > _DEEPEST:
        return Content(0, 0, too_deep=True)
    folder = _open_folder(name, parent)
    try:
        return _measure(folder, most_files, depth)
    finally:
        os.close(folder)


def _open_folder(name: str, parent: int | None) -> int:
    """Open a folder for reading, even if its owner may not read it."""
    try:
        return os.open(name, _as_folder(), dir_fd=parent)
    except PermissionError:
        handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)
        finally:
            os.close(handle)
        return os.open(name, _as_folder(), dir_fd=parent)


def _flatten(path: str) -> None:
    """Empty a folder: files are unlinked, folders first give what is in them to the top, so that depth is no matter."""
    top = _open_folder(path, None)
    mark = os.urandom(8).hex()
    moved = 0
    try:
        while names := os.listdir(top):
            for name in names:
                if _is_folder(name, top):
                    moved = _hand_up(name, top, mark, moved)
                    os.rmdir(name, dir_fd=top)
                else:
                    os.unlink(name, dir_fd=top)
    finally:
        os.close(top)


def _hand_up(name: str, top: int, mark: str, moved: int) -> int:
    """Move what is in a folder of `top` to `top`, under new names; returns how many were moved so far."""
    folder = _open_own(name, top)
    try:
        for inner in os.listdir(folder):
            if _is_folder(inner, folder):
                os.close(_open_own(inner, folder))  # to move a folder takes the right to write in it
            os.rename(inner, f"{mark}-{moved}", src_dir_fd=folder, dst_dir_fd=top)
            moved += 1
    finally:
        os.close(folder)
    return moved


def _open_own(name: str, parent: int | None) -> int:
    """Open a folder in which nothing runs any more, and take every right to it."""
    folder = _open_folder(name, parent)
    os.fchmod(folder, 0o700)
    return folder


def _is_folder(name: str, parent: int) -> bool:
    return stat.S_ISDIR(os.lstat(name, dir_fd=parent).st_mode)
