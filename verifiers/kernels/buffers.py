"""Where a call's buffers lie in the runner's segment, and what of them must be as it was afterwards.

A *frame* is a range of bytes at a secret place. Buffers lie in it in a secret order, with random bytes (canaries) on
both sides of each. Outputs are filled with a random word before the call. After it the judge takes one copy of the
whole frame: every byte that is not of an output must be unchanged.

Everywhere else the segment holds its *ground*: a page of secret bytes, over and over. It lies there from call to call,
so what a kernel writes far from its buffers is still there when somebody looks, be that some calls later.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assay.verifiers.kernels.abi import Layout, Placed, Role
from assay.verifiers.kernels.dtypes import Bytes, Values, decode, encode
from assay.verifiers.kernels.tolerance import Mask

CANARY_BYTES = 4096
"""Random bytes on either side of every buffer, at least."""
FRAME_ALIGN = 4096
"""Frames begin and end at multiples of this, as do segments; the ground has as many bytes."""

_ROWS_AT_ONCE = 256
_WORD_BYTES = 8  # of what fills an output: a multiple of every element's size
_WRITTEN = (Role.OUT, Role.INOUT, Role.SCRATCH)


@dataclass(frozen=True)
class Region:
    """One buffer within its frame, in bytes from the frame's start."""

    placed: Placed
    start: int

    @property
    def end(self) -> int:
        """One past its last byte."""
        return self.start + self.placed.size_bytes


@dataclass(frozen=True)
class Frame:
    """One call's buffers: where they are, and every byte as it is before the call."""

    offset: int
    """Bytes from the segment's start."""
    regions: tuple[Region, ...]
    """Buffers in the order in which they lie."""
    image: Bytes
    """All bytes of the frame before the call."""

    def region(self, name: str) -> Region:
        """Return where a buffer lies."""
        return next(region for region in self.regions if region.placed.param.name == name)

    def address(self, name: str) -> int:
        """Return a buffer's distance from the segment's start, in bytes."""
        return self.offset + self.region(name).start


@dataclass(frozen=True)
class Damage:
    """A byte that should not have changed."""

    buffer: str
    """The buffer it belongs to, or the one nearest."""
    place: str
    """`before` or `after` it (a canary), or `within` it (an input)."""
    bytes_changed: int
    """How many bytes there changed, in all."""

    def __str__(self) -> str:
        """Say it in a sentence."""
        if self.place == "within":
            return f"input modified: {self.bytes_changed} bytes of {self.buffer!r} changed"
        return f"canary {self.place} {self.buffer!r} overwritten: {self.bytes_changed} bytes changed"


def frame_bytes(placed: Sequence[Placed]) -> int:
    """Return how many bytes a frame takes at most."""
    room = sum(
        _round_up(one.size_bytes, one.param.align) + 2 * CANARY_BYTES + one.param.align for one in _buffers(placed)
    )
    return _round_up(room + CANARY_BYTES, FRAME_ALIGN)


def segment_bytes(placed: Sequence[Placed]) -> int:
    """Return the size of a segment in which frames can lie at many different places."""
    one = frame_bytes(placed)
    return 2 * one + 64 * FRAME_ALIGN


def lay_out(placed: Sequence[Placed], values: Mapping[str, Values], room_bytes: int, rng: np.random.Generator) -> Frame:
    """Return a fresh frame with these inputs somewhere in a segment of `room_bytes`."""
    buffers = [placed_one for placed_one in _buffers(placed)]
    order = rng.permutation(len(buffers))
    regions, cursor = [], 0
    for index in order:
        one = buffers[int(index)]
        gap = CANARY_BYTES + int(rng.integers(0, CANARY_BYTES // one.param.align + 1)) * one.param.align
        start = _round_up(cursor + gap, one.param.align)
        regions.append(Region(one, start))
        cursor = start + one.size_bytes
    size = _round_up(cursor + CANARY_BYTES, FRAME_ALIGN)
    places = max(0, room_bytes - size) // FRAME_ALIGN
    offset = int(rng.integers(0, places + 1)) * FRAME_ALIGN
    return Frame(offset, tuple(regions), _image(size, regions, values, rng))


def write(frame: Frame, segment: memoryview) -> None:
    """Put the frame's bytes where they belong in the segment."""
    segment[frame.offset : frame.offset + frame.image.size] = frame.image.data


def snapshot(frame: Frame, segment: memoryview) -> Bytes:
    """Return a copy of the frame's bytes as they are now."""
    taken = segment[frame.offset : frame.offset + frame.image.size]
    return np.frombuffer(bytes(taken), dtype=np.uint8)


def wipe(frame: Frame, segment: memoryview, ground: bytes) -> None:
    """Leave nothing of the frame in the segment, which other runners may see: the ground lies there again."""
    first = frame.offset // FRAME_ALIGN
    _rows(segment)[first : first + frame.image.size // FRAME_ALIGN] = _row(ground)


def lay_ground(segment: memoryview, ground: bytes) -> None:
    """Fill a segment whose size is a multiple of FRAME_ALIGN with its ground of as many bytes."""
    _rows(segment)[:] = _row(ground)


def strays(segment: memoryview, ground: bytes) -> int:
    """Return how many bytes of a segment that holds no frame are not its ground's: somebody wrote them."""
    rows, row = _rows(segment), _row(ground)
    count = 0
    for first in range(0, len(rows), _ROWS_AT_ONCE):
        same = rows[first : first + _ROWS_AT_ONCE] == row
        if not same.all():
            found = rows[first : first + _ROWS_AT_ONCE].view(np.uint8) != row.view(np.uint8)
            count += int(np.count_nonzero(found))
    return count


def find_damage(frame: Frame, after: Bytes) -> Damage | None:
    """Return what changed that must not, in one copy of the frame; canaries before inputs."""
    changed = after != frame.image
    for region in frame.regions:
        if region.placed.param.role in _WRITTEN:
            changed[region.start : region.end] = False
    if not changed.any():
        return None
    inputs = [region for region in frame.regions if region.placed.param.role not in _WRITTEN]
    outside = changed.copy()
    for region in inputs:
        outside[region.start : region.end] = False
    if outside.any():
        return _nearest(frame, int(np.argmax(outside)), int(np.count_nonzero(outside)))
    hit = next(region for region in inputs if changed[region.start : region.end].any())
    return Damage(hit.placed.param.name, "within", int(np.count_nonzero(changed[hit.start : hit.end])))


def output(frame: Frame, after: Bytes, name: str) -> Values:
    """Return an output's values from a copy of the frame, in its logical shape."""
    region = frame.region(name)
    param = region.placed.param
    flat = decode(after[region.start : region.end], param.dtype)
    return _arrange(flat, region.placed)


def unwritten(frame: Frame, after: Bytes, name: str) -> Mask:
    """Mark the elements of an output that hold the bytes from before the call; none of an `inout`."""
    region = frame.region(name)
    if region.placed.param.role is Role.INOUT:
        return np.zeros(region.placed.shape, np.bool_)
    same = after[region.start : region.end] == frame.image[region.start : region.end]
    return _arrange(same.reshape(-1, region.placed.param.dtype.size).all(axis=1), region.placed)


def _rows(segment: memoryview) -> NDArray[np.uint64]:
    return np.frombuffer(segment, dtype=np.uint64).reshape(-1, FRAME_ALIGN // _WORD_BYTES)


def _row(ground: bytes) -> NDArray[np.uint64]:
    return np.frombuffer(ground, dtype=np.uint64)


def _buffers(placed: Sequence[Placed]) -> list[Placed]:
    return [one for one in placed if one.param.role is not Role.SCALAR]


def _image(size: int, regions: Sequence[Region], values: Mapping[str, Values], rng: np.random.Generator) -> Bytes:
    """Return the frame's bytes: random everywhere but in inputs; outputs repeat one random word."""
    image = np.empty(size, dtype=np.uint8)
    noise = np.frombuffer(rng.bytes(size - sum(region.placed.size_bytes for region in regions)), dtype=np.uint8)
    cursor = used = 0
    for region in regions:
        gap = region.start - cursor
        image[cursor : region.start] = noise[used : used + gap]
        image[region.start : region.end] = _content(region.placed, values, rng)
        cursor, used = region.end, used + gap
    image[cursor:] = noise[used:]
    return image


def _content(placed: Placed, values: Mapping[str, Values], rng: np.random.Generator) -> Bytes:
    if placed.param.role in (Role.IN, Role.INOUT):
        given = values[placed.param.name]
        if given.shape != placed.shape:
            raise ValueError(f"{placed.param.name!r} has shape {given.shape}, not {placed.shape}")
        return encode(given if placed.param.layout is Layout.ROW else given.T, placed.param.dtype)
    words = np.full(-(-placed.size_bytes // _WORD_BYTES), rng.integers(2**64, dtype=np.uint64))
    return words.view(np.uint8)[: placed.size_bytes]


def _arrange(flat: Values, placed: Placed) -> Values:
    if placed.param.layout is Layout.ROW:
        return flat.reshape(placed.shape)
    return flat.reshape(placed.shape[::-1]).T


def _nearest(frame: Frame, byte: int, count: int) -> Damage:
    """Name the buffer whose canary a byte is of: the nearer one of its two neighbours."""
    before = [region for region in frame.regions if region.end <= byte]
    behind = [region for region in frame.regions if region.start > byte]
    if before and (not behind or byte - before[-1].end < behind[0].start - byte):
        return Damage(before[-1].placed.param.name, "after", count)
    return Damage(behind[0].placed.param.name, "before", count)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
