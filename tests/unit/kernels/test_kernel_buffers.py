"""Where buffers lie, and what of a frame must not change."""

import numpy as np
import pytest

from assay.verifiers.kernels.abi import Abi, Placed, place, prototype, trampoline
from assay.verifiers.kernels.buffers import (
    CANARY_BYTES,
    FRAME_ALIGN,
    Frame,
    find_damage,
    lay_ground,
    lay_out,
    output,
    segment_bytes,
    snapshot,
    strays,
    unwritten,
    wipe,
    write,
)
from assay.verifiers.kernels.dtypes import DType, decode, encode, rounded, ulp

ABI = Abi.model_validate(
    {
        "entry": "scale",
        "params": [
            {"name": "x", "role": "in", "dtype": "float32", "shape": ["m", "n"], "layout": "col", "align": 128},
            {"name": "work", "role": "scratch", "dtype": "int8", "shape": ["m"]},
            {"name": "y", "role": "inout", "dtype": "int32", "shape": ["m", "n"]},
            {"name": "z", "role": "out", "dtype": "float16", "shape": ["n", "m"], "layout": "col"},
            {"name": "factor", "role": "scalar", "dtype": "float32"},
            {"name": "count", "role": "scalar", "dtype": "int64", "value": "m * n"},
        ],
    }
)
X = np.arange(6.0).reshape(2, 3)
Y = np.arange(6).reshape(2, 3) - 3


def placed() -> tuple[Placed, ...]:
    """Two by three."""
    return place(ABI, {"m": 2, "n": 3})


def framed(seed: int = 0) -> tuple[Frame, memoryview]:
    """A frame with its inputs, in a segment."""
    segment = memoryview(bytearray(segment_bytes(placed())))
    frame = lay_out(placed(), {"x": X, "y": Y}, len(segment), np.random.default_rng(seed))
    write(frame, segment)
    return frame, segment


def test_buffers_are_aligned_apart_and_in_the_segment() -> None:
    """Canaries of 4,096 bytes at least on both sides of each; addresses and order differ from call to call."""
    orders, offsets = set(), set()
    for seed in range(20):
        frame, segment = framed(seed)
        end = 0
        for region in frame.regions:
            assert region.start - end >= CANARY_BYTES
            assert frame.address(region.placed.param.name) % region.placed.param.align == 0
            end = region.end
        assert frame.image.size - end >= CANARY_BYTES
        assert frame.offset + frame.image.size <= len(segment)
        orders.add(tuple(region.placed.param.name for region in frame.regions))
        offsets.add(frame.address("x"))
    assert len(orders) > 5
    assert len(offsets) > 10


def test_inputs_lie_in_their_layout_and_outputs_hold_a_word() -> None:
    """Column layout is the transpose in memory; an output repeats one random word."""
    frame, segment = framed()
    at = frame.address("x")

    assert np.frombuffer(segment[at : at + 24], np.float32).tolist() == [0, 3, 1, 4, 2, 5]
    at = frame.address("z")
    assert bytes(segment[at : at + 4]) == bytes(segment[at + 8 : at + 12])
    assert unwritten(frame, snapshot(frame, segment), "z").all()


def test_outputs_are_read_in_their_shape() -> None:
    """Values of an output and of an inout, and which elements were written."""
    frame, segment = framed()
    z, y = frame.address("z"), frame.address("y")
    segment[z : z + 2] = np.float16(1.5).tobytes()
    segment[y : y + 4] = np.int32(-7).tobytes()

    after = snapshot(frame, segment)

    assert find_damage(frame, after) is None
    assert output(frame, after, "z")[0, 0] == 1.5
    assert output(frame, after, "y").tolist() == [[-7, -2, -1], [0, 1, 2]]
    assert np.count_nonzero(unwritten(frame, after, "z")) == 5
    assert not unwritten(frame, after, "y").any()


@pytest.mark.parametrize("name", ["x", "work", "y", "z"])
@pytest.mark.parametrize("side", ["before", "after"])
def test_each_canary_is_named(name: str, side: str) -> None:
    """One byte beside any buffer is found, with the buffer and the side."""
    frame, segment = framed()
    region = frame.region(name)
    at = frame.offset + (region.start - 1 if side == "before" else region.end)
    segment[at] ^= 0xFF

    damage = find_damage(frame, snapshot(frame, segment))

    assert (damage and (damage.buffer, damage.place, damage.bytes_changed)) == (name, side, 1)


def test_a_changed_input_is_named_with_its_bytes() -> None:
    """Scratch and outputs may change, inputs may not."""
    frame, segment = framed()
    segment[frame.address("work")] ^= 0xFF
    for byte in (0, 5):
        segment[frame.address("x") + byte] ^= 0xFF

    assert str(find_damage(frame, snapshot(frame, segment))) == "input modified: 2 bytes of 'x' changed"


def test_what_is_written_outside_of_frames_is_counted() -> None:
    """Over the whole segment, before and after; nothing of a frame is left, and its ground lies there again."""
    ground = np.random.default_rng(1).bytes(FRAME_ALIGN)
    segment = memoryview(bytearray(segment_bytes(placed())))
    lay_ground(segment, ground)
    frame = lay_out(placed(), {"x": X, "y": Y}, len(segment), np.random.default_rng(2))
    write(frame, segment)
    far = [0, len(segment) - 1]
    for at in far:
        segment[at] ^= 0xFF

    wipe(frame, segment, ground)

    assert strays(segment, ground) == 2
    for at in far:
        segment[at] ^= 0xFF
    assert strays(segment, ground) == 0
    assert bytes(segment) == ground * (len(segment) // FRAME_ALIGN)


def test_prototype_and_trampoline_declare_the_entry() -> None:
    """Inputs are const; scalars are passed by value; the trampoline takes addresses alone."""
    assert prototype(ABI) == (
        "void scale(const float *x, int8_t *work, int32_t *y, _Float16 *z, float factor, int64_t count)"
    )
    assert "__half *z" in prototype(ABI, is_cuda=True)
    assert "scale((const float *)arguments[0], (int8_t *)arguments[1], " in trampoline(ABI, "assay_call")
    assert "*(float *)arguments[4], *(int64_t *)arguments[5]); }" in trampoline(ABI, "assay_call")


@pytest.mark.parametrize("dtype", list(DType))
def test_values_survive_their_bytes(dtype: DType) -> None:
    """What a type holds exactly comes back exactly."""
    values = np.array([0, 1, 1, 0]) if dtype is DType.BOOL else np.array([0, 1, 2, 100])

    assert (
        decode(encode(values.astype(np.float64 if dtype.is_float else np.int64), dtype), dtype).tolist()
        == values.tolist()
    )
    assert encode(values, dtype).size == 4 * dtype.size


def test_bfloat16_rounds_to_nearest_even_and_keeps_specials() -> None:
    """1 + 2^-8 is a tie and goes to 1; 1 + 3 * 2^-8 to 1 + 2^-6; NaN and infinities stay."""
    given = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8, -np.inf, np.nan, 3e38])

    found = rounded(given, DType.BFLOAT16)

    assert found[:3].tolist() == [1.0, 1 + 2.0**-6, -np.inf]
    assert np.isnan(found[3])
    assert found[4] == pytest.approx(3e38, rel=2**-8)


def test_integers_wrap_around() -> None:
    """As the machine's do."""
    assert rounded(np.array([2**31, -(2**31) - 1, 2**40 + 5]), DType.INT32).tolist() == [-(2**31), 2**31 - 1, 5]


def test_units_in_the_last_place() -> None:
    """Distances to the next larger magnitude, of denormals too."""
    values = np.array([1.0, 1.5, 2.0, 0.0, 2.0**-20])

    assert ulp(values, DType.FLOAT16).tolist() == [2.0**-10, 2.0**-10, 2.0**-9, 2.0**-24, 2.0**-24]
    assert ulp(np.array([1.0]), DType.FLOAT32).tolist() == [2.0**-23]
