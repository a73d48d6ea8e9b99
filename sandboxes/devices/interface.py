"""The device contract that the timing of kernels sees: runners that hold one kernel each, and a clock.

A *runner* is one process tree (or one context) with one compiled kernel, a *segment* of memory that the judge and the
runner both see, and a channel that carries one byte each way. It is frozen whenever it is not inside `stage`, `run` or
`collect`: it uses no processor and its part of the segment does not change. The judge alone holds secrets, inputs that
were not handed out, expected outputs and the clock of record; it never interprets what a runner holds.

One call goes like this; only `run` is timed:

1. The judge writes a frame (inputs, filled outputs, canaries) into the segment while the runner is frozen.
2. `stage` brings the frame to where the kernel reads it, at the same offsets (a CPU's kernel reads the segment itself;
   CUDA copies the frame into a device segment), sets the launch up, and empties caches if the call is `cold`.
3. `run` thaws the runner, stamps, sends the token, waits for the answer, stamps, and freezes the runner at once.
   On CUDA the runner waits for the whole device, all streams, before it answers.
4. `collect` brings the frame back into the segment (nothing to do on a CPU).
5. The judge copies the frame out of the segment, wipes it there, and checks the copy.

Runners that are open at once may share one segment's memory, so that none has the better pages: one of them runs at a
time, and nothing of a call is left in it for the next. A runner that is opened when no other is finds zeros.

`sandboxes.devices.scripted` implements this over a fake clock. Not guaranteed: that two runners never share a cache,
that `device_s` is honest where the runner's process holds code of the candidate.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Clock(StrEnum):
    """A clock that times a call."""

    WALL = "wall"
    """The judge's monotonic clock, from token to answer."""
    CPU = "cpu"
    """The runner's processor time, all threads and children, as the judge reads it."""
    DEVICE = "device"
    """The device's own events around the launches."""


class Form(StrEnum):
    """What a compiled kernel is."""

    SHARED_OBJECT = "shared_object"
    """Native code with one entry `void assay_call(void **arguments)`, each a buffer's address or that of a scalar, and
    with the loop of its runner linked to it (`sandboxes.devices.runner_program`)."""
    CUBIN = "cubin"
    """Device code; the launches name its kernels."""
    MODULE = "module"
    """A Python module over torch, with how its arguments lie in memory."""
    SCRIPT = "script"
    """The name of a script of the scripted device."""


@dataclass(frozen=True)
class Artifact:
    """A compiled kernel; never interpreted by the judge."""

    form: Form
    content: bytes


@dataclass(frozen=True)
class Pointer:
    """An argument that is a buffer: its distance from the segment's start, in bytes."""

    offset: int


@dataclass(frozen=True)
class Scalar:
    """An argument that is passed by value: its bytes, little endian, as many as its type has."""

    content: bytes


Argument = Pointer | Scalar


@dataclass(frozen=True)
class Grid:
    """The geometry of a device launch; a native call has none."""

    blocks: tuple[int, int, int]
    threads: tuple[int, int, int]
    shared_bytes: int = 0
    """Dynamic shared memory of a block."""
    cluster: tuple[int, int, int] | None = None
    is_cooperative: bool = False


@dataclass(frozen=True)
class Launch:
    """One function to call, with its arguments in order."""

    entry: str
    arguments: tuple[Argument, ...]
    grid: Grid | None = None


@dataclass(frozen=True)
class Call:
    """One timed piece of work: launches in order over one frame of the segment."""

    offset: int
    """The frame's start, bytes from the segment's."""
    size_bytes: int
    """The frame's size."""
    launches: tuple[Launch, ...]
    deadline_s: float
    """The runner is killed if it has not answered by then."""
    is_cold: bool = True
    """Whether caches are emptied of the frame before the call (persisting lines too)."""


@dataclass(frozen=True)
class Reply:
    """A call that was answered, in seconds; None where the device cannot tell."""

    wall_s: float
    """From just before the token was sent until the answer was read: the judge's clock."""
    cpu_s: float | None = None
    """Processor time of the runner's whole tree in that span."""
    device_s: float | None = None
    """Between the device's events around the launches."""
    after_cpu_s: float | None = None
    """Processor time between the answer and the moment when the runner was frozen."""
    idle_cpu_s: float | None = None
    """Processor time between the freeze after the previous call and this call's token; staging is not in it."""
    empty_s: float | None = None
    """What a call that calls nothing takes on the wall, where that was taken off."""
    waited_s: float | None = None
    """For which judge and runner, ready to run, waited for a processor in that span, as the kernel counts it."""


class FailureKind(StrEnum):
    """Why a runner can serve no more calls."""

    DIED = "died"
    """Its process ended by itself."""
    PROTOCOL = "protocol"
    """It sent anything but the one byte that was due."""
    DEADLINE = "deadline"
    """It did not answer in time and was killed."""
    MEMORY = "memory"
    """It passed its memory limit."""
    DEVICE = "device"
    """The device reported an error of the launch (illegal address, trap, refused configuration)."""


@dataclass(frozen=True)
class Failure:
    """The runner is gone, or must be: only `close` may follow. `detail` is ours, capped, free of the runner's bytes."""

    kind: FailureKind
    detail: str = ""


@dataclass(frozen=True)
class RunnerLimits:
    """What a runner may use beside its segment."""

    memory_mb: int = 512
    processes: int = 1
    """Processes and threads, its own first thread among them."""
    start_s: float = 10.0
    """Until it says that it is ready."""
    is_ours: bool = False
    """Whether its kernel is the judge's or the task's own: what every call takes is learned from those."""


@dataclass(frozen=True)
class DeviceFacts:
    """What is known of a device before anything runs on it."""

    name: str
    """`cpu`, `cuda:UUID`, `scripted`."""
    clocks: tuple[Clock, ...]
    """Clocks that can score, best first; each reply has them all."""
    noise_limit: float
    """The A/A gate: the largest median log ratio, and half-width of its interval, of a quiet device (CPU 0.03, GPU
    0.01)."""
    margin_s: float
    """Processor time after an answer, and wall time beyond the score clock, that honest calls may show."""
    drift_limit: float = 0.05
    """How much longer the reference may take beside the candidate than alone, before and after it, as a share, before
    that is contention."""
    bytes_per_s: float | None = None
    """Peak memory bandwidth, for the physical floor; None if not known."""
    flops_per_s: float | None = None
    """Peak arithmetic, multiply and add counting as two; None if not known."""


@dataclass(frozen=True)
class DeviceState:
    """A look at the device between calls."""

    is_throttled: bool = False
    """Clocks are below what the device should reach: it is given some time before anything is timed on it."""
    labels: tuple[str, ...] = ()
    """What results should say of it: `unlocked`, `shared`, ..."""


class Runner(Protocol):
    """One kernel, ready to be called. Used by one thread; every method may be slow but `run` alone is timed."""

    @property
    def segment(self) -> memoryview:
        """The shared memory, writable bytes; what the runner writes there is hostile."""
        ...

    def stage(self, call: Call) -> Failure | None:
        """Get everything ready for `run`; whatever this takes is not the kernel's time."""
        ...

    def run(self) -> Reply | Failure:
        """Run the staged call; when this returns, the runner is frozen or gone."""
        ...

    def collect(self) -> Failure | None:
        """Bring the frame of the last call back into the segment."""
        ...

    def close(self) -> None:
        """End the whole process tree and give the memory back. Idempotent."""
        ...


class Device(Protocol):
    """One device, which the caller has for itself while it measures."""

    @property
    def facts(self) -> DeviceFacts:
        """What is known of it."""
        ...

    def now_s(self) -> float:
        """Return the judge's monotonic clock."""
        ...

    def pause(self, seconds: float) -> None:
        """Let that much time go by (the gaps of server mode); every runner stays frozen."""
        ...

    def open(self, artifact: Artifact, segment_bytes: int, limits: RunnerLimits) -> Runner | Failure:
        """Start a fresh runner. A Failure is the kernel's (it cannot be loaded). Raises InfraFault for our own."""
        ...

    def settle(self) -> DeviceState:
        """Look at the device before a round; no call is under way."""
        ...
