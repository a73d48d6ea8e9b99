"""The contract of devices as checks that every implementation passes, the scripted one too."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.sandboxes.devices.interface import (
    Artifact,
    Call,
    Clock,
    Device,
    Failure,
    FailureKind,
    Grid,
    Launch,
    Pointer,
    Reply,
    Runner,
    RunnerLimits,
    Scalar,
)

SEGMENT_BYTES = 2**20
COUNT = 64
"""Bytes that a call copies."""
DEADLINE_S = 0.5
_SOURCE, _TARGET, _FRAME = 4096, 8192, 16_384
_CLOSED_S = 5.0


@dataclass(frozen=True)
class Kit:
    """Kernels `copy(const uint8_t *source, uint8_t *target, int64_t count)` for one kind of device."""

    honest: Artifact
    endless: Artifact
    """Never returns."""
    dying: Artifact | None
    """Ends its process; None where a kernel cannot."""
    broken: Artifact
    """Cannot be loaded."""
    grid: Grid | None = None
    entry: str = "copy"


def examine(device: Device, kit: Kit) -> tuple[str, ...]:
    """Return what a device does that the contract forbids; empty if it keeps it."""
    return tuple(
        fault for check in (_calls, _separation, _endless, _dying, _broken, _clock) for fault in check(device, kit)
    )


def _calls(device: Device, kit: Kit) -> Iterator[str]:
    """Calls at several offsets copy what they should, tell every clock, and change nothing else."""
    with_runner = _open(device, kit.honest)
    if isinstance(with_runner, Failure):
        yield f"an honest kernel does not start: {with_runner}"
        return
    try:
        for number, offset in enumerate((0, 3 * _FRAME, _FRAME)):
            faults = tuple(_one_call(device, with_runner, kit, (number, offset)))
            yield from faults
            if faults:
                return  # after a failure only `close` may follow
    finally:
        with_runner.close()
        with_runner.close()


def _one_call(device: Device, runner: Runner, kit: Kit, which: tuple[int, int]) -> Iterator[str]:
    number, offset = which
    before = bytes((number + index) % 251 for index in range(_FRAME))
    runner.segment[offset : offset + _FRAME] = before
    reply = _run(runner, kit, offset)
    if isinstance(reply, Failure):
        yield f"an honest call fails: {reply}"
        return
    after = bytes(runner.segment[offset : offset + _FRAME])
    right = before[:_TARGET] + before[_SOURCE : _SOURCE + COUNT] + before[_TARGET + COUNT :]
    if after != right:
        yield f"call {number} left other bytes than it should"
    if reply.wall_s <= 0:
        yield f"call {number} took {reply.wall_s} s"
    told = {Clock.WALL: reply.wall_s, Clock.CPU: reply.cpu_s, Clock.DEVICE: reply.device_s}
    yield from (f"a reply does not tell the clock {clock}" for clock in device.facts.clocks if told[clock] is None)
    beside = (reply.cpu_s, reply.device_s, reply.after_cpu_s, reply.idle_cpu_s)
    yield from ("a reply tells a negative time" for seconds in beside if seconds is not None and seconds < 0)


def _separation(device: Device, kit: Kit) -> Iterator[str]:
    """Two runners live at once, in segments of the size that was asked for; nothing is left of them for later ones."""
    first, second = _open(device, kit.honest), _open(device, kit.honest)
    if isinstance(first, Failure) or isinstance(second, Failure):
        yield "two runners cannot be had at once"
        return
    try:
        first.segment[0] = second.segment[0] = 1
        if len(first.segment) < SEGMENT_BYTES:
            yield f"a segment has {len(first.segment)} bytes, not {SEGMENT_BYTES}"
    finally:
        first.close()
        second.close()
    later = _open(device, kit.honest)
    if isinstance(later, Failure):
        yield "no runner can be had once others have ended"
        return
    if any(later.segment):
        yield "a runner finds what others have left in their segments"
    later.close()


def _endless(device: Device, kit: Kit) -> Iterator[str]:
    yield from _ends(device, kit, kit.endless, FailureKind.DEADLINE)


def _dying(device: Device, kit: Kit) -> Iterator[str]:
    if kit.dying is not None:
        yield from _ends(device, kit, kit.dying, FailureKind.DIED)


def _ends(device: Device, kit: Kit, artifact: Artifact, kind: FailureKind) -> Iterator[str]:
    """A call that does not come back is a failure of that kind, soon after its deadline at the latest."""
    runner = _open(device, artifact)
    if isinstance(runner, Failure):
        yield f"a kernel that should fail by {kind} does not start"
        return
    started_s = device.now_s()
    reply = _run(runner, kit, 0)
    runner.close()
    if not isinstance(reply, Failure) or reply.kind is not kind:
        yield f"expected {kind}, got {reply}"
    if device.now_s() - started_s > DEADLINE_S + _CLOSED_S:
        yield f"{kind} took {device.now_s() - started_s:.1f} s"


def _broken(device: Device, kit: Kit) -> Iterator[str]:
    runner = _open(device, kit.broken)
    if not isinstance(runner, Failure):
        runner.close()
        yield "what is no kernel starts"


def _clock(device: Device, kit: Kit) -> Iterator[str]:
    """A pause lasts as long as it should by the device's own clock."""
    del kit
    started_s = device.now_s()
    device.settle()
    device.pause(0.01)
    if device.now_s() - started_s < 0.01:
        yield "a pause is shorter than asked for"


def _open(device: Device, artifact: Artifact) -> Runner | Failure:
    return device.open(artifact, SEGMENT_BYTES, RunnerLimits())


def _run(runner: Runner, kit: Kit, offset: int) -> Reply | Failure:
    """Stage, run and collect one call over the frame at `offset`."""
    arguments = (
        Pointer(offset + _SOURCE),
        Pointer(offset + _TARGET),
        Scalar(COUNT.to_bytes(8, "little")),
    )
    call = Call(offset, _FRAME, (Launch(kit.entry, arguments, kit.grid),), DEADLINE_S)
    failure = runner.stage(call)
    if failure is not None:
        return failure
    reply = runner.run()
    if isinstance(reply, Failure):
        return reply
    failure = runner.collect()
    return reply if failure is None else failure
