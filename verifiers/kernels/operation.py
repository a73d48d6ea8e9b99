"""What an operation of a kernel task is: what it reads and writes, what is right, and how closely it can be told.

An oracle says what is right and never how fast it can be had: the reference that is timed is apart. It reads
parameters by name. Beside the values it hands back the magnitude of what was summed (the same operation over absolute
values) and the number of terms, from which rounding errors are bounded.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from assay.schema import Wire
from assay.verifiers.kernels.dtypes import Floats, Values

Inputs = Mapping[str, Values]
"""Values of inputs and scalars by parameter, in their shapes: float64 for float types, exact int64 for integers and
booleans. Scalars are arrays of no dimension."""


@dataclass(frozen=True)
class Expected:
    """The right values of one output, in its shape: float64, or exact int64 where the output has integers.

    `magnitude` has that shape too, and sums the absolute values of the `terms` (at least 1) that make an element; None
    where nothing is summed.
    """

    values: Values
    magnitude: Floats | None = None
    terms: int = 1


class OneOperation(Wire):
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
