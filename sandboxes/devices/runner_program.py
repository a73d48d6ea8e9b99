"""The jailed program that holds one native kernel: it loads a shared object and calls it whenever it is told to.

Nothing in here is trusted once the object is loaded: its code runs in this process. What it needs for a call lies ready
in shared memory before it is told to start, so there is nothing to do but the call itself. That is left to a loop in C,
which is linked to every kernel: from cold caches an interpreter would take longer than many kernels.

Before the object is loaded, its constructors included, the process gives up every file but the object itself where the
kernel has Landlock (Linux 5.13): neither this package, with its references, nor a compiler can be opened or run. Where
there is none, the jail's own files can be read, as by all attempts.
"""

import contextlib
import ctypes
import gc
import os
from collections.abc import Mapping, Sequence
from typing import Any  # Any: msgpack values

import msgpack

from assay.sandboxes import landlock, seccomp, syscalls

HELLO, LOAD, READY, GO, IDLE, DONE = b"h", b"o", b"r", b"g", b"i", b"d"
"""What is said, one byte each: it is here; load; loaded; call; answer without a call; it is done."""
NOT_LOADED = b"n"
"""The object cannot be loaded, or lacks the entry."""
ENTRY, SERVE = "assay_call", "assay_serve"
"""Functions of every native kernel: `void assay_call(void **arguments)` is its own, the other is the loop."""
LOOP_SOURCE = f"""#include <unistd.h>
void {ENTRY}(void **arguments);
int {SERVE}(int channel, void **arguments);
int {SERVE}(int channel, void **arguments) {{
    char token = '{READY.decode()}';
    if (write(channel, &token, 1) != 1) return 1;
    while (read(channel, &token, 1) == 1 && (token == '{GO.decode()}' || token == '{IDLE.decode()}')) {{
        if (token == '{GO.decode()}') {ENTRY}(arguments);
        token = '{DONE.decode()}';
        if (write(channel, &token, 1) != 1) return 1;
    }}
    return 0;
}}
"""
"""C of ours, to be compiled apart and linked to every kernel, beside what defines `assay_call`."""
_FILE = "kernel.so"
_LIBRARIES = ("libm.so.6", "libgcc_s.so.1")
_READ_WRITE = 1 | 2
_SHARED, _FIXED_NOREPLACE, _POPULATE = 0x01, 0x100000, 0x8000
_FAILED = ctypes.c_void_p(-1).value


def warm() -> None:
    """Load what kernels may be linked with: later it could not be opened."""
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):  # what is not here cannot be linked either
            ctypes.CDLL(name, os.RTLD_NOW)


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Serve the socket `fds[0]` with the segments `fds[1]` (arguments) and `fds[2]` (data), until it is closed."""
    channel, *segments = fds
    plan = msgpack.unpackb(payload)
    if not begin(channel, segments, plan):
        return 1
    serve = _load(plan["artifact"])
    gc.disable()
    gc.freeze()
    if serve is None:
        os.write(channel, NOT_LOADED)
        return 1
    return int(serve(channel, plan["addresses"][0]))


def begin(channel: int, segments: Sequence[int], plan: Mapping[str, Any]) -> bool:
    """Greet the judge, and once it says to load, map the segments where it has said; False if it does not."""
    os.write(channel, HELLO)
    if os.read(channel, 1) != LOAD:
        return False
    _quieten()
    for fd, address, size in zip(segments, plan["addresses"], plan["sizes"], strict=True):
        _map(fd, address, size)
        os.close(fd)
    _leave_others_alone()
    return True


def _leave_others_alone() -> None:
    """From here on it arms no timers, which would go off in the calls of other runners on its core."""
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    syscalls.install_filter(seccomp.build_timed_filter(seccomp.MACHINES[os.uname().machine]))


def _load(artifact: bytes) -> "ctypes._FuncPointer | None":
    with open(_FILE, "wb") as file:
        file.write(artifact)
    _give_up_files()
    try:
        address = ctypes.cast(ctypes.CDLL(os.path.abspath(_FILE), os.RTLD_NOW)[SERVE], ctypes.c_void_p).value
    except (OSError, AttributeError):
        return None
    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(address or 0)


def _give_up_files() -> None:
    """From here on only the object can be opened."""
    version = syscalls.landlock_version()
    if version:
        rights = landlock.Right.READ_FILE | landlock.Right.EXECUTE
        landlock.confine(version, [landlock.Rule(os.path.abspath(_FILE), rights)])


def _quieten() -> None:
    """Let nothing that the kernel prints reach anybody: a full pipe would stop it."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _map(fd: int, address: int, size: int) -> None:
    """Map a segment where the judge has said, so that addresses written by it hold here."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    flags = _SHARED | _FIXED_NOREPLACE | _POPULATE
    if library.mmap(address, size, _READ_WRITE, flags, fd, 0) in (_FAILED, None):
        raise OSError(ctypes.get_errno(), f"cannot map a segment of {size} bytes")
