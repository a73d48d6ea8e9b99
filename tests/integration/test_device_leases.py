"""Acceptance test 32 of the kernel lane: one timing job per device at a time, with a real Redis."""

import os
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from assay.errors import Inconclusive
from assay.sandboxes.devices.host_lock import HostLock
from assay.sandboxes.devices.lease import Lease, timed_alone
from assay.service.connection import Connection
from assay.service.device_leases import DeviceLeases
from assay.service.redis_server import PrivateRedis

DEVICE = "cuda:GPU-1"


@pytest.fixture
def connection(redis_binary: str, tmp_path: Path) -> Iterator[Connection]:  # noqa: ARG001 - skips
    """A connection to a Redis of the test's own."""
    server = PrivateRedis(tmp_path / "data")
    lock = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    try:
        server.start(lock)
        connection = Connection(server.url)
        yield connection
        connection.close()
    finally:
        server.stop()
        os.close(lock)


@pytest.mark.redis
@pytest.mark.parametrize("hosts", [1, 2])
def test_32_two_timing_jobs_for_one_device_never_overlap(connection: Connection, tmp_path: Path, hosts: int) -> None:
    """Two workers, on one host or on two, run five jobs each; the interval log shows them one after the other."""
    log: list[tuple[float, float, int]] = []
    folders = [tmp_path / f"host{number % hosts}" for number in range(2)]
    for folder in folders:
        folder.mkdir(exist_ok=True)

    def job(lease: Lease, _: HostLock) -> None:
        started_s = time.monotonic()
        threading.Event().wait(0.02)
        log.append((started_s, time.monotonic(), lease.token))

    def work(folder: Path) -> None:
        leases = DeviceLeases(connection, lasts_s=30)
        for _ in range(5):
            timed_alone(leases, DEVICE, folder, 120, job)

    workers = [threading.Thread(target=work, args=(folder,)) for folder in folders]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    log.sort()
    assert len(log) == 10
    assert all(before[1] <= after[0] for before, after in pairwise(log))
    assert [token for _, _, token in log] == list(range(1, 11))


@pytest.mark.redis
def test_32_the_result_under_a_lease_that_ended_is_discarded(connection: Connection, tmp_path: Path) -> None:
    """A job that outlives its lease, with another holder since, gives no result and leaves the other's lease alone."""
    others: list[Lease] = []
    other = DeviceLeases(connection, lasts_s=30)

    def slow(lease: Lease, _: HostLock) -> str:  # noqa: ARG001 - its lease ends meanwhile
        deadline_s = time.monotonic() + 60
        while not others and time.monotonic() < deadline_s:
            others.extend(filter(None, [other.take(DEVICE)]))
        return "stale"

    with pytest.raises(Inconclusive, match="discarded"):
        timed_alone(DeviceLeases(connection, lasts_s=0.05), DEVICE, tmp_path, 60, slow)

    assert [lease.token for lease in others] == [2]
    assert other.end(others[0])


@pytest.mark.redis
def test_32_a_lease_that_is_renewed_lasts(connection: Connection) -> None:
    """For as long as its holder renews it; nobody else can, and nobody can once it has ended."""
    mine, others = DeviceLeases(connection, lasts_s=3), DeviceLeases(connection, lasts_s=30)
    lease = mine.take(DEVICE)
    assert lease is not None
    deadline_s = time.monotonic() + 4  # longer than a lease that nobody renews

    while time.monotonic() < deadline_s:
        assert mine.renew(lease)
        assert others.take(DEVICE) is None
        threading.Event().wait(0.02)
    assert not mine.renew(Lease(DEVICE, lease.token, "somebody else"))
    assert mine.end(lease)

    assert not mine.renew(lease)
    assert others.take(DEVICE) is not None
