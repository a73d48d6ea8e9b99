"""What a CUDA device, over a fake of cupy, makes of what NVML tells: others on it, clocks, instances."""

import pytest
from cuda_calls import Make
from fake_cubins import fake_device

from assay.errors import Inconclusive, InfraFault
from assay.sandboxes.devices.telemetry import Board, ClockRule, Reading, ScriptedTelemetry


def test_a_device_that_others_compute_on_is_not_timed(make: Make) -> None:
    """Neither begun with nor believed afterwards."""
    with pytest.raises(Inconclusive, match="2 other processes"):
        make(ScriptedTelemetry(others=(1, 2)))

    telemetry = ScriptedTelemetry()
    on = make(telemetry)
    telemetry.others = (3,)
    with pytest.raises(Inconclusive, match="1 other"):
        on.close()
    assert telemetry.is_closed


def test_a_device_that_does_not_tell_who_is_on_it_is_labelled(make: Make) -> None:
    """It may be ours alone, or not: results say that nobody knows. One that stops telling has told nothing."""
    silent, told = ScriptedTelemetry(others=None), ScriptedTelemetry()
    silent_device, told_device = make(silent), fake_device(told)

    assert "neighbours_unknown" in silent_device.settle().labels
    assert "neighbours_unknown" not in told_device.settle().labels
    told.others = None
    with pytest.raises(Inconclusive, match="no longer tells"):
        told_device.close()
    silent_device.close()


def test_41_clocks_that_cannot_be_locked_are_told_or_refused(make: Make) -> None:
    """Denied: the run is labelled `unlocked`, and refused where the lock is required."""
    on = make(ScriptedTelemetry(), ClockRule(1410))
    assert "unlocked" in on.settle().labels
    on.close()

    with pytest.raises(InfraFault, match="cannot be locked at 1410 MHz"):
        make(ScriptedTelemetry(), ClockRule(1410, must_lock=True))


def test_41_clocks_are_locked_while_the_device_is_open(make: Make) -> None:
    """And given back; a clock that is elsewhere all the same is told."""
    telemetry = ScriptedTelemetry(allows_locking=True, reading=Reading(sm_mhz=1400))
    on = make(telemetry, ClockRule(1410, must_lock=True))

    assert telemetry.locked_mhz == 1410
    assert "unlocked" not in on.settle().labels
    telemetry.reading = Reading(sm_mhz=1980)
    assert "unlocked" in on.settle().labels
    on.close()
    assert telemetry.locked_mhz is None


@pytest.mark.parametrize(
    ("reading", "is_throttled", "word"),
    [
        (Reading(sm_mhz=1900), False, "sm_mhz=1900"),
        (Reading(sm_mhz=1900, reasons=0x40), True, "hw_thermal_slowdown"),
        (Reading(sm_mhz=1900, reasons=0x4), False, "power_capped"),
        (Reading(sm_mhz=900, reasons=0x4), True, "power_cap"),
        (Reading(is_ecc_on=True), False, "ecc=on"),
    ],
)
def test_a_slowed_device_is_told(make: Make, reading: Reading, is_throttled: bool, word: str) -> None:
    """By NVML's reasons, and by a power cap that takes more than a quarter of the clock."""
    board = Board("GPU-1", "Scripted", "580.1", "GPU-1", most_sm_mhz=1980)
    on = make(ScriptedTelemetry(board, reading))

    state = on.settle()

    assert state.is_throttled is is_throttled
    assert word in state.labels
    assert {"gpu=Scripted", "driver=580.1"} <= set(state.labels)


def test_instances_of_mig_are_told(make: Make) -> None:
    """They share clocks and power with others."""
    on = make(ScriptedTelemetry(Board("MIG-1", "Scripted", "580.1", "GPU-1")))

    assert {"mig", "shared", "unlocked"} <= set(on.settle().labels)
