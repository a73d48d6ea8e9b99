"""Processor time of processes that ended unseen is added to what the host tells."""

import os
from pathlib import Path

import pytest

from assay.sandboxes.cgroup import Controllers, JailGroup
from assay.sandboxes.unseen import UnseenTime

HOST = os.getppid() or 1  # 0 where it is outside of our namespace


class Accounts:
    """A control group whose account the test writes; the host is a process that does nothing."""

    def __init__(self, folder: Path, host_s: float) -> None:
        self._usage = folder / "assay-1-1" / "cpuacct.usage"
        self._host_s = host_s
        self.unseen = UnseenTime(JailGroup(Controllers(folder, 1, folder), "assay-1-1"), HOST)

    def book(self, seconds: float) -> None:
        """The tree has used so much, on top of its host."""
        self._usage.write_text(f"{int((self._host_s + seconds) * 1e9)}\n")


@pytest.fixture
def accounts(tmp_path: Path) -> Accounts:
    """Accounts beside which the parent of the tests stands for the host, which waits meanwhile."""
    with open(f"/proc/{HOST}/schedstat", encoding="ascii") as file:
        return Accounts(tmp_path, int(file.read().split()[0]) / 1e9)


def test_what_the_host_saw_is_not_counted_twice(accounts: Accounts) -> None:
    """As long as the group counts no more than the host tells, that stands."""
    accounts.book(0.25)
    accounts.unseen.begin()

    first = accounts.unseen.look(0.25)
    accounts.book(1.25)

    assert (first, accounts.unseen.look(1.25)) == (0.25, pytest.approx(1.25, abs=0.05))


def test_what_ended_unseen_is_counted(accounts: Accounts) -> None:
    """Seconds that only the group knows of are the child's, to its end."""
    accounts.book(0.0)
    accounts.unseen.begin()
    accounts.unseen.look(0.0)

    accounts.book(2.0)

    assert accounts.unseen.look(0.5) == pytest.approx(2.0, abs=0.05)
    assert accounts.unseen.end(0.5) == pytest.approx(2.0, abs=0.05)


def test_earlier_children_do_not_count(accounts: Accounts) -> None:
    """What one child hid is not held against the next."""
    accounts.book(0.0)
    accounts.unseen.look(0.0)
    accounts.book(5.0)

    accounts.unseen.begin()

    assert accounts.unseen.look(0.1) == 0.1
    assert accounts.unseen.end(0.1) == 0.1


def test_without_an_account_the_host_is_believed(tmp_path: Path) -> None:
    """Where the group tells nothing, what the host tells stands."""
    unseen = UnseenTime(JailGroup(Controllers(tmp_path, 1), "assay-1-1"), HOST)

    unseen.begin()

    assert unseen.look(0.5) == unseen.look(0.5) == unseen.end(0.5) == 0.5
