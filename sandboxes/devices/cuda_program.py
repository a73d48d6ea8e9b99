"""The process that holds one kernel on a CUDA device: fresh for each kernel, and gone with its context.

All host code in here is ours; of the candidate there is device code alone. A kernel may still reach this process's
memory where the driver lets devices address all of it (HMM): so it holds no secret and nothing that was not handed out,
and once the kernel is loaded the process can write no file, reach no other process and open no connection, where the
machine has Landlock.
"""

import ctypes
import mmap
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from assay.sandboxes import landlock, syscalls
from assay.sandboxes.devices import cuda_control as control
from assay.sandboxes.devices.cuda_control import Plan, Shared, Step, Told
from assay.sandboxes.devices.interface import Argument, Grid, Pointer

try:
    from assay.sandboxes.devices.cuda_driver import DeviceError, Gpu
except ImportError:  # without the extra `cuda`, which the judge is told
    HAS_CUPY = False
else:
    HAS_CUPY = True

Value = TypeVar("Value")

_ALIGN = 2**21
_FLUSHES, _LAUNCHES_HELD = 2, 8
"""How often the flush buffer is filled before a launch, and how many more launches are enqueued in the time of one."""
_READABLE = ("/usr", "/lib", "/lib64", "/opt", "/etc", "/proc", "/sys", "/dev")
EXIT_FAILED = 3
"""Exit status after a fault that was told."""


class Faulty(Exception):
    """A step failed."""

    def __init__(self, step: Step, status: int) -> None:
        super().__init__(step.name, status)
        self.step, self.status = step, status


@dataclass(frozen=True)
class Prepared:
    """A launch that is ready: a kernel, its geometry, the values to pass and their addresses."""

    function: int
    grid: Grid
    values: Sequence["ctypes.Array[ctypes.c_char]"]
    addresses: tuple[int, ...]


@contextmanager
def open_channel(fd: int) -> Iterator[socket.socket]:
    """Give the channel, which stays open until this process has ended.

    Closed before, it would look like that of a runner that hangs up: a process takes a while to end by itself.
    """
    channel = socket.socket(fileno=fd)
    try:
        yield channel
    finally:
        channel.detach()


def main(arguments: Sequence[str]) -> int:
    """Serve the judge. Arguments: descriptors of the channel, the page, the segment and the kernel."""
    channel_fd, page_fd, segment_fd, artifact_fd = map(int, arguments)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    with open_channel(channel_fd) as channel:
        page = memoryview(mmap.mmap(page_fd, os.fstat(page_fd).st_size))
        segment = mmap.mmap(segment_fd, os.fstat(segment_fd).st_size)
        os.close(page_fd)
        os.close(segment_fd)
        if not HAS_CUPY:
            channel.send(control.NO_CUPY)
            return EXIT_FAILED
        try:
            _serve(channel, page, segment, artifact_fd)
        except Faulty as fault:
            control.write_fault(page, fault.step, fault.status)
            channel.send(control.FAULT)
            return EXIT_FAILED
    return 0


def _serve(channel: socket.socket, page: memoryview, segment: mmap.mmap, artifact_fd: int) -> None:
    gpu = attempt(Step.CONTEXT, Gpu)
    channel.send(control.HELLO)
    if channel.recv(1) != control.LOAD:
        return
    with open(artifact_fd, "rb") as file:
        artifact = file.read()
    holder = _Holder(gpu, segment, attempt(Step.LOAD, lambda: gpu.load(artifact)) if artifact else None)
    if not artifact:
        control.write_shared(page, holder.share())
    confine()
    channel.send(control.READY)
    while token := channel.recv(1):
        match token:
            case control.STAGE:
                holder.stage(control.read_plan(page))
                channel.send(control.STAGED)
            case control.GO:
                control.write_told(page, holder.run())
                channel.send(control.DONE)
            case control.COLLECT:
                holder.collect()
                channel.send(control.COLLECTED)
            case control.SNAP:
                holder.snapshot()
                channel.send(control.SNAPPED)
            case _:
                return


class _Holder:
    """A loaded kernel with its memory on the device, or (no module) memory alone, which is another's to use."""

    def __init__(self, gpu: "Gpu", segment: mmap.mmap, module: int | None) -> None:
        self._gpu = gpu
        self._module = module
        self._host = ctypes.addressof(ctypes.c_char.from_buffer(segment))
        self._keeps = segment  # `_host` is its address
        self._flush_bytes = 2 * gpu.cache_bytes
        self._size = len(segment) + _ALIGN
        self._whole = attempt(Step.ALLOCATE, lambda: gpu.allocate(self._size))
        self._device = -(-self._whole // _ALIGN) * _ALIGN
        self._flush = attempt(Step.ALLOCATE, lambda: gpu.allocate(self._flush_bytes)) if self._flush_bytes else 0
        self._events = attempt(Step.ALLOCATE, lambda: tuple(gpu.event() for _ in range(3)))
        self._kept = None if module is not None else attempt(Step.ALLOCATE, lambda: gpu.allocate(self._size))
        """Where a frame is kept out of another's reach; nobody else has the memory of a kernel that is loaded here."""
        self._plan: Plan | None = None
        self._prepared: tuple[Prepared, ...] = ()

    def stage(self, plan: Plan) -> None:
        """Leave nothing of earlier calls on the device, bring the frame there, and set the launches up."""
        call, gpu = plan.call, self._gpu

        def bring() -> None:
            gpu.fill(self._whole, plan.fill, self._size)
            if self._flush:
                gpu.fill(self._flush, plan.fill, self._flush_bytes)
            gpu.copy_in(self._device + call.offset, self._host + call.offset, call.size_bytes)
            gpu.forget_persisting_lines()
            gpu.synchronise()

        attempt(Step.COPY, bring)
        self._prepared = attempt(Step.PREPARE, lambda: tuple(self._prepare(*one) for one in _each(plan)))
        self._plan = plan

    def run(self) -> Told:
        """Run the staged call, and wait for the whole device."""
        return attempt(Step.RUN, self._run)

    def _run(self) -> Told:
        """Fill the flush buffer first, if caches are to be cold: meanwhile the launches are enqueued, so that the time
        between the events is the device's own."""
        assert self._plan is not None  # the judge stages first
        gpu, (begun, start, end) = self._gpu, self._events
        gpu.stamp(begun)
        if self._plan.call.is_cold and self._flush:
            for _ in range(_FLUSHES + len(self._prepared) // _LAUNCHES_HELD):
                gpu.fill(self._flush, self._plan.fill, self._flush_bytes)
        gpu.stamp(start)
        for one in self._prepared:
            gpu.launch(one.function, one.grid, one.addresses)
        gpu.stamp(end)
        gpu.synchronise()
        return Told(gpu.elapsed_s(start, end), gpu.elapsed_s(begun, start))

    def collect(self) -> None:
        """Bring the frame back."""
        assert self._plan is not None
        call = self._plan.call
        host, device = self._host + call.offset, (self._device if self._kept is None else self._kept) + call.offset
        attempt(Step.COPY, lambda: self._gpu.copy_out(host, device, call.size_bytes))

    def share(self) -> Shared:
        """Return the memory for another process to take over."""
        return Shared(attempt(Step.ALLOCATE, lambda: self._gpu.share(self._whole)), self._device - self._whole)

    def snapshot(self) -> None:
        """Keep the frame as it is on the device now, where nobody else reaches it."""
        assert self._plan is not None
        assert self._kept is not None  # only memory that another uses is asked for one
        call, gpu, kept = self._plan.call, self._gpu, self._kept

        def keep() -> None:
            gpu.copy_within(kept + call.offset, self._device + call.offset, call.size_bytes)
            gpu.synchronise()

        attempt(Step.COPY, keep)

    def _prepare(self, entry: str, arguments: Sequence[Argument], grid: Grid) -> Prepared:
        assert self._module is not None  # memory alone launches nothing
        function = self._gpu.function(self._module, entry, grid)
        values = tuple(ctypes.create_string_buffer(self._value(one)) for one in arguments)
        return Prepared(function, grid, values, tuple(map(ctypes.addressof, values)))

    def _value(self, argument: Argument) -> bytes:
        if isinstance(argument, Pointer):
            return (self._device + argument.offset).to_bytes(8, "little")
        return argument.content


def _each(plan: Plan) -> Sequence[tuple[str, Sequence[Argument], Grid]]:
    return [(one.entry, one.arguments, one.grid) for one in plan.call.launches if one.grid is not None]


def attempt(step: Step, act: Callable[[], Value]) -> Value:
    """Return what `act` does, as part of a step. Raises Faulty."""
    try:
        return act()
    except DeviceError as error:
        raise Faulty(step, error.status) from error


def confine(*readable: str) -> None:
    """From here on: files are read only (those below `readable` too), and no other process or network is reached."""
    version = syscalls.landlock_version()
    if version:
        read = landlock.Right.READ_FILE | landlock.Right.READ_DIR
        device = read | landlock.Right.WRITE_FILE | landlock.Right.IOCTL_DEV
        nodes = [landlock.Rule(str(path), device) for path in Path("/dev").glob("nvidia*")]
        landlock.confine(version, [*(landlock.Rule(path, read) for path in (*_READABLE, *readable)), *nodes])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
