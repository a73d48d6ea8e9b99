"""What a session checks of outputs: every operation, bits, and large products by samples."""

import itertools
from typing import Any

import numpy as np
import pytest
from scripted_kernels import (
    device,
    earned,
    gemm_task,
    multiply,
    operands,
    refused,
    run,
    script,
)

from assay.sandboxes.devices.scripted import Invocation
from assay.verifiers.kernels.buffers import lay_out, segment_bytes, snapshot, write
from assay.verifiers.kernels.dtypes import DType
from assay.verifiers.kernels.findings import Measured, Reason, Refused
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.inspection import inspect, may_be_spot_checked, spot_check
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.problems import make_problem
from assay.verifiers.kernels.task import KernelTask

SECRET = b"a secret of the judge"


def test_other_values_are_asked_between_timed_rounds() -> None:
    """A kernel that is right on timed values alone, once it is past its checks, is caught between rounds."""

    def lazy(call: Invocation) -> None:
        multiply(call)
        a, _, c = operands(call)
        if call.number > 20 and np.array_equal(a, np.round(a)):
            c[:] = 0

    long = gemm_task(timing={"warm_up_s": 0.01, "time_s": 1.0, "first_look_s": None})

    assert isinstance(run(script(lazy), long), Refused)


@pytest.mark.parametrize("must", [False, True])
def test_bits_that_differ_are_flagged_or_refused(must: bool) -> None:
    """The same inputs twice: sums in another order are right, and not for a task that asks for the same bits."""
    flips = itertools.count()

    def unsteady(call: Invocation) -> None:
        multiply(call)
        c = operands(call)[2]
        if next(flips) % 2:
            c[:] = np.nextafter(c, np.float32(np.inf), where=c != 0, out=c.copy())

    task = gemm_task(policy={"must_be_deterministic": must}, checks=["normal"])

    finding = run(script(unsteady), task)

    if must:
        refused(finding, Reason.NONDETERMINISTIC)
    else:
        assert isinstance(finding, Measured)
        assert finding.flags == ("nondeterministic",)
        assert "nondeterministic" in earned(finding).scored.flags


def array_of(buffer: memoryview | bytes, dtype: Any, shape: tuple[int, ...]) -> Any:
    """An argument as an array; a buffer's is written."""
    return np.frombuffer(buffer, dtype=dtype)[: int(np.prod(shape))].reshape(shape)


def axpy_into_y(call: Invocation) -> None:
    """y = alpha x + y, in 32-bit integers."""
    alpha, x, y = (array_of(one, np.int32, (100 if index else 1,)) for index, one in enumerate(call.arguments))
    y += alpha[0] * x


def norm_rows(call: Invocation) -> None:
    """Layer norm in single precision."""
    x, gamma, beta, y = (
        array_of(one, np.float32, (5, 40)[index in (1, 2) :]) for index, one in enumerate(call.arguments[:4])
    )
    eps = array_of(call.arguments[4], np.float32, (1,))
    centred = x - x.mean(axis=-1, keepdims=True)
    y[:] = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps) * gamma + beta


def share_rows(call: Invocation) -> None:
    """Softmax in single precision."""
    x, y = (array_of(one, np.float32, (5, 40)) for one in call.arguments)
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    y[:] = powers / powers.sum(axis=-1, keepdims=True)


def sum_rows(call: Invocation) -> None:
    """Sums of half precision in single precision."""
    x, y = array_of(call.arguments[0], np.float16, (5, 40)), array_of(call.arguments[1], np.float16, (5,))
    y[:] = x.astype(np.float32).sum(axis=-1)


def turn(call: Invocation) -> None:
    """A transpose into column layout is a copy."""
    array_of(call.arguments[1], np.int32, (200,))[:] = array_of(call.arguments[0], np.int32, (200,))


def param(name: str, role: str, dtype: str, *shape: str, **fields: Any) -> dict[str, Any]:
    """A parameter."""
    return {"name": name, "role": role, "dtype": dtype, **({"shape": shape} if shape else {}), **fields}


@pytest.mark.parametrize(
    ("work", "operation", "params", "fields"),
    [
        (
            axpy_into_y,
            {"name": "axpy", "into_y": True},
            [param("alpha", "scalar", "int32"), param("x", "in", "int32", "n"), param("y", "inout", "int32", "n")],
            {"public_shapes": [{"axes": {"n": 100}}]},
        ),
        (
            norm_rows,
            {"name": "layer_norm"},
            [
                param("x", "in", "float32", "m", "n"),
                param("gamma", "in", "float32", "n"),
                param("beta", "in", "float32", "n"),
                param("y", "out", "float32", "m", "n"),
                param("eps", "scalar", "float32"),
            ],
            {"inputs": {"eps": {"low": 1e-5, "high": 1e-5}}},
        ),
        (
            share_rows,
            {"name": "softmax"},
            [param("x", "in", "float32", "m", "n"), param("y", "out", "float32", "m", "n")],
            {},
        ),
        (
            sum_rows,
            {"name": "reduction"},
            [param("x", "in", "float16", "m", "n"), param("y", "out", "float16", "m")],
            {"inputs": {"x": {"terms": "n"}}},
        ),
        (
            turn,
            {"name": "transpose"},
            [param("x", "in", "int32", "m", "n"), param("y", "out", "int32", "n", "m", layout="col")],
            {},
        ),
    ],
)  # fmt: skip
def test_other_operations_and_types(work: Any, operation: Any, params: Any, fields: Any) -> None:
    """Each oracle through a whole session: an honest kernel is right, and one that does nothing is not."""
    task = gemm_task(
        **{
            "operation": operation,
            "abi": {"entry": "work", "params": params},
            "public_shapes": [{"axes": {"m": 5, "n": 40}}],
            "hidden_shapes": [],
            "inputs": {},
            "timing": {"warm_up_s": 0.01, "time_s": 0.05},
            **fields,
        }
    )
    honest = script(work)

    assert lint(task) == ()
    assert isinstance(run(honest, task, device(honest, honest)), Measured)
    assert isinstance(run(script(lambda _: None), task, device(script(lambda _: None), honest)), Refused)


def big_task() -> KernelTask:
    """A product whose oracle is too dear to be asked every round."""
    return gemm_task(public_shapes=[{"axes": {"m": 300, "n": 310, "k": 320}}], hidden_shapes=[])


@pytest.mark.parametrize(("off", "reason"), [(0.0, None), (0.05, Reason.WRONG), (np.nan, Reason.NONFINITE)])
def test_large_products_are_spot_checked(off: float, reason: Reason | None) -> None:
    """One wrong element of 93,000 is found without the whole product; the message counts it exactly."""
    problem = make_problem(big_task(), SECRET, ("t",), {"m": 300, "n": 310, "k": 320}, ValueProfile.TIMING)
    rng = np.random.default_rng(0)
    segment = memoryview(bytearray(segment_bytes(problem.placed)))
    frame = lay_out(problem.placed, problem.values, len(segment), rng)
    write(frame, segment)
    c = array_of(segment[frame.address("c") :], np.float32, (300, 310))
    c[:] = problem.values["a"].astype(np.float32) @ problem.values["b"].astype(np.float32)
    c[123, 45] += np.float32(off)

    found = spot_check(problem, frame, snapshot(frame, segment), rng, usual=5e-5)

    assert may_be_spot_checked(problem)
    assert "expected" not in vars(problem) or reason is not None
    assert found.reason is reason
    assert reason is None or "1 of 93000 elements" in found.message
    if reason is None:
        assert found.max_abs_diff <= inspect(problem, frame, snapshot(frame, segment), baseline=None).max_abs_diff
    assert problem.output.param.dtype is DType.FLOAT32
