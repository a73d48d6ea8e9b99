"""This host's locks of devices: files of a folder that only the user of this host's workers can write.

A lock is the kernel's own (`flock`): it lasts for as long as any process has its descriptor. Whoever has a job done by
another process hands the descriptor on, so that the device stays locked until that process has ended as well.
Processes that run hostile code are never handed it: they could unlock it.

Not guaranteed: exclusion between hosts (`lease`), users, or containers that do not share the folder.
"""

import fcntl
import hashlib
import os
import random
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.errors import Inconclusive, InfraFault
from assay.settings import Settings

_FIRST_PAUSE_S = 0.01
_LONGEST_PAUSE_S = 0.1
_GROWTH = 1.5
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH

Pause = Callable[[float], object]


def usual_folder() -> Path:
    """Return where locks are kept unless a setting says so: one place for workers that share a temporary folder."""
    return Path(tempfile.gettempdir()) / "assay-devices"


def chosen_folder(settings: Settings) -> Path:
    """Return where locks are kept by these settings."""
    return settings.device_dir or usual_folder()


def file_of(folder: Path, device: str, ending: str) -> Path:
    """Return where something about a device is kept on this host."""
    return folder / f"{hashlib.sha256(device.encode()).hexdigest()[:32]}.{ending}"


def make_folder(folder: Path) -> None:
    """Make the folder where there is none, and see that nobody else can put anything into it. Raises InfraFault."""
    try:
        if not os.path.lexists(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InfraFault(f"cannot lock devices in the folder {folder}: {error}") from error
    wrong = distrust_of(folder)
    if wrong:
        raise InfraFault(f"cannot lock devices: {wrong}")


def distrust_of(folder: Path) -> str:
    """Say why a folder that is there cannot be trusted with locks; empty if it can, or is not there."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{folder} cannot be looked at: {error}"
    advice = "name another in ASSAY_DEVICE_DIR"
    if not stat.S_ISDIR(found.st_mode):
        return f"{folder} is no folder, but a link or a file: remove it, or {advice}"
    if found.st_uid != os.geteuid():
        owner, own = found.st_uid, os.geteuid()
        return f"{folder} is user {owner}'s, and this is user {own}: run all workers as one user, or {advice}"
    if found.st_mode & _OTHERS_MAY_WRITE:
        return f"{folder} can be written by others (mode {stat.S_IMODE(found.st_mode):o}): `chmod 700` it, or {advice}"
    return ""


@dataclass(frozen=True)
class HostLock:
    """A lock that is held."""

    fd: int
    """Whoever has it open holds the lock."""
    path: Path

    def is_in_place(self) -> bool:
        """Say whether it still keeps others out: its file may have been removed or replaced."""
        try:
            named = self.path.stat(follow_symlinks=False)
        except OSError:
            return False
        return os.path.samestat(named, os.fstat(self.fd))


class Backoff:
    """Waits for a device, longer each time, until a deadline; many who wait do not wait in step."""

    def __init__(
        self, device: str, deadline_s: float, pause: Pause = time.sleep, longest_s: float = _LONGEST_PAUSE_S
    ) -> None:
        self._device = device
        self._deadline_s = deadline_s
        self._pause = pause
        self._longest_s = longest_s
        self._next_s = _FIRST_PAUSE_S

    def wait(self) -> None:
        """Wait a while. Raises Inconclusive at the deadline (monotonic)."""
        left_s = self._deadline_s - time.monotonic()
        if left_s <= 0:
            raise Inconclusive(f"the device {self._device} was in use until the deadline")
        self._pause(min(left_s, self._next_s * random.uniform(0.5, 1.0)))
        self._next_s = min(self._longest_s, self._next_s * _GROWTH)


@contextmanager
def host_lock(folder: Path, device: str, deadline_s: float, *, pause: Pause = time.sleep) -> Iterator[HostLock]:
    """Hold this host's lock of the device. Raises Inconclusive at the deadline (monotonic), InfraFault without one."""
    backoff = Backoff(device, deadline_s, pause)
    path = file_of(folder, device, "lock")
    while (lock := _try_to_lock(path, device)) is None:
        backoff.wait()
    try:
        yield lock
    finally:
        os.close(lock.fd)


def _try_to_lock(path: Path, device: str) -> HostLock | None:
    """Return the lock, or None while somebody has it, or if its file was replaced meanwhile. Raises InfraFault."""
    make_folder(path.parent)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InfraFault(f"cannot lock the device {device}: {error}") from error
    lock = HostLock(fd, path)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_ours = lock.is_in_place()
    except BlockingIOError:
        is_ours = False
    except BaseException:
        os.close(fd)
        raise
    if not is_ours:
        os.close(fd)
        return None
    return lock
