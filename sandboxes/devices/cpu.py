"""The processor as a device: each kernel in a jailed process of its own, timed from outside.

Between calls a runner is frozen (`sandboxes.freezer`). All that a call needs is written meanwhile, and its token is
sent before it is thawed, so whatever it does from there on is timed. Time is told by the judge's clocks: monotonic, and
the one that the kernel keeps of the runner's processor time. What every call takes, whatever the kernel does (waking,
the token, the loop), is measured with empty calls and taken off: it would hide what fast kernels gain.

Runners stay on their core, with all that they start: the jails' filter has them told that they moved, and leaves them
where they are (not so at the level `insecure`). Threads of theirs, where they may have any, share that core and win
nothing. Not promised: that other work on the machine disturbs nothing; that is for the gates of the measurement to
notice.
"""

import os
import socket
import time
from itertools import count

import msgpack

from assay.errors import InfraFault, SandboxFault
from assay.sandboxes.devices import runner_program
from assay.sandboxes.devices.caches import Flusher
from assay.sandboxes.devices.cpu_runner import CpuRunner, Site
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
from assay.sandboxes.devices.segments import Memory, open_memory
from assay.sandboxes.devices.toll import Share, Toll
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits

_NOISE_LIMIT = 0.03
_MARGIN_S = 1e-4
_BYTES_PER_S = 4e11
_FLOPS_PER_S = 8e11
"""Beyond what one core of any processor of today moves and computes: only nonsense is below these floors."""
_PROGRAMS = {
    Form.SHARED_OBJECT: (runner_program.__name__, "kernel", 64),
    Form.MODULE: ("assay.verifiers.kernels.module_program", "torch", 1024),
}
"""Of each form of kernel: the runner's program, the warm interpreter that has it, and MB that this one takes."""
_LONGEST_S = 3600.0
_DISK_MB = 32


class CpuDevice:
    """Implements `interface.Device` on one core, with runners in the jails of one slot. Used by one thread.

    The thread that makes it is moved to another core until `close`, where there are two.
    """

    def __init__(self, slot: Slot) -> None:
        self._before = os.sched_getaffinity(0)
        usable = sorted(self._before)
        self._site = Site(slot, usable[-1], usable[0], Flusher(), Toll())
        self._runners: dict[str, CpuRunner] = {}
        os.sched_setaffinity(0, {usable[0]})

    @property
    def facts(self) -> DeviceFacts:
        """What is known of it."""
        return DeviceFacts(
            "cpu",
            (Clock.WALL, Clock.CPU),
            _NOISE_LIMIT,
            _MARGIN_S,
            bytes_per_s=_BYTES_PER_S,
            flops_per_s=_FLOPS_PER_S,
        )

    def now_s(self) -> float:
        """Return the judge's monotonic clock."""
        return now_s()

    def pause(self, seconds: float) -> None:
        """Let that much time go by; every runner stays frozen."""
        time.sleep(seconds)

    def open(self, artifact: Artifact, segment_bytes: int, limits: RunnerLimits) -> CpuRunner | Failure:
        """Start a fresh runner, on the data memory of those that are open. A Failure is the kernel's.

        Raises InfraFault for our own faults.
        """
        if artifact.form not in _PROGRAMS:
            raise InfraFault(f"a processor runs shared objects and modules, not a {artifact.form}")
        jail = next(name for name in map(str, count(1)) if name not in self._runners or self._runners[name].is_closed)
        beside = next((one.memory.data for one in self._runners.values() if not one.is_closed), None)
        runner = start_runner(self._site, artifact, open_memory(segment_bytes, beside), limits, jail)
        if isinstance(runner, CpuRunner):
            self._runners[jail] = runner
        return runner

    def settle(self) -> DeviceState:
        """Look after the slot; a processor tells nothing of its clocks that could be relied on."""
        self._site.slot.wait((), 0.0)
        return DeviceState()

    def close(self) -> None:
        """Give the thread its cores back. Idempotent; runners are closed by who opened them, or by the slot."""
        os.sched_setaffinity(0, self._before)


def start_runner(
    site: Site, artifact: Artifact, memory: Memory, limits: RunnerLimits, jail: str
) -> CpuRunner | Failure:
    """Start a runner in the jail of that name and have it load its kernel. Raises InfraFault."""
    plan = {
        "artifact": artifact.content,
        "addresses": [memory.arguments_at, memory.data_at],
        "sizes": [memory.arguments.size, memory.data.size],
    }
    program, flavour, interpreter_mb = _PROGRAMS[artifact.form]
    allowed = _limits(limits, memory.size, interpreter_mb)
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    with theirs:
        fds = (theirs.fileno(), memory.arguments.fd, memory.data.fd)
        payload = bytes(msgpack.packb(plan))
        launch = Launch(Role.CANDIDATE, program, payload, allowed, flavour, fds, network=False, jail=jail)
        child = site.slot.start(launch)
    runner = CpuRunner(site, child, ours, memory, Share(site.toll, artifact.form, is_ours=limits.is_ours))
    try:
        failure = runner.load(limits)
    except (SandboxFault, InfraFault, OSError) as error:
        runner.close()
        raise InfraFault(f"a runner could not be started: {error}") from error
    if failure is not None:
        runner.close()
        return failure
    return runner


def _limits(limits: RunnerLimits, shared_bytes: int, interpreter_mb: int) -> Limits:
    """Return what the jail enforces: the segments count as the runner's memory as well."""
    shared_mb = shared_bytes // 2**20 + 1
    return Limits(
        wall_s=_LONGEST_S,
        cpu_s=_LONGEST_S,
        memory_mb=limits.memory_mb + shared_mb + interpreter_mb,
        processes=limits.processes,
        disk_mb=_DISK_MB,
    )
