"""What a kernel must compute: the library's operations in numpy, told apart by their names."""

from typing import Annotated

import numpy as np
from pydantic import Field

from assay.verifiers.kernels.operation import Expected, Inputs, OneOperation
from assay.verifiers.kernels.products import Axpy, Convolution, Gemm
from assay.verifiers.kernels.row_operations import LayerNorm, Reduction, Softmax, Transpose

Operation = Annotated[
    Gemm | Axpy | Softmax | LayerNorm | Reduction | Transpose | Convolution, Field(discriminator="name")
]
"""Every operation, told apart by its name."""


def expected_of(operation: OneOperation, inputs: Inputs) -> Expected:
    """Ask the oracle; infinities and NaN are values here, integers wrap around as the machine's do."""
    with np.errstate(all="ignore"):
        return operation.expect(inputs)
