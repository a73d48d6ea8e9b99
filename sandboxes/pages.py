"""Memory of a warm interpreter, arranged so that what is forked from it touches few pages anew.

Every page that a short-lived child is the first to touch costs it 1 to 4 microseconds, on a virtual machine more: one
of the heap is copied, one of a library's code is mapped and, at its end, unmapped. Every small page that it inherits
costs some 0.2 microseconds, at the fork and at its end; 512 of them in one large page cost as much as one. The
functions here are for the end of a program's `warm()`, and `heap_in_large_pages` for after it; where the machine or the
C library does not offer what they need, they change nothing.
"""

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO

_LARGE = 2 << 20  # bytes of a large page
_PAGE = 4 << 10
_READ, _WRITE, _EXECUTE = 1, 2, 4
_PROTECTIONS = {"r--p": _READ, "r-xp": _READ | _EXECUTE}
_PRIVATE_ANONYMOUS = 0x22
_MOVE_THERE = 3  # MREMAP_MAYMOVE | MREMAP_FIXED
_USE_LARGE = 14  # MADV_HUGEPAGE
_COLLAPSE = 25  # MADV_COLLAPSE, of Linux 6.1
_OWN_PAGES = Path("/proc/self/pagemap")
_ENTRY_BYTES = 8  # of a page in there
_PRESENT = 0x80  # in the last of these bytes
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
    """Whole large pages of the address space, from `start` to before `end`, and what may be done there."""

    start: int
    end: int
    protection: int


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


def library_in_large_pages(library: str) -> int:
    """Put code and constants of a loaded library, whose path ends so, into large pages; return how many bytes.

    A child inherits them mapped, at the price of a copy of them per warm interpreter. They stay where they are, and
    none is ever both writable and executable. 0 is returned where there are no large pages to be had.
    """
    if not _has_large_pages():
        return 0
    return sum(_move(mapping) for mapping in _mapped(_PROTECTIONS, lambda name: name.endswith(library)))


def heap_in_large_pages(pagemap: Path = _OWN_PAGES) -> int:
    """Put what this process has allocated into large pages, where at least half of one is in use; return their number.

    What children then write to, they still copy by small pages. Without `MADV_COLLAPSE`, or the file that tells which
    pages are in use, 0 is returned.
    """
    if not _has_large_pages():
        return 0
    heaps = _mapped({"rw-p": _READ | _WRITE}, lambda name: name in ("", "[heap]"))
    starts = [start for heap in heaps for start in range(heap.start, heap.end, _LARGE)]
    try:
        with pagemap.open("rb") as pages:
            full = [start for start in starts if _is_half_full(pages, start)]
    except OSError:
        return 0
    return sum(_libc().madvise(start, _LARGE, _COLLAPSE) == 0 for start in full)


def room_in_large_pages(library: str, prefix: str, size: int) -> bool:
    """Have the next allocations of a library's own jemalloc, whose names begin with `prefix`, come from large pages.

    `size` is in bytes. None of them is touched before a child does. False is returned where that allocator is not found
    in the library at this path.
    """
    loaded = ctypes.CDLL(library)
    allocate, free = (getattr(loaded, prefix + name, None) for name in ("aligned_alloc", "free"))
    if allocate is None or free is None or not _has_large_pages():
        return False
    allocate.restype, allocate.argtypes = ctypes.c_void_p, [ctypes.c_size_t, ctypes.c_size_t]
    free.restype, free.argtypes = None, [ctypes.c_void_p]
    room = allocate(_LARGE, size)
    if not room:
        return False
    _libc().madvise(room, size, _USE_LARGE)
    free(room)
    return True


def _is_half_full(pages: IO[bytes], start: int) -> bool:
    """Whether at least half of the small pages from `start` on are there, and they are not large already."""
    pages.seek(start // _PAGE * _ENTRY_BYTES)
    entries = pages.read(_LARGE // _PAGE * _ENTRY_BYTES)
    present = sum(flags >= _PRESENT for flags in entries[_ENTRY_BYTES - 1 :: _ENTRY_BYTES])
    return present >= _LARGE // _PAGE // 2


def _has_large_pages() -> bool:
    try:
        return "[never]" not in _PAGES_FOR_ALL.read_text(encoding="ascii")
    except OSError:
        return False


def _mapped(protections: Mapping[str, int], is_meant: Callable[[str], bool]) -> list[_Mapping]:
    """Return what fills whole large pages, of mappings with one of these protections and a name that is meant."""
    found = []
    for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
        place, flags, _, _, _, *name = line.split(maxsplit=5)
        if flags not in protections or not is_meant("".join(name)):
            continue
        start, end = (int(number, 16) for number in place.split("-"))
        inner = _Mapping(-(-start // _LARGE) * _LARGE, end // _LARGE * _LARGE, protections[flags])
        if inner.start < inner.end:
            found.append(inner)
    return found


def _move(part: _Mapping) -> int:
    """Copy to large pages, and put these in its place; leave it alone if the kernel gives none, or not enough."""
    libc = _libc()
    size = part.end - part.start
    room = libc.mmap(None, size + _LARGE, _READ | _WRITE, _PRIVATE_ANONYMOUS, -1, 0)
    if room == ctypes.c_void_p(-1).value:
        return 0
    copy = -(-room // _LARGE) * _LARGE
    moved = None
    if libc.madvise(copy, size, _USE_LARGE) == 0:
        ctypes.memmove(copy, part.start, size)
        if _is_large(copy, size) and libc.mprotect(copy, size, part.protection) == 0:
            moved = libc.mremap(copy, size, size, _MOVE_THERE, part.start)
    libc.munmap(room, size + _LARGE)  # the rest on both sides, or all of it
    return size if moved == part.start else 0


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
