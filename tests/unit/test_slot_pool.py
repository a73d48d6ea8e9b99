"""Slots are lent, cleared and given back, whatever goes wrong."""

import pytest

from assay.errors import SandboxFault
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.interface import Slot
from assay.sandboxes.pool import SlotPool


class StubbornSlot(FakeSlot):
    """Cannot be cleared."""

    def clear(self) -> None:
        """Fail."""
        raise SandboxFault("cannot be cleared")


def test_a_slot_that_cannot_be_cleared_is_not_lost() -> None:
    """The attempt is told; the next one is lent the slot again instead of waiting for ever."""
    pool = SlotPool([StubbornSlot()])

    for _ in range(2):
        with pytest.raises(SandboxFault, match="cleared"), pool.slot():
            pass


def test_a_visit_that_fails_loses_no_slot() -> None:
    """All idle slots are there again, those that were not visited too."""
    slots: list[Slot] = [FakeSlot(), FakeSlot()]
    pool = SlotPool(slots)

    def fail(_slot: Slot) -> None:
        raise SandboxFault("a visitor's")

    with pytest.raises(SandboxFault, match="visitor"):
        pool.visit_idle(fail)

    with pool.slot() as first, pool.slot() as second:
        assert {id(first), id(second)} == set(map(id, slots))
