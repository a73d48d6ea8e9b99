"""Operations that multiply and add: products of matrices, axpy, convolutions; in float64 or exact integers."""

from typing import Literal

import numpy as np
from pydantic import Field

from assay.verifiers.kernels.dtypes import Floats, Values
from assay.verifiers.kernels.operation import Expected, Inputs, OneOperation


class Gemm(OneOperation):
    """c = op(a) op(b), for a of m by k and b of k by n, each transposed if so said."""

    name: Literal["gemm"] = "gemm"
    transpose_a: bool = False
    """a comes as k by m."""
    transpose_b: bool = False
    """b comes as n by k."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """a and b."""
        return ("a", "b")

    @property
    def output(self) -> str:
        """c."""
        return "c"

    @property
    def factors(self) -> int:
        """Two."""
        return 2

    def operands(self, inputs: Inputs) -> tuple[Values, Values]:
        """Return the two factors as they are multiplied."""
        a, b = inputs["a"], inputs["b"]
        return (a.T if self.transpose_a else a), (b.T if self.transpose_b else b)

    def expect(self, inputs: Inputs) -> Expected:
        """Return the product."""
        a, b = self.operands(inputs)
        magnitude = None if a.dtype.kind == "i" else np.abs(a) @ np.abs(b)
        return Expected(a @ b, magnitude, a.shape[1])

    def work(self, inputs: Inputs) -> int:
        """Return 2 m n k: the product and its magnitude."""
        a, b = self.operands(inputs)
        return 2 * int(a.shape[0] * a.shape[1] * b.shape[1])


class Axpy(OneOperation):
    """out = alpha x + y; `into_y` leaves the result in y."""

    name: Literal["axpy"] = "axpy"
    into_y: bool = False
    """y is both read and written."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """alpha, x and y."""
        return ("alpha", "x", "y")

    @property
    def output(self) -> str:
        """out, or y."""
        return "y" if self.into_y else "out"

    def expect(self, inputs: Inputs) -> Expected:
        """Return the sum."""
        scaled = inputs["alpha"] * inputs["x"]
        magnitude = None if scaled.dtype.kind == "i" else np.abs(scaled) + np.abs(inputs["y"])
        return Expected(scaled + inputs["y"], magnitude, 2)

    def work(self, inputs: Inputs) -> int:
        """Return the number of elements."""
        return int(inputs["x"].size)


class Convolution(OneOperation):
    """y = x correlated with w: (batch, channels, height, width) with (filters, channels, rows, columns)."""

    name: Literal["convolution"] = "convolution"
    stride: int = Field(1, ge=1, le=64)
    """Elements between windows, in both directions."""
    padding: int = Field(0, ge=0, le=64)
    """Zeros around each picture, on every side."""

    @property
    def factors(self) -> int:
        """Two."""
        return 2

    @property
    def inputs(self) -> tuple[str, ...]:
        """x and w."""
        return ("x", "w")

    @property
    def output(self) -> str:
        """y."""
        return "y"

    def expect(self, inputs: Inputs) -> Expected:
        """Return the correlation."""
        x, w = inputs["x"], inputs["w"]
        magnitude = None if x.dtype.kind == "i" else self._correlate(np.abs(x), np.abs(w))
        return Expected(self._correlate(x, w), magnitude, int(np.prod(w.shape[1:])))

    def work(self, inputs: Inputs) -> int:
        """Return twice the multiply-adds: values and magnitudes."""
        batch, _, height, width = inputs["x"].shape
        return 2 * int(batch * height * width * inputs["w"].size // self.stride**2)

    def _correlate(self, x: Values, w: Values) -> Values:
        around = (self.padding, self.padding)
        padded = np.pad(x, ((0, 0), (0, 0), around, around))
        windows = np.lib.stride_tricks.sliding_window_view(padded, w.shape[2:], axis=(2, 3))
        chosen = windows[:, :, :: self.stride, :: self.stride]
        return np.tensordot(chosen, w, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def gemm_excess(operation: Gemm, inputs: Inputs, product: Values, signs: Floats) -> float:
    """Return the largest |c s - a (b s)| over rows and vectors, in O(n^2): Freivalds' method.

    `signs` holds secret vectors of +1 and -1 as columns, drawn after c was handed back. A row whose errors are e_j
    shows a signed sum of them: usually about sqrt(n) of a usual error, and at least one large error less that, in half
    of the vectors. Freivalds, "Probabilistic machines can use less running time", IFIP 1977.
    """
    a, b = operation.operands(inputs)
    with np.errstate(all="ignore"):
        return float(np.abs(product @ signs - a @ (b @ signs)).max())
