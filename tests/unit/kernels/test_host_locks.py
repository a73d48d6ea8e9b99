"""Devices of a host: one job at a time under its lock and lease, whatever happens to the lock's file."""

import fcntl
import os
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from noted_leases import NotedLeases

from assay.cli.device_findings import folder_findings
from assay.errors import Inconclusive, InfraFault
from assay.sandboxes.devices.host_lock import HostLock, file_of, host_lock
from assay.sandboxes.devices.lease import HostLeases, Lease, timed_alone

DEVICE = "cpu:one"


def test_32_jobs_of_one_host_never_overlap(tmp_path: Path) -> None:
    """Without any other host the lock alone keeps them apart; tokens grow."""
    log: list[tuple[float, float, int]] = []
    leases = HostLeases()

    def job(lease: Lease, _: HostLock) -> None:
        started_s = time.monotonic()
        threading.Event().wait(0.01)
        log.append((started_s, time.monotonic(), lease.token))

    workers = [
        threading.Thread(target=lambda: timed_alone(leases, DEVICE, tmp_path / "new", 30, job)) for _ in range(6)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert all(before[1] <= after[0] for before, after in pairwise(sorted(log)))
    assert [token for _, _, token in sorted(log)] == list(range(1, 7))


def test_32_a_result_under_a_lease_that_ended_does_not_count(tmp_path: Path) -> None:
    """Whatever was measured: the device may have been somebody else's meanwhile."""
    with pytest.raises(Inconclusive, match=r"lease 1 .* discarded"):
        timed_alone(NotedLeases(ends_well=False), DEVICE, tmp_path, 1, lambda *_: "measured")


def test_a_device_that_stays_busy_leaves_the_attempt_undecided(tmp_path: Path) -> None:
    """At the deadline; who waits may be told to stop before."""
    paused: list[float] = []

    def cancelled(seconds: float) -> None:
        paused.append(seconds)
        raise InfraFault("cancelled")

    with host_lock(tmp_path, DEVICE, time.monotonic() + 1):
        with pytest.raises(Inconclusive, match="in use"):
            timed_alone(HostLeases(), DEVICE, tmp_path, 0, lambda *_: None)
        with pytest.raises(InfraFault, match="cancelled"):
            timed_alone(HostLeases(), DEVICE, tmp_path, 60, lambda *_: None, pause=cancelled)

    assert len(paused) == 1


def linked(folder: Path) -> None:
    """A link to a folder of one's own."""
    target = folder.with_name("elsewhere")
    target.mkdir(mode=0o700)
    folder.symlink_to(target)


@pytest.mark.parametrize(
    ("lay", "words"),
    [
        (Path.touch, "no folder"),
        (linked, "no folder"),
        (lambda folder: folder.mkdir() or folder.chmod(0o777), "mode 777"),
        (lambda folder: folder.mkdir() or folder.chmod(0o720), "mode 720"),
    ],
)
def test_a_folder_that_others_could_write_is_refused(tmp_path: Path, lay: Callable[[Path], None], words: str) -> None:
    """By jobs and by the doctor, who name the setting: somebody else may have made it in the temporary folder."""
    folder = tmp_path / "devices"
    lay(folder)

    with pytest.raises(InfraFault, match=f"{words}.*ASSAY_DEVICE_DIR"), host_lock(folder, DEVICE, 0):
        pass
    (found,) = folder_findings(folder)

    assert found.ok is False
    assert words in found.detail


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    """Workers of one machine are one user's."""
    folder = tmp_path / "devices"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65_534, 65_534)

    with pytest.raises(InfraFault, match="user 65534's, and this is user 0"), host_lock(folder, DEVICE, 0):
        pass


def test_a_lock_whose_file_was_replaced_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between opening and locking it, by whoever cleans up: a lock of a file without a name keeps nobody out."""
    path, taken = file_of(tmp_path, DEVICE, "lock"), list[int]()
    flock = fcntl.flock

    def flock_late(fd: int, operation: int) -> None:
        if not taken:
            path.unlink()
        taken.append(fd)
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", flock_late)
    with host_lock(tmp_path, DEVICE, time.monotonic() + 10) as lock:
        assert len(taken) == 2
        assert lock.is_in_place()
        with pytest.raises(Inconclusive), host_lock(tmp_path, DEVICE, 0):
            pass


def test_32_a_result_under_a_lock_that_was_removed_does_not_count(tmp_path: Path) -> None:
    """Somebody else may have locked the device by its new file."""

    def job(_: Lease, lock: HostLock) -> str:
        lock.path.unlink()
        return "measured"

    with pytest.raises(Inconclusive, match="removed"):
        timed_alone(HostLeases(), DEVICE, tmp_path, 1, job)


class _Rare(NotedLeases):
    """Leases that are somebody else's for a while."""

    def __init__(self, free_at: float) -> None:
        super().__init__()
        self.asked = 0
        self.now_s = 0.0
        self._free_at = free_at

    def take(self, device: str) -> Lease | None:
        """One, in the end."""
        self.asked += 1
        return super().take(device) if self.now_s >= self._free_at else None

    def pause(self, seconds: float) -> None:
        """Let time go by."""
        assert seconds <= 0.5
        self.now_s += seconds


def test_whoever_waits_for_a_lease_asks_ever_less(tmp_path: Path) -> None:
    """At once at first; a minute is some 150 questions and not 6,000, and nobody is late by more than half a second."""
    short, long = _Rare(0.01), _Rare(60)

    for leases in (short, long):
        timed_alone(leases, DEVICE, tmp_path, 600, lambda *_: None, pause=leases.pause)

    assert short.asked <= 4
    assert 60 / 0.5 <= long.asked <= 60 / 0.25 + 20


def test_a_lock_lasts_as_long_as_whoever_was_handed_it(tmp_path: Path) -> None:
    """A process that outlives the holder keeps the device."""
    with host_lock(tmp_path, DEVICE, 0) as lock:
        kept = os.dup(lock.fd)

    with pytest.raises(Inconclusive), host_lock(tmp_path, DEVICE, 0):
        pass
    os.close(kept)
    with host_lock(tmp_path, DEVICE, 0):
        pass
