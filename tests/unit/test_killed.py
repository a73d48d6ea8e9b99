"""Whether trusted code that is killed was killed by the machine, or kills itself."""

from collections.abc import Callable

import pytest

from assay.outcomes import Outcome
from assay.sandboxes import procfs
from assay.sandboxes.fakes import FakeChild
from assay.sandboxes.interface import Exit
from assay.verifiers import killed
from assay.verifiers.killed import Deaths, Killed, settle, was_killed


def dying(times: int) -> Callable[[], str]:
    """What is killed so many times, and then plays."""
    left = [times]

    def play() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise Killed("dead")
        return "played"

    return play


@pytest.fixture(autouse=True)
def kills(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What the kernel says of its kills for memory, look by look; the last look stays."""
    told = [7]
    monkeypatch.setattr(killed, "memory_kills", lambda: told.pop(0) if len(told) > 1 else told[0])
    return told


def test_one_death_is_an_accident() -> None:
    """The next try counts."""
    assert settle(dying(0), lambda: "own") == "played"
    assert settle(dying(1), lambda: "own") == "played"


def test_two_deaths_are_its_own_doing() -> None:
    """As nothing from outside comes every time."""
    assert settle(dying(2), lambda: "own") == "own"


def test_deaths_on_a_machine_without_memory_are_ours(kills: list[int]) -> None:
    """The kernel may have killed it every time."""
    kills[:] = list(range(100))

    with pytest.raises(Killed):
        settle(dying(100), lambda: "own")


def test_a_kill_of_a_neighbour_excuses_no_death_for_ever(kills: list[int]) -> None:
    """Two deaths without one between them tell."""
    kills[:] = [7, 8, 9, 9, 10]

    assert settle(dying(100), lambda: "own") == "own"


def test_deaths_are_compared_with_the_last_one(kills: list[int]) -> None:
    """A third try after one in which the kernel killed tells again."""
    kills[:] = [7, 8, 8]
    deaths = Deaths()

    assert [deaths.are_its_own() for _ in range(3)] == [False, False, True]


def test_only_a_kill_that_is_not_ours_is_one() -> None:
    """Not what a limit ended, nor any other signal."""
    assert was_killed(FakeChild(Exit(None, 9)))
    assert not was_killed(FakeChild(Exit(None, 9), cut_by=Outcome.MEMORY_EXCEEDED))
    assert not was_killed(FakeChild(Exit(None, 11)))
    assert not was_killed(FakeChild(Exit(0, None)))


def test_this_kernel_tells_of_its_kills() -> None:
    """All kernels that have what jails are made of do."""
    assert (procfs.memory_kills() or 0) >= 0
