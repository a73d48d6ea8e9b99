"""Memory shared with runners: sealed, at places that the judge draws, with arguments packed for them."""

import os
import struct
from pathlib import Path

import pytest

from assay.sandboxes.devices.caches import Flusher, last_level_bytes
from assay.sandboxes.devices.interface import Pointer, Scalar
from assay.sandboxes.devices.segments import ARGUMENT_BYTES, Segment, open_memory, pack_arguments


@pytest.mark.parametrize("size", [0, 100, 10_000])
def test_nobody_changes_a_segments_size(size: int) -> None:
    """Whoever could shrink it would have the judge killed by its next look."""
    segment = Segment(4096)
    try:
        with pytest.raises(PermissionError):
            os.ftruncate(segment.fd, size)
    finally:
        segment.close_fd()


def test_places_are_drawn_anew_and_do_not_meet() -> None:
    """The data lies beyond the arguments, page-aligned, somewhere else for every runner."""
    drawn = [open_memory(8192) for _ in range(8)]

    for memory in drawn:
        assert memory.arguments_at + ARGUMENT_BYTES < memory.data_at
        assert memory.data_at % 4096 == 0
        memory.close_fds()
    assert len({memory.data_at for memory in drawn}) > 1


def test_data_beside_other_data_is_the_same_memory() -> None:
    """At another place, with a descriptor of its own; data of another size is memory of its own."""
    first = open_memory(8192)
    second, third = open_memory(8192, first.data), open_memory(4096, first.data)

    first.data.view[100] = 7
    first.close_fds()

    assert (second.data.view[100], third.data.view[100]) == (7, 0)
    assert os.fstat(second.data.fd).st_size == 8192
    assert second.data_at != first.data_at or second.arguments_at != first.arguments_at
    second.close_fds()
    third.close_fds()


def test_buffers_are_addresses_and_scalars_are_pointed_at() -> None:
    """In order; scalars lie behind the list, aligned."""
    arguments = [Pointer(256), Scalar(struct.pack("<d", 0.5)), Scalar(b"\x07\0\0\0"), Pointer(0)]

    packed = pack_arguments(arguments, arguments_at=0x10000, data_at=0x20000)

    first, half, seven, last = struct.unpack_from("<4Q", packed)
    assert (first, last) == (0x20100, 0x20000)
    assert (half % 16, seven % 16) == (0, 0)
    assert struct.unpack_from("<d", packed, half - 0x10000) == (0.5,)
    assert struct.unpack_from("<i", packed, seven - 0x10000) == (7,)


def test_arguments_that_do_not_fit_are_refused() -> None:
    """Rather than written over what lies behind."""
    with pytest.raises(ValueError, match="there is room for"):
        pack_arguments([Pointer(0)] * 2000, arguments_at=0, data_at=0)


def test_the_largest_cache_counts(tmp_path: Path) -> None:
    """Sizes are told in kilobytes or megabytes, or not at all."""

    assert last_level_bytes(tmp_path) == 2**25
    for index, text in enumerate(("32K\n", "1024K\n", "3M\n")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(text)

    assert last_level_bytes(tmp_path) == 3 * 2**20
    Flusher(2**20).flush()
