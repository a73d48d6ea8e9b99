"""Element types of kernel buffers: their bytes, their exact values, and their precision."""

from enum import StrEnum
from typing import Any  # Any: numpy arrays of several types

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Exact values of float buffers."""
Integers = NDArray[np.int64]
"""Exact values of integer and boolean buffers."""
Values = NDArray[Any]
"""Either of them; which one, the element type says."""
Bytes = NDArray[np.uint8]
"""Raw bytes of a buffer."""


class DType(StrEnum):
    """The type of a buffer's elements."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT64 = "int64"
    INT32 = "int32"
    INT16 = "int16"
    INT8 = "int8"
    UINT8 = "uint8"
    BOOL = "bool"

    @property
    def size(self) -> int:
        """Bytes of one element."""
        return _STORED[self].itemsize

    @property
    def is_float(self) -> bool:
        """Whether its values are real numbers rather than integers."""
        return self in _BITS

    @property
    def roundoff(self) -> float:
        """The unit roundoff: half the distance from 1 to the next value; 0 for integers."""
        return 2.0 ** -_BITS[self] if self.is_float else 0.0

    @property
    def smallest_normal(self) -> float:
        """The smallest positive normal value of a float type."""
        return _SMALLEST[self]

    @property
    def largest(self) -> float:
        """The largest finite value."""
        return _LARGEST[self] if self.is_float else float(np.iinfo(_STORED[self]).max if self != DType.BOOL else 1)

    @property
    def exact_integers(self) -> int:
        """Every integer up to this, in magnitude, is a value of the type."""
        return 2 ** _BITS[self] if self.is_float else int(self.largest)

    @property
    def c_name(self) -> str:
        """Its name in C, with `stdint.h`; half types are their bits there unless the compiler has them."""
        return _C_NAMES[self]

    @property
    def cuda_name(self) -> str:
        """Its name in CUDA C++."""
        return {DType.FLOAT16: "__half", DType.BFLOAT16: "__nv_bfloat16", DType.BOOL: "bool"}.get(self, self.c_name)


_STORED: dict[DType, "np.dtype[Any]"] = {
    DType.FLOAT64: np.dtype("<f8"),
    DType.FLOAT32: np.dtype("<f4"),
    DType.FLOAT16: np.dtype("<f2"),
    DType.BFLOAT16: np.dtype("<u2"),  # numpy has no such type: the upper half of a float32
    DType.INT64: np.dtype("<i8"),
    DType.INT32: np.dtype("<i4"),
    DType.INT16: np.dtype("<i2"),
    DType.INT8: np.dtype("i1"),
    DType.UINT8: np.dtype("u1"),
    DType.BOOL: np.dtype("u1"),
}
_BITS = {DType.FLOAT64: 53, DType.FLOAT32: 24, DType.FLOAT16: 11, DType.BFLOAT16: 8}  # of the significand
_SMALLEST = {DType.FLOAT64: 2.0**-1022, DType.FLOAT32: 2.0**-126, DType.FLOAT16: 2.0**-14, DType.BFLOAT16: 2.0**-126}
_LARGEST = {
    DType.FLOAT64: float(np.finfo(np.float64).max),
    DType.FLOAT32: float(np.finfo(np.float32).max),
    DType.FLOAT16: 65504.0,
    DType.BFLOAT16: 2.0**127 * (2 - 2.0**-7),
}
_C_NAMES = {
    DType.FLOAT64: "double",
    DType.FLOAT32: "float",
    DType.FLOAT16: "_Float16",
    DType.BFLOAT16: "uint16_t",
    DType.INT64: "int64_t",
    DType.INT32: "int32_t",
    DType.INT16: "int16_t",
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.BOOL: "uint8_t",
}


def encode(values: Values, dtype: DType) -> Bytes:
    """Return the bytes of `values` in C order, rounded to nearest even; integers wrap around."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if dtype is DType.BFLOAT16:
            stored: Values = _to_bfloat16(values)
        elif dtype is DType.BOOL:
            stored = (values != 0).astype(np.uint8)
        else:
            stored = values.astype(_STORED[dtype])
    return np.ascontiguousarray(stored).reshape(-1).view(np.uint8)


def decode(data: Bytes, dtype: DType) -> Values:
    """Return the exact values in `data`, flat: float64 for float types, int64 for the others."""
    stored = data.view(_STORED[dtype])
    if dtype is DType.BFLOAT16:
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64 if dtype.is_float else np.int64)


def rounded(values: Values, dtype: DType) -> Values:
    """Return `values` as the type holds them: what a kernel can at best hand back."""
    return decode(encode(values, dtype), dtype).reshape(values.shape)


def ulp(values: Floats, dtype: DType) -> Floats:
    """Return the distance from each magnitude to the type's next larger one."""
    bits = _BITS[dtype]
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log2(np.maximum(np.abs(values), dtype.smallest_normal)))
    found: Floats = np.exp2(exponents - (bits - 1))
    return found


def _to_bfloat16(values: Values) -> NDArray[np.uint16]:
    bits = values.astype(np.float32).view(np.uint32)
    nearest = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet_nan = (bits >> 16) | 0x40
    return np.where(np.isnan(values), quiet_nan, nearest).astype(np.uint16)
