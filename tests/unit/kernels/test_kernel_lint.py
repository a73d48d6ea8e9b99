"""Which kernel tasks lint finds fault with: those that a kernel passes without doing all the work."""

from typing import Any

import pytest
from scripted_kernels import gemm_task

from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.task import KernelTask


@pytest.mark.parametrize(("rows", "terms", "is_refused"), [(1, 200_000, False), (1, 4_000_000, True)])
def test_sums_so_long_that_parts_may_be_left_out_are_the_tasks_fault(rows: int, terms: int, is_refused: bool) -> None:
    """The bound of rounding errors grows faster than what is left out, also where nothing else is told of an output."""
    task = KernelTask.model_validate(
        {
            "id": "long",
            "verifier": "kernel",
            "kernel": "reduction/float32",
            "public_shapes": [{"axes": {"rows": rows, "cols": terms}}],
            "hidden_shapes": [],
            "checks": ["normal"],
        }
    )

    assert any("3% of 'x' can be left out" in fault for fault in lint(task)) is is_refused


@pytest.mark.parametrize(
    ("terms", "tolerance", "is_refused"),
    [
        (2048, {}, False),
        (12_288, {}, True),
        (12_288, {"accumulate": "float16"}, False),
        (12_288, {"mode": "baseline"}, False),
    ],
)
def test_products_that_coarse_factors_pass_are_the_tasks_fault(
    terms: int, tolerance: dict[str, str], is_refused: bool
) -> None:
    """Float16 and TF32 are computed with many times as fast: not in the name of float32, unless the task says so."""
    shape = {"axes": {"m": 24, "n": 32, "k": terms}}
    told = lint(ready_task("gemm/float32", shape, tolerance=tolerance))

    assert any("rounded to float16" in fault for fault in told) is is_refused


@pytest.mark.parametrize(("tolerance", "is_refused"), [({"atol": 1e-4, "rtol": 1e-4}, True), ({}, False)])
def test_zeros_that_pass_for_most_of_an_output_are_the_tasks_fault(
    tolerance: dict[str, float], is_refused: bool
) -> None:
    """Shares of a long row are smaller than the usual absolute tolerance: most of them need not be computed."""
    shape = {"axes": {"rows": 2, "cols": 16_384}}
    told = lint(ready_task("softmax/float32", shape, **({"tolerance": tolerance} if tolerance else {})))

    assert any("% of a constant output of 0 is within" in fault for fault in told) is is_refused


def ready_task(kernel: str, shape: object, **fields: object) -> KernelTask:
    """A ready task at one size."""
    document = {"id": "one", "verifier": "kernel", "kernel": kernel, "public_shapes": [shape], "hidden_shapes": []}
    return KernelTask.model_validate({**document, "checks": ["normal"], **fields})


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"inputs": {"a": {"low": 0.0, "high": 0.0}}}, "standard deviation is 0"),
        ({"tolerance": {"mode": "allclose", "atol": 100.0}}, "a constant output of"),
        ({"tolerance": {"mode": "allclose", "atol": 100.0}}, "does not depend on 'b'"),
        ({"checks": ["special"], "tolerance": {"nonfinite": "match_oracle"}}, ""),
    ],
)
def test_lint_finds_tasks_that_a_lazy_kernel_passes(fields: dict[str, Any], told: str) -> None:
    """Flat outputs, tolerances that a constant is within, inputs that change nothing."""
    faults = lint(gemm_task(**fields))

    assert any(told in fault for fault in faults) if told else not faults


def half_task(operation: dict[str, Any], terms_of_x: str) -> Any:
    """A sum of many values into half precision."""
    params = [
        {"name": "x", "role": "in", "dtype": "float16", "shape": ["m", "n"]},
        {"name": "y", "role": "out", "dtype": "float16", "shape": ["m"]},
    ]
    return gemm_task(
        abi={"entry": "reduce", "params": params},
        operation=operation,
        public_shapes=[{"axes": {"m": 8, "n": 16_384}}],
        hidden_shapes=[],
        inputs={"x": {"terms": terms_of_x}},
        checks=["exact01"],
    )


def test_lint_finds_sums_beyond_exact_integers() -> None:
    """Zeros and ones that are not sparse enough for the output's type; with their number of terms they are."""
    assert any("exact integers of float16" in fault for fault in lint(half_task({"name": "reduction"}, "1")))
    assert not any("exact integers" in fault for fault in lint(half_task({"name": "reduction"}, "n")))
    assert ValueProfile.EXACT01 in gemm_task().checks


def test_the_example_is_a_task_that_can_be_judged_by() -> None:
    """What the schema shows is accepted, and lint finds nothing in it."""
    (example,) = KernelTask.model_json_schema()["examples"]

    assert lint(KernelTask.model_validate(example)) == ()
