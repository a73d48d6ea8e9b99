"""Operations along rows: softmax, layer norm, reductions, transposes; in float64 or exact integers."""

from typing import Literal

import numpy as np

from assay.verifiers.kernels.operation import Expected, Inputs, OneOperation


class Softmax(OneOperation):
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


class LayerNorm(OneOperation):
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


class Reduction(OneOperation):
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


class Transpose(OneOperation):
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
