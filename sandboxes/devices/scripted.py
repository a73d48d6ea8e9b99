"""A device over a fake clock: kernels are Python functions whose durations, noise and misdeeds a test scripts.

It keeps the contract of `interface`: a runner is frozen but in `stage`, `run` and `collect`, and only calls and pauses
make time go by.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assay.sandboxes.devices.interface import (
    Artifact,
    Call,
    Clock,
    DeviceFacts,
    DeviceState,
    Failure,
    FailureKind,
    Form,
    Pointer,
    Reply,
    RunnerLimits,
    Scalar,
)

Work = Callable[["Invocation"], None]
"""What a kernel does to its buffers."""
Seconds = Callable[["Invocation"], float]
"""How long it takes."""


@dataclass(frozen=True)
class Invocation:
    """One call as a scripted kernel sees it: everything that a real one does, and its own number."""

    number: int
    """Calls of this runner before it."""
    call: Call
    segment: memoryview

    @property
    def arguments(self) -> tuple[memoryview | bytes, ...]:
        """The arguments of the first launch: for a buffer all of the segment from its address on, for a scalar its
        bytes."""
        return tuple(
            self.segment[one.offset :] if isinstance(one, Pointer) else one.content
            for one in self.call.launches[0].arguments
        )

    @property
    def addresses(self) -> tuple[int, ...]:
        """Where its buffers are."""
        return tuple(one.offset for one in self.call.launches[0].arguments if isinstance(one, Pointer))

    @property
    def scalars(self) -> tuple[bytes, ...]:
        """What is passed by value."""
        return tuple(one.content for one in self.call.launches[0].arguments if isinstance(one, Scalar))


@dataclass(frozen=True)
class Script:
    """How one kernel behaves. `work` may keep state of its own: `make` gives each runner a fresh one."""

    make: Callable[[], Work]
    seconds: Seconds
    """Processor time of a call, which is its wall time too but for noise and place."""
    hidden_s: float = 0.0
    """Wall time of a call that no device event sees."""
    late_s: float = 0.0
    """Processor time between answer and freeze."""
    close_s: float = 0.0
    """What closing its runner takes."""
    start_s: float = 0.0
    """Wall time until it is ready."""
    burns: float = 0.0
    """Processors that it uses between its calls where the device does not freeze it; others slow down by as many."""
    late_work: Work | None = None
    """What it does to its buffers after the freeze, that is when it is next thawed."""
    failure: Callable[[Invocation], FailureKind | None] = lambda _: None
    """How a call ends instead, if it does not answer."""


@dataclass(frozen=True)
class Called:
    """One call that was answered: of which artifact, after how many `settle`, and when."""

    name: bytes
    settled: int
    started_s: float
    ended_s: float


@dataclass
class ScriptedDevice:
    """Implements `interface.Device`."""

    scripts: Mapping[bytes, Script]
    """By the content of their artifact."""
    facts: DeviceFacts = field(
        default_factory=lambda: DeviceFacts("scripted", (Clock.WALL, Clock.CPU), noise_limit=0.03, margin_s=1e-4)
    )
    noise: Callable[[], float] = lambda: 1.0
    """Factor of each call's time on every clock."""
    waits: Callable[[], float] = lambda: 0.0
    """Wall time that a call waits for the processor, seconds."""
    effects: tuple[float, ...] = ()
    """Factors of the calls since `settle`, by place; 1 beyond."""
    empty_s: float | None = None
    """What replies say was taken off for an empty call."""
    is_freezing: bool = True
    """Whether runners use no processor between calls."""
    tells_cpu: bool = True
    """Whether replies tell processor times."""
    tells_waits: bool = True
    """Whether replies tell how long a call waited for the processor."""
    throttled: Callable[[int], bool] = lambda _: False
    """Whether the round of that number is throttled."""
    clock_s: float = 0.0
    opened: list[bytes] = field(default_factory=list)
    """The artifacts of all runners so far."""
    calls: list[Called] = field(default_factory=list)
    """Every call that was answered."""
    running: "list[ScriptedRunner]" = field(default_factory=list)
    """Runners that are not closed."""
    place: int = 0
    settled: int = 0

    def now_s(self) -> float:
        """Return the fake clock."""
        return self.clock_s

    def pause(self, seconds: float) -> None:
        """Let time go by."""
        self.clock_s += seconds

    def open(self, artifact: Artifact, segment_bytes: int, limits: RunnerLimits) -> "ScriptedRunner | Failure":
        """Start a runner with the artifact's script."""
        del limits
        if artifact.form is not Form.SCRIPT or artifact.content not in self.scripts:
            return Failure(FailureKind.DIED, "no such script")
        self.opened.append(artifact.content)
        self.clock_s += self.scripts[artifact.content].start_s
        runner = ScriptedRunner(self, artifact.content, self.scripts[artifact.content], segment_bytes)
        self.running.append(runner)
        return runner

    def settle(self) -> DeviceState:
        """Begin a round."""
        self.place = 0
        self.settled += 1
        return DeviceState(is_throttled=self.throttled(self.settled - 1))

    def factor(self, runner: "ScriptedRunner") -> float:
        """Return by how much the next call of a runner is stretched, and go on to the next place."""
        effect = self.effects[self.place] if self.place < len(self.effects) else 1.0
        self.place += 1
        crowd = 0.0 if self.is_freezing else sum(other.burns for other in self.running if other is not runner)
        return self.noise() * effect * (1.0 + crowd)


class ScriptedRunner:
    """Implements `interface.Runner`."""

    def __init__(self, device: ScriptedDevice, name: bytes, script: Script, segment_bytes: int) -> None:
        self.segment = memoryview(bytearray(segment_bytes))
        self._device = device
        self.name = name
        self._script = script
        self._work = script.make()
        self._late: Invocation | None = None
        self._staged: Call | None = None
        self._last_end_s = device.clock_s
        self._calls = 0

    @property
    def burns(self) -> float:
        """Processors that it uses between its calls, once it was called."""
        return self._script.burns if self._calls else 0.0

    def stage(self, call: Call) -> Failure | None:
        """Take the call; a scripted kernel reads the segment itself."""
        self._staged = call
        return None

    def run(self) -> Reply | Failure:
        """Do the work on the fake clock."""
        call, device, script = self._staged, self._device, self._script
        assert call is not None  # the contract: `stage` comes first
        invocation = Invocation(self._calls, call, self.segment)
        idle_s = 0.0 if device.is_freezing else self.burns * (device.clock_s - self._last_end_s)
        if self._late is not None and script.late_work is not None:
            script.late_work(self._late)
        kind = script.failure(invocation)
        if kind is not None:
            device.clock_s += call.deadline_s if kind is FailureKind.DEADLINE else 0.0
            self.close()
            return Failure(kind)
        used_s = script.seconds(invocation) * device.factor(self)
        waited_s = device.waits()
        wall_s = used_s + script.hidden_s + waited_s
        started_s = device.clock_s
        if wall_s > call.deadline_s:
            device.clock_s += call.deadline_s
            self.close()
            return Failure(FailureKind.DEADLINE)
        self._work(invocation)
        self._calls += 1
        self._late = invocation
        device.clock_s += wall_s
        self._last_end_s = device.clock_s
        device.calls.append(Called(self.name, device.settled, started_s, device.clock_s))
        told_s = waited_s if device.tells_waits else None
        if not device.tells_cpu:
            return Reply(wall_s, device_s=used_s, waited_s=told_s)
        return Reply(wall_s, used_s, used_s, script.late_s, idle_s, device.empty_s, told_s)

    def collect(self) -> Failure | None:
        """Nothing to bring back."""
        return None

    def close(self) -> None:
        """End it."""
        if self in self._device.running:
            self._device.running.remove(self)
            self._device.clock_s += self._script.close_s
