"""What a kernel must compute: the library's operations in numpy, in float64 or exact integers.

An oracle says what is right and never how fast it can be had: the reference that is timed is apart. It reads
parameters by name. Beside the values it hands back the magnitude of what was summed (the same operation over absolute
values) and the number of terms, from which rounding errors are bounded.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from assay.schema import Wire
from assay.verifiers.kernels.dtypes import Floats, Values

Inputs = Mapping[str, Values]
"""Values of inputs and scalars by parameter; scalars are arrays of no dimension."""


@dataclass(frozen=True)
class Expected:
    """The right values of one output; `magnitude` sums the absolute values of the `terms` that make an element."""

    values: Values
    magnitude: Floats | None = None
    terms: int = 1


class _Operation(Wire):
    """One operation; its parameters keep the names given here."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """Parameters that it reads."""

    @property
    @abstractmethod
    def output(self) -> str:
        """The parameter that it computes."""

    @property
    def factors(self) -> int:
        """How many inputs are multiplied in one term of a sum."""
        return 1

    @property
    def tolerance_mode(self) -> Literal["exact", "allclose", "gamma"]:
        """How its float outputs are compared unless the task says otherwise."""
        return "gamma"

    @abstractmethod
    def expect(self, inputs: Inputs) -> Expected:
        """Return the right output. Raises ValueError if the shapes do not fit."""

    @abstractmethod
    def work(self, inputs: Inputs) -> int:
        """Return how many multiply-adds the oracle takes, for deciding how often it can be asked."""


class Gemm(_Operation):
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


class Axpy(_Operation):
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


class Softmax(_Operation):
    """y = softmax of x along its last axis."""

    name: Literal["softmax"] = "softmax"

    @property
    def inputs(self) -> tuple[str, ...]:
        """x."""
        return ("x",)

    @property
    def output(self) -> str:
        """y."""
        return "y"

    @property
    def tolerance_mode(self) -> Literal["allclose"]:
        """Exponentials have no bound of sums."""
        return "allclose"

    def expect(self, inputs: Inputs) -> Expected:
        """Return the shares, computed from differences to the largest."""
        x = inputs["x"]
        powers = np.exp(x - x.max(axis=-1, keepdims=True))
        return Expected(powers / powers.sum(axis=-1, keepdims=True))

    def work(self, inputs: Inputs) -> int:
        """Return about ten operations an element."""
        return 10 * int(inputs["x"].size)


class LayerNorm(_Operation):
    """y = (x - mean) / sqrt(variance + eps) * gamma + beta, along the last axis, with the population variance."""

    name: Literal["layer_norm"] = "layer_norm"

    @property
    def inputs(self) -> tuple[str, ...]:
        """x, gamma, beta and eps."""
        return ("x", "gamma", "beta", "eps")

    @property
    def output(self) -> str:
        """y."""
        return "y"

    @property
    def tolerance_mode(self) -> Literal["allclose"]:
        """Quotients have no bound of sums."""
        return "allclose"

    def expect(self, inputs: Inputs) -> Expected:
        """Return the normalised rows."""
        x = inputs["x"]
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + inputs["eps"])
        return Expected(centred / deviation * inputs["gamma"] + inputs["beta"])

    def work(self, inputs: Inputs) -> int:
        """Return about ten operations an element."""
        return 10 * int(inputs["x"].size)


class Reduction(_Operation):
    """y = the sum or the maximum of x along its last axis, or over all of it into one element."""

    name: Literal["reduction"] = "reduction"
    kind: Literal["sum", "max"] = "sum"
    """What is found."""
    over: Literal["last", "all"] = "last"
    """Along the last axis, or over all elements into a y of one."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """x."""
        return ("x",)

    @property
    def output(self) -> str:
        """y."""
        return "y"

    @property
    def tolerance_mode(self) -> Literal["exact", "gamma"]:
        """A maximum is one of the elements."""
        return "gamma" if self.kind == "sum" else "exact"

    def expect(self, inputs: Inputs) -> Expected:
        """Return the sums or maxima."""
        x = inputs["x"]
        rows = x.reshape(1, -1) if self.over == "all" else x
        if self.kind == "max":
            return Expected(rows.max(axis=-1))
        magnitude = None if x.dtype.kind == "i" else np.abs(rows).sum(axis=-1)
        return Expected(rows.sum(axis=-1), magnitude, rows.shape[-1])

    def work(self, inputs: Inputs) -> int:
        """Return the number of elements."""
        return int(inputs["x"].size)


class Transpose(_Operation):
    """y = x transposed."""

    name: Literal["transpose"] = "transpose"

    @property
    def inputs(self) -> tuple[str, ...]:
        """x."""
        return ("x",)

    @property
    def output(self) -> str:
        """y."""
        return "y"

    @property
    def tolerance_mode(self) -> Literal["exact"]:
        """Elements move, nothing is computed."""
        return "exact"

    def expect(self, inputs: Inputs) -> Expected:
        """Return it with its axes in reverse."""
        return Expected(inputs["x"].T)

    def work(self, inputs: Inputs) -> int:
        """Return the number of elements."""
        return int(inputs["x"].size)


class Convolution(_Operation):
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


Operation = Annotated[
    Gemm | Axpy | Softmax | LayerNorm | Reduction | Transpose | Convolution, Field(discriminator="name")
]
"""Every operation, told apart by its name."""


def expected_of(operation: _Operation, inputs: Inputs) -> Expected:
    """Ask the oracle; infinities and NaN are values here, integers wrap around as the machine's do."""
    with np.errstate(all="ignore"):
        return operation.expect(inputs)


def gemm_excess(operation: Gemm, inputs: Inputs, product: Values, signs: Floats) -> float:
    """Return the largest |c s - a (b s)| over rows and vectors, in O(n^2): Freivalds' method.

    `signs` holds secret vectors of +1 and -1 as columns, drawn after c was handed back. A row whose errors are e_j
    shows a signed sum of them: usually about sqrt(n) of a usual error, and at least one large error less that, in half
    of the vectors. Freivalds, "Probabilistic machines can use less running time", IFIP 1977.
    """
    a, b = operation.operands(inputs)
    with np.errstate(all="ignore"):
        return float(np.abs(product @ signs - a @ (b @ signs)).max())
