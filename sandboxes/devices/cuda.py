"""A CUDA device: each kernel in a fresh process with a context of its own, timed by events and by the judge's clock.

The judge never makes a context and never imports cupy: it shares memory with the runners, as it does on a processor.
Kernels of one session stand in contexts of their own, so that none can reach another's memory and none outlives its
poisoned context. The device must therefore be in compute mode DEFAULT; that nobody else is on it, the judge sees by
the driver's list of processes, before and after.
"""

import os
import time
from collections.abc import Mapping

from assay.errors import Inconclusive, InfraFault
from assay.sandboxes.devices.cuda_runner import CudaRunner, Site, start_runner
from assay.sandboxes.devices.interface import (
    Artifact,
    Clock,
    DeviceFacts,
    DeviceState,
    Failure,
    Form,
    RunnerLimits,
)
from assay.sandboxes.devices.processor_time import now_s
from assay.sandboxes.devices.telemetry import ClockRule, Telemetry, state_of

_NOISE_LIMIT = 0.01
_MARGIN_S = 1e-4
_THROTTLED_PAUSE_S = 0.05
_HANDED_ON = ("LD_LIBRARY_PATH", "PYTHONPATH")
"""Variables of the judge by which runners find the driver and cupy."""


class CudaDevice:
    """Implements `interface.Device` on the device that `telemetry` tells of. Used by one thread.

    Raises Inconclusive where somebody else computes on it, InfraFault where its clocks must be locked and cannot be.
    """

    def __init__(
        self, telemetry: Telemetry, rule: ClockRule | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._telemetry = telemetry
        self._rule = rule or ClockRule()
        handed_on = {name: os.environ[name] for name in _HANDED_ON if name in os.environ}
        self._site = Site(telemetry.board.uuid, {**handed_on, **(environment or {})})
        self._runners: list[CudaRunner] = []
        self._is_closed = False
        try:
            self._check_alone()
            self._is_locked = self._lock()
        except BaseException:
            telemetry.close()
            raise

    @property
    def facts(self) -> DeviceFacts:
        """What is known of it; events alone score."""
        board = self._telemetry.board
        return DeviceFacts(
            f"cuda:{board.uuid}",
            (Clock.DEVICE,),
            _NOISE_LIMIT,
            _MARGIN_S,
            bytes_per_s=board.bytes_per_s,
            flops_per_s=board.flops_per_s,
        )

    def now_s(self) -> float:
        """Return the judge's monotonic clock."""
        return now_s()

    def pause(self, seconds: float) -> None:
        """Let that much time go by; every runner waits."""
        time.sleep(seconds)

    def open(self, artifact: Artifact, segment_bytes: int, limits: RunnerLimits) -> CudaRunner | Failure:
        """Start a fresh runner. A Failure is the kernel's. Raises InfraFault for our own faults.

        `limits` bound host memory and processes of a kernel's own host code, of which there is none here; what a kernel
        may have of the device is in its artifact (the gate reads it) and in the segment.
        """
        if artifact.form is not Form.CUBIN:
            raise InfraFault(f"a CUDA device runs cubins, not a {artifact.form}")
        runner = start_runner(self._site, artifact, segment_bytes, limits)
        if isinstance(runner, CudaRunner):
            self._runners.append(runner)
        return runner

    def settle(self) -> DeviceState:
        """Look at its clocks; a device that is slowed down is given a moment."""
        state = state_of(self._telemetry.board, self._telemetry.read(), self._rule, is_locked=self._is_locked)
        if state.is_throttled:
            time.sleep(_THROTTLED_PAUSE_S)
        return state

    def close(self) -> None:
        """End what still runs, and take the lock of the clocks back. Idempotent.

        Raises Inconclusive where somebody else is on the device, InfraFault where a runner does not end.
        """
        if self._is_closed:
            return
        self._is_closed = True
        try:
            for runner in self._runners:
                runner.close()
            if self._is_locked:
                self._telemetry.unlock_clocks()
            self._check_alone()
        finally:
            self._telemetry.close()

    def _check_alone(self) -> None:
        others = self._telemetry.processes()
        if others:
            raise Inconclusive(f"{len(others)} other processes compute on the device {self._telemetry.board.uuid}")

    def _lock(self) -> bool:
        """Lock the clocks, where that is asked for. Raises InfraFault where it must be and is denied."""
        mhz = self._rule.lock_mhz
        is_locked = mhz is not None and self._telemetry.lock_clocks(mhz)
        if self._rule.must_lock and not is_locked:
            raise InfraFault(
                f"the clocks of {self._telemetry.board.uuid} cannot be locked at {mhz} MHz, and they must be: allow it "
                "(`nvidia-smi -lgc` needs administrator rights), or unset ASSAY_CUDA_REQUIRE_LOCK"
            )
        return is_locked
