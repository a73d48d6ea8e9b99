"""The process of a native kernel on CUDA: it has host code of the candidate, which is given a device and nothing else.

Nothing in here is trusted once the kernel is loaded. Before that, the process gives up its user (where it may), files
to write, other processes and the network (where there is Landlock), and starting processes. The memory that it works on
is another process's (`cuda_program`), which looks at it as soon as this one has answered.
"""

import ctypes
import mmap
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from typing import Any  # Any: ctypes' own types

from assay.sandboxes import seccomp, syscalls
from assay.sandboxes.devices import cuda_control as control
from assay.sandboxes.devices.cuda_control import Step
from assay.sandboxes.devices.cuda_program import EXIT_FAILED, HAS_CUPY, Faulty, attempt, confine, open_channel

if HAS_CUPY:
    from assay.sandboxes.devices.cuda_driver import Gpu

ENTRY = "assay_call"
"""`void assay_call(void **arguments, cudaStream_t stream)`: each a buffer's address on the device, or a scalar's."""
_NOBODY = 65_534
_INVALID_IMAGE = 200

Entry = Callable[[int, Any], object]
"""Called with the address of the arguments' list and a stream."""
Load = Callable[[int], Entry]
"""Makes an entry of the file with that descriptor, once the process is confined. Raises Faulty."""


def main(arguments: Sequence[str], load: Load | None = None, readable: Sequence[str] = ()) -> int:
    """Serve the judge. Arguments: descriptors of the channel, the page and the kernel.

    `load` makes an entry of the kernel, by default of a shared object; files below `readable` it may still read.
    """
    channel_fd, page_fd, artifact_fd = map(int, arguments)
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    with open_channel(channel_fd) as channel:
        page = mmap.mmap(page_fd, os.fstat(page_fd).st_size)
        os.close(page_fd)
        if not HAS_CUPY:
            channel.send(control.NO_CUPY)
            return EXIT_FAILED
        try:
            _serve(channel, page, artifact_fd, load or load_object, readable)
        except Faulty as fault:
            control.write_fault(memoryview(page), fault.step, fault.status)
            channel.send(control.FAULT)
            return EXIT_FAILED
    return 0


def _serve(channel: socket.socket, page: mmap.mmap, artifact_fd: int, load: Load, readable: Sequence[str]) -> None:
    gpu = attempt(Step.CONTEXT, Gpu)
    channel.send(control.HELLO)
    if channel.recv(1) != control.SHARE:
        return
    view = memoryview(page)
    shared = control.read_shared(view)
    arguments_at = ctypes.addressof(ctypes.c_char.from_buffer(page)) + control.ARGUMENTS_AT
    data_at = attempt(Step.ALLOCATE, lambda: gpu.take_over(shared.handle)) + shared.skew
    control.write_places(view, arguments_at, data_at)
    channel.send(control.SHARED)
    if channel.recv(1) != control.LOAD:
        return
    _give_up(readable)
    entry = load(artifact_fd)
    channel.send(control.READY)
    while token := channel.recv(1):
        if token == control.GO:
            entry(arguments_at, None)
            attempt(Step.RUN, gpu.synchronise)
        elif token != control.IDLE:
            return
        channel.send(control.DONE)


def not_loaded() -> Faulty:
    """Return what to raise for a kernel that cannot be loaded."""
    return Faulty(Step.LOAD, _INVALID_IMAGE)


def load_object(artifact_fd: int) -> Entry:
    """Load a shared object, its constructors included. Raises Faulty."""
    try:
        address = ctypes.cast(ctypes.CDLL(f"/proc/self/fd/{artifact_fd}", os.RTLD_NOW)[ENTRY], ctypes.c_void_p).value
    except (OSError, AttributeError) as error:
        raise not_loaded() from error
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address or 0)


def _give_up(readable: Sequence[str]) -> None:
    """Be nobody, with no file to write, no other process and no network; threads may be started."""
    confine(*readable)  # first: nobody may not reach all that may be read
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
        syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)  # cleared by the change of user
        syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)  # it loads the kernel through its own /proc files
    syscalls.install_filter(seccomp.build_lone_filter(seccomp.MACHINES[os.uname().machine]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
