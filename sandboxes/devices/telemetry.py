"""What a CUDA device tells of itself beside its results: which one it is, its clocks, and who else is on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from assay.sandboxes.devices.interface import DeviceState

SLOWED = {0x8: "hw_slowdown", 0x20: "sw_thermal_slowdown", 0x40: "hw_thermal_slowdown", 0x80: "hw_power_brake"}
"""Bits of NVML's clock event reasons that say: below what it should reach."""
_POWER_CAP = 0x4
_LEAST_SHARE = 0.75
"""Of its highest clock that a device must reach under its power cap, as nvbench has it."""
CLOCK_TOLERANCE_MHZ = 50
"""By how much a locked clock may differ, as SOL-ExecBench has it."""


@dataclass(frozen=True)
class Board:
    """What does not change of a device."""

    uuid: str
    """`GPU-…`, or `MIG-…` of an instance."""
    name: str
    driver: str
    physical_uuid: str
    """The device that an instance is of; else its own."""
    capability: tuple[int, int] = (0, 0)
    """Compute capability, major and minor."""
    most_sm_mhz: int | None = None
    bytes_per_s: float | None = None
    """Peak memory bandwidth."""
    flops_per_s: float | None = None
    """Beyond what it computes in any type."""

    @property
    def is_instance(self) -> bool:
        """Whether it is a part of a device (MIG), which shares clocks and power with the others."""
        return self.uuid != self.physical_uuid


@dataclass(frozen=True)
class Reading:
    """What changes; None where the device does not tell."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    reasons: int = 0
    """Bits of why clocks are not higher."""
    temperature_c: int | None = None
    is_ecc_on: bool | None = None


@dataclass(frozen=True)
class ClockRule:
    """What is asked of the clocks."""

    lock_mhz: int | None = None
    """Where the clock of the multiprocessors should be locked; None: nowhere."""
    must_lock: bool = False
    """Whether a device whose clocks cannot be locked is refused."""


class Telemetry(Protocol):
    """A device's own account of itself."""

    @property
    def board(self) -> Board:
        """What does not change."""
        ...

    def read(self) -> Reading:
        """Look at it. Raises InfraFault if it is lost."""
        ...

    def processes(self) -> tuple[int, ...] | None:
        """Return who computes on the device, by process id as the driver's host sees them; None if it does not tell."""
        ...

    def lock_clocks(self, mhz: int) -> bool:
        """Lock the clock of the multiprocessors; False if that is denied."""
        ...

    def unlock_clocks(self) -> None:
        """Take the lock back. Idempotent."""
        ...

    def close(self) -> None:
        """Let go of the device. Idempotent."""
        ...


def state_of(
    board: Board, reading: Reading, rule: ClockRule, *, is_locked: bool, tells_neighbours: bool = True
) -> DeviceState:
    """Say what a look means: whether the device is slowed down, so that it is waited for, and what results say of it.

    Where it does not tell who else computes on it, they say so (`neighbours_unknown`).
    """
    slowed = [name for bit, name in SLOWED.items() if reading.reasons & bit]
    is_capped = bool(reading.reasons & _POWER_CAP)
    if is_capped and _is_below(reading, board):
        slowed.append("power_cap")
    holds = is_locked and not (
        rule.lock_mhz is not None
        and reading.sm_mhz is not None
        and abs(reading.sm_mhz - rule.lock_mhz) > CLOCK_TOLERANCE_MHZ
    )
    words = [
        *(() if holds else ("unlocked",)),
        *(("mig", "shared") if board.is_instance else ()),
        *(() if tells_neighbours else ("neighbours_unknown",)),
        *(("power_capped",) if is_capped else ()),
        *slowed,
    ]
    return DeviceState(bool(slowed), (*words, *(f"{name}={value}" for name, value in record(board, reading).items())))


def record(board: Board, reading: Reading) -> Mapping[str, str]:
    """Return what results keep of the device and of its clocks, by name; what is not known is left out."""
    ecc = None if reading.is_ecc_on is None else "on" if reading.is_ecc_on else "off"
    told = {
        "gpu": board.name,
        "driver": board.driver,
        "sm_mhz": reading.sm_mhz,
        "memory_mhz": reading.memory_mhz,
        "temperature_c": reading.temperature_c,
        "ecc": ecc,
    }
    return {name: str(value) for name, value in told.items() if value not in (None, "")}


def _is_below(reading: Reading, board: Board) -> bool:
    if reading.sm_mhz is None or board.most_sm_mhz is None:
        return False
    return reading.sm_mhz < _LEAST_SHARE * board.most_sm_mhz


@dataclass
class ScriptedTelemetry:
    """A device's account as a test writes it."""

    board: Board = field(default_factory=lambda: Board("GPU-1", "Scripted", "1.0", "GPU-1"))
    reading: Reading = field(default_factory=Reading)
    others: tuple[int, ...] | None = ()
    """Who computes on the device."""
    allows_locking: bool = False
    locked_mhz: int | None = None
    is_closed: bool = False

    def read(self) -> Reading:
        """Look at it."""
        return self.reading

    def processes(self) -> tuple[int, ...] | None:
        """Return who computes on the device."""
        return self.others

    def lock_clocks(self, mhz: int) -> bool:
        """Lock them, where that is allowed."""
        if self.allows_locking:
            self.locked_mhz = mhz
        return self.allows_locking

    def unlock_clocks(self) -> None:
        """Take the lock back."""
        self.locked_mhz = None

    def close(self) -> None:
        """Let go of it."""
        self.is_closed = True
