"""A CUDA device: each kernel in a fresh process with a context of its own, timed by events and by the judge's clock.

The judge never makes a context and never imports cupy: it shares memory with the runners, as it does on a processor.
Kernels of one session stand in contexts of their own, so that none can reach another's memory and none outlives its
poisoned context. The device must therefore be in compute mode DEFAULT; that nobody else is on it, the judge sees by
the driver's list of processes, before and after.
"""

import time
from collections.abc import Mapping

from assay.errors import Inconclusive, InfraFault
from assay.sandboxes.devices.cuda_native import PROGRAMS, NativeRunner, start_native
from assay.sandboxes.devices.cuda_peer import Site
from assay.sandboxes.devices.cuda_runner import CudaRunner, spawn_runner
from assay.sandboxes.devices.interface import (
    Artifact,
    Clock,
    DeviceFacts,
    DeviceState,
    Failure,
    Form,
    Runner,
    RunnerLimits,
)
from assay.sandboxes.devices.processor_time import now_s
from assay.sandboxes.devices.telemetry import ClockRule, Telemetry, state_of
from assay.sandboxes.devices.toll import Toll

_NOISE_LIMIT = 0.01
_NATIVE_NOISE_LIMIT = 0.03
"""Of the wall, which has the host's part of a call in it."""
_MARGIN_S = 1e-4
_GROUP = 3
"""Runners that are open at once: reference, candidate, and the reference again."""
_THROTTLED_PAUSE_S = 0.05
_LOOK_AGAIN_S = 0.1


class CudaDevice:
    """Implements `interface.Device` on the device that `telemetry` tells of. Used by one thread.

    `is_native` says that its kernels have host code of their own; then the wall is the clock, and cubins, such as the
    one that shows the device to be in order, are run as on any. `patience_s` is given to
    others on the device to leave it: what a judge that was killed has started needs a moment to end.
    `environment` has the variables by which its processes find the driver and cupy (`settings.driver_paths`).
    Raises Inconclusive where somebody else computes on it, InfraFault where its clocks must be locked and cannot be.
    """

    def __init__(
        self,
        telemetry: Telemetry,
        rule: ClockRule | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        is_native: bool = False,
        patience_s: float = 5.0,
    ) -> None:
        self._telemetry = telemetry
        self._patience_s = patience_s
        self._is_native = is_native
        self._toll = Toll()
        self._rule = rule or ClockRule()
        self._tells_neighbours = True
        self._site = Site(telemetry.board.uuid, environment or {})
        self._runners: list[CudaRunner | NativeRunner] = []
        self._spares: list[CudaRunner] = []
        self._is_closed = False
        try:
            self._check_alone()
            self._is_locked = self._lock()
        except BaseException:
            telemetry.close()
            raise

    @property
    def facts(self) -> DeviceFacts:
        """What is known of it. Events alone score, where they are ours."""
        board = self._telemetry.board
        return DeviceFacts(
            f"cuda:{board.uuid}",
            (Clock.WALL,) if self._is_native else (Clock.DEVICE,),
            _NATIVE_NOISE_LIMIT if self._is_native else _NOISE_LIMIT,
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

    def open(self, artifact: Artifact, segment_bytes: int, limits: RunnerLimits) -> Runner | Failure:
        """Start a fresh runner. A Failure is the kernel's. Raises InfraFault for our own faults.

        Of `limits` the time to start holds. Memory and processes of host code are for the container to bound: CUDA maps
        far more than it uses, and has threads of its own. What device code may have is in its artifact, which the gate
        reads, and in the segment.
        """
        runner: CudaRunner | NativeRunner | Failure
        if artifact.form is not Form.CUBIN:
            if not self._is_native or artifact.form not in PROGRAMS:
                kind = "native" if self._is_native else "device-only"
                raise InfraFault(f"this CUDA device was opened for {kind} kernels, not for a {artifact.form}")
            runner = start_native(self._site, self._toll, artifact, segment_bytes, limits)
        else:
            runner = self._start(artifact, segment_bytes, limits)
        if not isinstance(runner, Failure):
            self._runners.append(runner)
        return runner

    def settle(self) -> DeviceState:
        """Look at its clocks; a device that is slowed down is given a moment."""
        reading = self._telemetry.read()
        state = state_of(
            self._telemetry.board,
            reading,
            self._rule,
            is_locked=self._is_locked,
            tells_neighbours=self._tells_neighbours,
        )
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
            for runner in (*self._runners, *self._spares):
                runner.close()
            if self._is_locked:
                self._telemetry.unlock_clocks()
            self._check_alone()
        finally:
            self._telemetry.close()

    def _start(self, artifact: Artifact, segment_bytes: int, limits: RunnerLimits) -> CudaRunner | Failure:
        """Start a runner. Raises InfraFault.

        The first of a group starts the processes of the next ones too: contexts take long to make, and side by side no
        longer. All have been made when this returns, so that none is made while something is timed.
        """
        if all(runner.is_closed for runner in self._runners) and len(self._spares) < _GROUP - 1:
            self._spares += [spawn_runner(self._site, segment_bytes) for _ in range(_GROUP - len(self._spares))]
        runner = self._take_spare(segment_bytes) or spawn_runner(self._site, segment_bytes)
        try:
            for one in (runner, *self._spares):
                one.greet()
            failure = runner.load(artifact, limits)
        except BaseException:
            runner.close()
            raise
        if failure is not None:
            runner.close()
        return failure or runner

    def _take_spare(self, segment_bytes: int) -> CudaRunner | None:
        """Return a process that was started before, with a segment of that size; end those of other sizes."""
        while self._spares:
            spare = self._spares.pop()
            if len(spare.segment) == segment_bytes:
                return spare
            spare.close()
        return None

    def _check_alone(self) -> None:
        """Raise Inconclusive where somebody else is on the device. One that does not tell is labelled so, for good."""
        deadline_s = now_s() + self._patience_s
        while (others := self._telemetry.processes()) and now_s() < deadline_s:
            time.sleep(_LOOK_AGAIN_S)
        uuid = self._telemetry.board.uuid
        if others:
            raise Inconclusive(f"{len(others)} other processes compute on the device {uuid}")
        if others is None and self._is_closed and self._tells_neighbours:
            raise Inconclusive(f"the device {uuid} no longer tells who computes on it")
        self._tells_neighbours = others is not None

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
