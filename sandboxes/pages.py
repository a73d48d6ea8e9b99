"""Memory of a warm interpreter, arranged so that what is forked from it touches few pages anew.

Every page that a short-lived child is the first to touch costs it 1 to 4 microseconds, on a virtual machine more: one
of the heap is copied, one of a library's code is mapped and, at its end, unmapped. Both functions here are for the end
of a program's `warm()`; where the machine or the C library does not offer what they need, they change nothing.
"""

import ctypes
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_LARGE = 2 << 20  # bytes of a large page
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PRIVATE_ANONYMOUS = 0x22
_MOVE_THERE = 3  # MREMAP_MAYMOVE | MREMAP_FIXED
_USE_LARGE = 14  # MADV_HUGEPAGE
_LARGEST_HOLE = 64 << 10
_SMALL = 1040  # bytes: up to here the allocator has a size class every 16
_STEP = 16
_PAGES_FOR_ALL = Path("/sys/kernel/mm/transparent_hugepage/enabled")


class _HeapInfo(ctypes.Structure):
    """What `mallinfo2` of the GNU C library returns, in bytes but for the counts."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
        )
    ]  # fmt: skip


@dataclass(frozen=True)
class _Mapping:
    """A stretch of the address space, from `start` to before `end`."""

    start: int
    end: int


def fill_holes() -> int:
    """Take all free pieces of the C library's heap, up to 64 kB each, for good; return how many bytes that are.

    What a child allocates then lies together in fresh pages, instead of in holes that share each page with something
    else. Without the GNU C library (2.33 or later) 0 is returned.
    """
    libc = _libc()
    if not hasattr(libc, "mallinfo2"):
        return 0
    libc.mallinfo2.restype = _HeapInfo
    taken = 0
    size = _LARGEST_HOLE
    while size >= _STEP:
        taken += _fill(libc, size)
        size = size - _STEP if size <= _SMALL else max(_SMALL, size * 15 // 16 // _STEP * _STEP)
    return taken


def _fill(libc: ctypes.CDLL, size: int) -> int:
    """Take pieces of one size until one is cut from the heap's end, which is given back."""
    taken = 0
    while True:
        end = libc.mallinfo2().keepcost
        piece = libc.malloc(size)
        if libc.mallinfo2().keepcost != end or not piece:
            libc.free(piece)
            return taken
        taken += size


def code_in_large_pages(library: str) -> int:
    """Put the code of a loaded library, whose path ends so, into large pages; return how many bytes lie in them.

    A child inherits those mapped, at the price of a copy of the code per warm interpreter. The code stays where it is,
    and is never both writable and executable. 0 is returned where there are no large pages to be had.
    """
    if not _has_large_pages():
        return 0
    return sum(_move(mapping) for mapping in _code_of(library))


def _has_large_pages() -> bool:
    try:
        return "[never]" not in _PAGES_FOR_ALL.read_text(encoding="ascii")
    except OSError:
        return False


def _code_of(library: str) -> list[_Mapping]:
    """Return what of the library's code fills whole large pages."""
    found = []
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, flags, *rest = line.split(maxsplit=5)
        if flags != "r-xp" or not rest[-1].endswith(library):
            continue
        start, end = (int(number, 16) for number in place.split("-"))
        inner = _Mapping(-(-start // _LARGE) * _LARGE, end // _LARGE * _LARGE)
        if inner.start < inner.end:
            found.append(inner)
    return found


def _move(code: _Mapping) -> int:
    """Copy code to large pages, and put these in its place; leave it alone if the kernel gives none, or not enough."""
    libc = _libc()
    size = code.end - code.start
    room = libc.mmap(None, size + _LARGE, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if room == ctypes.c_void_p(-1).value:
        return 0
    copy = -(-room // _LARGE) * _LARGE
    moved = None
    if libc.madvise(copy, size, _USE_LARGE) == 0:
        ctypes.memmove(copy, code.start, size)
        if _is_large(copy, size) and libc.mprotect(copy, size, _READ | _EXECUTE) == 0:
            moved = libc.mremap(copy, size, size, _MOVE_THERE, code.start)
    libc.munmap(room, size + _LARGE)  # the rest on both sides, or all of it
    return size if moved == code.start else 0


def _is_large(start: int, size: int) -> bool:
    """Whether all of a stretch that was just written to lies in large pages."""
    large = 0
    inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        first, *rest = line.split()
        if not first.endswith(":"):
            begin, end = (int(number, 16) for number in first.split("-"))
            inside = begin < start + size and end > start
        elif inside and first == "AnonHugePages:":
            large += int(rest[0]) << 10
    return large >= size


@cache
def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    libc.malloc.argtypes, libc.malloc.restype = [size], pointer
    libc.free.argtypes, libc.free.restype = [pointer], None
    libc.mmap.argtypes, libc.mmap.restype = [pointer, size, number, number, number, ctypes.c_long], pointer
    libc.mremap.argtypes, libc.mremap.restype = [pointer, size, size, number, pointer], pointer
    libc.munmap.argtypes = [pointer, size]
    libc.madvise.argtypes = [pointer, size, number]
    libc.mprotect.argtypes = [pointer, size, number]
    return libc
