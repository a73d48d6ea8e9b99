"""CUDA-L2's check of exactness: inputs of zeros and ones, outputs equal wherever the truth is small enough."""

import numpy as np

from assay.verifiers.kernels.dtypes import DType, Floats

MASK_ABOVE = 2047.0
"""Integers above this are not all half-precision values; the released check ignores outputs where the truth is."""


def is_exact(truth: Floats, custom: Floats, mask_above: float | None = MASK_ABOVE) -> bool:
    """Say whether outputs equal the truth where it is at most `mask_above`; larger entries are ignored.

    Source: CUDA-L2 (arXiv 2512.02551 section 2.3.2; deepreinforce-ai/CUDA-L2@dbe0177, zero_one_correctness_check.py).
    Non-finite outputs are never exact, masked or not, as there.
    """
    if custom.shape != truth.shape or not np.isfinite(custom).all():
        return False
    kept = np.ones(truth.shape, np.bool_) if mask_above is None else np.abs(truth) <= mask_above
    return bool(np.all(~kept | (custom == truth)))


def is_exact_hardened(
    truth: Floats, custom: Floats, mask_above: float | None = MASK_ABOVE, dtype: DType = DType.FLOAT16
) -> bool:
    """Say the same, and bound the entries that the mask hides: each within one rounding to `dtype`."""
    if not is_exact(truth, custom, mask_above):
        return False
    with np.errstate(invalid="ignore"):
        return bool(np.all(np.abs(custom - truth) <= 2 * dtype.roundoff * np.abs(truth)))
