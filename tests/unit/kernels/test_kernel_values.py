"""Inputs, what is right for them, and how far from it an output may be."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from assay.verifiers.kernels.dtypes import DType, Values
from assay.verifiers.kernels.exact01 import is_exact, is_exact_hardened
from assay.verifiers.kernels.generators import InputRange, Kept, ValueProfile, density, draw, random_stream
from assay.verifiers.kernels.operation import Expected
from assay.verifiers.kernels.oracles import Operation, expected_of
from assay.verifiers.kernels.products import Gemm, gemm_excess
from assay.verifiers.kernels.tolerance import Comparison, Fault, Nonfinite, Tolerance, ToleranceMode, Yardstick, compare

SECRET = b"a secret of the judge"
ADAPTER: TypeAdapter[Any] = TypeAdapter(Operation)


def drawn(profile: ValueProfile, dtype: DType = DType.FLOAT32, terms: int = 1, **limits: float) -> Values:
    """Ten thousand values."""
    kept = Kept(InputRange.model_validate(limits), terms, factors=2)
    return draw(random_stream(SECRET, "t", 0, str(profile)), profile, dtype, (100, 100), kept)


def test_streams_are_named_by_secret_and_labels() -> None:
    """The same labels give the same values; another label or secret gives others; labels do not run together."""
    first = random_stream(SECRET, "a", 1).random(8).tolist()

    assert random_stream(SECRET, "a", 1).random(8).tolist() == first
    others = [random_stream(SECRET, "a1"), random_stream(SECRET, "a", "1"), random_stream(SECRET + b".", "a", 1)]
    assert all(other.random(8).tolist() != first for other in others)


def test_short_secrets_are_refused() -> None:
    """A secret that could be guessed is none."""
    with pytest.raises(ValueError, match="at least 16 bytes"):
        random_stream(b"short", "a")


@pytest.mark.parametrize("dtype", list(DType))
@pytest.mark.parametrize("profile", list(ValueProfile))
def test_every_kind_of_values_is_of_its_type(profile: ValueProfile, dtype: DType) -> None:
    """Finite, unless special; not all equal; exactly what the type holds."""
    values = drawn(profile, dtype, terms=64)

    assert values.shape == (100, 100)
    assert values.dtype.kind == ("f" if dtype.is_float else "i")
    assert len(np.unique(values)) > 1
    assert np.isfinite(values).all() or (profile is ValueProfile.SPECIAL and dtype.is_float)


def test_kinds_of_values_are_what_they_say() -> None:
    """Means, magnitudes and shares."""
    assert drawn(ValueProfile.SHIFTED).mean() == pytest.approx(3, abs=0.1)
    assert drawn(ValueProfile.TIMING).mean() == pytest.approx(0.25, abs=0.1)
    assert 5e3 < np.abs(drawn(ValueProfile.LARGE)).max() <= 1e4
    assert np.abs(drawn(ValueProfile.LARGE, DType.FLOAT16, terms=1024)).max() <= 2
    assert np.abs(drawn(ValueProfile.TINY)).max() < 1e-36
    assert len(np.unique(drawn(ValueProfile.TIES))) == 5
    assert (drawn(ValueProfile.ZEROS) == 0).mean() > 0.8
    assert np.signbit(drawn(ValueProfile.ZEROS)[drawn(ValueProfile.ZEROS) == 0]).any()
    assert 0.005 < (~np.isfinite(drawn(ValueProfile.SPECIAL))).mean() < 0.05


def test_sums_of_zeros_and_ones_stay_exact() -> None:
    """So sparse that products of them sum to less than the type's exact integers."""
    ones = drawn(ValueProfile.EXACT01, DType.FLOAT16, terms=16_384)

    assert set(np.unique(ones)) == {0.0, 1.0}
    assert 16_384 * density(DType.FLOAT16, Kept(terms=16_384, factors=2)) ** 2 == pytest.approx(512)
    assert 16_384 * density(DType.FLOAT16, Kept(terms=16_384)) == pytest.approx(512)


def test_ranges_are_kept() -> None:
    """Clipped, and constant where both ends are equal."""
    assert drawn(ValueProfile.NORMAL, low=0.5).min() == 0.5
    assert set(drawn(ValueProfile.NORMAL, low=1e-5, high=1e-5).reshape(-1)) == {float(np.float32(1e-5))}


def oracle(inputs: Mapping[str, Any], **operation: Any) -> Expected:
    """What an operation gives."""
    return expected_of(ADAPTER.validate_python(operation), {name: np.array(value) for name, value in inputs.items()})


A, B = np.array([[1.0, 2.0], [3.0, -4.0], [5.0, 6.0]]), np.array([[1.0, 0.0, -1.0], [2.0, 1.0, 0.0]])


def test_products_and_their_transposes() -> None:
    """By hand, with the sums of magnitudes."""
    found = oracle({"a": A, "b": B}, name="gemm")

    assert found.values.tolist() == [[5, 2, -1], [-5, -4, -3], [17, 6, -5]]
    assert found.magnitude is not None
    assert found.magnitude[1].tolist() == [11, 4, 3]
    assert found.terms == 2
    for a, b, flags in ((A.T, B, {"transpose_a": True}), (A, B.T, {"transpose_b": True})):
        assert np.array_equal(oracle({"a": a, "b": b}, name="gemm", **flags).values, found.values)


def test_integers_are_exact_and_wrap() -> None:
    """No float is on the way."""
    big = np.array([[2**31 - 1, 2]], dtype=np.int64)

    assert oracle({"a": big, "b": big.T}, name="gemm").values.tolist() == [[(2**31 - 1) ** 2 + 4]]


def test_the_other_operations() -> None:
    """Each by hand."""
    assert oracle({"alpha": 2.0, "x": [1.0, -1.0], "y": [0.5, 0.5]}, name="axpy").values.tolist() == [2.5, -1.5]
    assert oracle({"x": [[0.0, np.log(3.0)], [1e4, 1e4]]}, name="softmax").values == pytest.approx(
        np.array([[0.25, 0.75], [0.5, 0.5]])
    )
    normal = oracle({"x": [[1.0, 3.0]], "gamma": [2.0, 1.0], "beta": [0.0, 5.0], "eps": 0.0}, name="layer_norm")
    assert normal.values.tolist() == [[-2.0, 6.0]]
    assert oracle({"x": A}, name="reduction").values.tolist() == [3, -1, 11]
    assert oracle({"x": A}, name="reduction", kind="max", over="all").values.tolist() == [6]
    assert oracle({"x": A}, name="transpose").values.tolist() == A.T.tolist()


def test_convolution_with_stride_and_padding() -> None:
    """A correlation of a picture of 1 to 9 with a plus of ones, by hand."""
    x = np.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    plus = np.array([[0.0, 1, 0], [1, 1, 1], [0, 1, 0]]).reshape(1, 1, 3, 3)

    assert oracle({"x": x, "w": plus}, name="convolution").values.tolist() == [[[[25]]]]
    found = oracle({"x": x, "w": plus}, name="convolution", padding=1, stride=2)
    assert found.values.tolist() == [[[[7, 11], [19, 23]]]]
    assert found.terms == 9


def test_a_product_is_checked_without_computing_it() -> None:
    """Freivalds' method shows one wrong element of a rounded product, in four signed vectors."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((60, 40)), rng.standard_normal((40, 50))
    product = (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float64)
    signs = rng.choice(np.array([-1.0, 1.0]), (50, 4))

    assert gemm_excess(Gemm(), {"a": a, "b": b}, product, signs) < 1e-4
    product[7, 9] += 0.1
    assert gemm_excess(Gemm(), {"a": a, "b": b}, product, signs) == pytest.approx(0.1, abs=1e-3)


def compared(expected: Any, got: Any, dtype: DType = DType.FLOAT32, magnitude: Any = None, **fields: Any) -> Comparison:
    """Compare two lists; `unwritten` marks elements, `baseline` is the reference's error."""
    extra = {name: fields.pop(name, None) for name in ("unwritten", "baseline")}
    right = np.array(expected, dtype=np.float64 if dtype.is_float else np.int64)
    values = np.array(got, dtype=right.dtype)
    stale = np.zeros(right.shape, np.bool_) if extra["unwritten"] is None else np.array(extra["unwritten"])
    summed = None if magnitude is None else np.array(magnitude, dtype=np.float64)
    tolerance = Tolerance.model_validate({"mode": "allclose", **fields})
    return compare(Expected(right, summed, 4), values, Yardstick(dtype, tolerance, extra["baseline"]), unwritten=stale)


def test_the_bound_itself_is_allowed() -> None:
    """atol + rtol |expected|, and no more."""
    assert compared([2.0, 0.0], [2.25, 0.25], atol=0.25, rtol=0.0).fault is None
    found = compared([2.0, 0.0], [2.25, 0.375], atol=0.25, rtol=0.0)
    assert (found.fault, found.wrong, found.elements, found.max_abs_diff) == (Fault.WRONG, 1, 2, 0.375)
    assert "1 of 2 elements are wrong; first at [1]" in found.message


@pytest.mark.parametrize(
    ("dtype", "off", "is_right"),
    [
        (DType.FLOAT64, 1e-10, True), (DType.FLOAT64, 3e-10, False), (DType.FLOAT32, 1e-4, True),
        (DType.FLOAT32, 3e-4, False), (DType.FLOAT16, 1e-2, True), (DType.FLOAT16, 3e-2, False),
    ],
)  # fmt: skip
def test_default_tolerances_by_type(dtype: DType, off: float, is_right: bool) -> None:
    """1e-10, 1e-4 and 1e-2, absolute and relative."""
    assert (compared([1.0], [1.0 + off], dtype).fault is None) is is_right


def test_nan_is_never_within_a_tolerance() -> None:
    """Not as output, not where something else is expected, not with an infinite bound."""
    for got in (np.nan, np.inf, -np.inf):
        assert compared([1.0], [got], atol=1e300).fault is Fault.NONFINITE
        assert compared([1.0], [got], atol=1e300, nonfinite="match_oracle").fault is Fault.NONFINITE


def test_nonfinite_values_match_where_the_task_says_so() -> None:
    """The same one at the same place, in both directions; NaN expected is no wildcard."""
    right = [np.nan, np.inf, -np.inf, 1.0]

    assert compared(right, right, nonfinite="match_oracle").fault is None
    assert compared(right, right).fault is Fault.NONFINITE
    for got in ([1.0, np.inf, -np.inf, 1.0], [np.nan, -np.inf, -np.inf, 1.0], [np.nan, 1.0, -np.inf, 1.0]):
        assert compared(right, got, nonfinite="match_oracle").fault is Fault.NONFINITE


def test_exact_is_the_value_as_the_type_holds_it() -> None:
    """0.1 in half precision is what half precision makes of it; integers beyond 2^53 are told apart."""
    assert compared([0.1], [float(np.float16(0.1))], DType.FLOAT16, mode="exact").fault is None
    assert compared([0.1], [float(np.nextafter(np.float16(0.1), np.float16(1)))], DType.FLOAT16, mode="exact").fault
    assert compared([2**60], [2**60], DType.INT64, mode="exact").fault is None
    assert compared([2**60], [2**60 + 1], DType.INT64, mode="exact").fault is Fault.WRONG


def test_units_in_the_last_place_and_norms() -> None:
    """`ulp` bounds each element by its own spacing, `residual` all of them together."""
    step = 2.0**-23
    assert compared([1.0], [1.0 + 4 * step], mode="ulp").fault is None
    assert compared([1.0], [1.0 + 5 * step], mode="ulp").fault is Fault.WRONG
    assert compared([3.0, 4.0], [3.0, 4.5], mode="residual", rtol=0.1).fault is None
    assert "norm" in compared([3.0, 4.0], [3.0, 4.6], mode="residual", rtol=0.1).message


def test_sums_are_bounded_by_their_magnitudes() -> None:
    """Cancellation does not make a right sum wrong: 4 sqrt(terms) units of the sum of magnitudes."""
    unit = 2.0**-24 * 1e6 * 5**0.5

    assert compared([0.0], [3.9 * unit], magnitude=[1e6], mode="gamma").fault is None
    assert compared([0.0], [4.2 * unit], magnitude=[1e6], mode="gamma").fault is Fault.WRONG
    assert compared([0.0], [4.2 * unit], magnitude=[1.0], mode="gamma").fault is Fault.WRONG


def test_the_references_error_bounds_the_candidates() -> None:
    """CUDA-L2's second test, with the slack that the task gives."""
    assert compared([1.0], [1.5], mode="baseline", baseline=0.5, slack=1).fault is None
    assert compared([1.0], [1.6], mode="baseline", baseline=0.5, slack=1).fault is Fault.WRONG
    assert compared([1.0], [1.6], mode="baseline", baseline=0.5).fault is None


def test_shares_need_a_cap() -> None:
    """A share of elements may be out of bounds, but not by more than the cap, and not without one."""
    right = [0.0] * 200
    assert compared(right, [5.0, *right[1:]], matched_ratio=0.99, max_abs_cap=5).fault is None
    assert compared(right, [5.0] * 3 + right[3:], matched_ratio=0.99, max_abs_cap=5).wrong == 3
    assert "more than the cap 5" in compared(right, [5.5, *right[1:]], matched_ratio=0.99, max_abs_cap=5).message
    with pytest.raises(ValidationError, match="max_abs_cap"):
        Tolerance(matched_ratio=0.99)


def test_an_honest_value_may_be_the_one_that_was_there() -> None:
    """Half types have few values: one that is right within the tolerance is no trace of a missing write."""
    found = compared([1.0, 2.0, 3.0], [1.00005, 2.0, 3.0], unwritten=[True, False, False])

    assert found.fault is None


def test_what_was_never_written_is_said_first() -> None:
    """Only where it is wrong: a right value that was there before is right."""
    found = compared([1.0, 2.0, 3.0], [np.nan, 2.0, 4.0], unwritten=[True, True, False])

    assert (found.fault, found.wrong) == (Fault.UNWRITTEN, 2)
    assert found.message.startswith("1 of 3 elements were never written")


def test_modes_without_their_ground_raise() -> None:
    """A bound of sums needs magnitudes, a baseline needs the reference."""
    for mode in (ToleranceMode.GAMMA, ToleranceMode.BASELINE):
        with pytest.raises(ValueError, match=r"no bound of sums|not known"):
            compared([1.0], [2.0], mode=mode)
    assert Tolerance().nonfinite is Nonfinite.REJECT


def test_the_released_mask_and_ours() -> None:
    """Entries above 2,047 are ignored as released; hardened, they must be within a rounding to half precision."""
    truth = np.array([2048.0, 4099.0, 3.0])

    for custom, released, hardened in (
        ([2048.0, 4100.0, 3.0], True, True),
        ([2048.0, 9999.0, 3.0], True, False),
        ([2048.0, 4099.0, 4.0], False, False),
        ([2048.0, np.inf, 3.0], False, False),
    ):
        assert is_exact(truth, np.array(custom)) is released
        assert is_exact_hardened(truth, np.array(custom)) is hardened
    assert not is_exact(truth, np.array([2048.0]))
