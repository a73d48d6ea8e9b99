"""Sessions on the fake clock, beyond the numbered acceptance tests."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scripted_kernels import (
    device,
    earned,
    facts,
    gemm_task,
    lognormal,
    multiply,
    operands,
    refused,
    run,
    script,
    speed,
    times,
)

from assay.errors import Inconclusive, TaskFault
from assay.sandboxes.devices.interface import Clock, FailureKind
from assay.sandboxes.devices.scripted import Invocation, Script
from assay.verifiers.kernels.buffers import lay_out, segment_bytes, snapshot, write
from assay.verifiers.kernels.dtypes import DType
from assay.verifiers.kernels.findings import Measured, Reason, Refused
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.inspection import inspect, may_be_spot_checked, spot_check
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.problems import make_problem
from assay.verifiers.kernels.task import KernelTask

SECRET = b"a secret of the judge"


def test_no_content_and_no_order_of_addresses_comes_twice() -> None:
    """Inputs of every call are fresh; a round's three calls share theirs, at places of their own."""
    seen: dict[str, list[bytes]] = {"reference": [], "candidate": []}
    places: set[tuple[int, ...]] = set()

    def noting(name: str) -> Script:
        def work(call: Invocation) -> None:
            seen[name].append(operands(call)[0].tobytes() + operands(call)[1].tobytes())
            places.add(call.addresses)
            multiply(call)

        return script(work)

    on = device(noting("candidate"), noting("reference"))

    found = speed(run(script(), on=on))

    mine = seen["candidate"]
    shared = set(mine) & set(seen["reference"])
    assert len(shared) >= found.rounds
    once_checked_twice = len(gemm_task().shapes)  # the first case of each shape is asked again, for its bits
    assert len(mine) - len(set(mine)) == once_checked_twice
    assert len(places) > 0.9 * len(on.calls)


def test_nothing_of_a_call_is_left_for_the_next() -> None:
    """Runners may share memory: the reference's output must not be there when the candidate is called."""
    left: list[bool] = []

    def look_around(call: Invocation) -> None:
        multiply(call)
        beside = np.frombuffer(call.segment, np.uint8).copy()
        beside[call.call.offset : call.call.offset + call.call.size_bytes] = 0
        left.append(bool(beside.any()))

    run(script(look_around))

    assert len(left) > 50
    assert not any(left)


def test_the_timed_runner_is_a_fresh_one() -> None:
    """Nothing that a candidate kept from its checks is there when it is timed; every runner ends with the session."""
    on = device(script())

    run(script(), on=on)

    checks, gate, generation = [b"reference", b"candidate"], [b"reference"] * 2, [b"reference"] * 2 + [b"candidate"]
    assert on.opened == checks + gate + generation
    assert on.running == []


def test_every_generation_of_rounds_has_fresh_runners() -> None:
    """What processes differ by is part of the noise; nothing that one of them kept is there for the next."""
    timing = {"warm_up_s": 0.01, "time_s": 0.6, "first_look_s": None}
    on = device(script())

    found = speed(run(script(), gemm_task(timing=timing), on))

    assert (found.generations, found.rounds) == (7, 7 * 30)
    assert on.opened[4:] == [b"reference", b"reference", b"candidate"] * 7


def differing(spread: float, seed: int) -> Callable[[Invocation], float]:
    """A millisecond, but for a factor of each process for as long as it lives."""
    rng = np.random.default_rng(seed)
    known: dict[int, tuple[Any, float]] = {}

    def seconds(call: Invocation) -> float:
        memory = call.segment.obj
        return known.setdefault(id(memory), (memory, 1e-3 * float(np.exp(rng.normal(0.0, spread)))))[1]

    return seconds


@pytest.mark.parametrize("spread", [0.01, 0.1])
def test_processes_of_one_kernel_that_differ_are_no_difference(spread: float) -> None:
    """Calls of the same processes agree on a speed-up that is none: never significant, or inconclusive."""
    task = gemm_task(checks=["normal"], hidden_shapes=[], timing={"warm_up_s": 0.01, "time_s": 0.6})
    told = []

    for seed in range(6):
        kernel = script(seconds=differing(spread, seed))
        try:
            found = speed(run(kernel, task, device(kernel, kernel, facts=facts(noise_limit=0.5))))
        except Inconclusive:
            continue
        told.append(found.is_significant)

    assert not any(told)


def test_whether_a_session_is_inconclusive_is_not_up_to_the_candidate() -> None:
    """A machine that becomes busy once the gate was passed: the same sessions for every speed."""
    task = gemm_task(checks=["normal"], hidden_shapes=[], timing={"warm_up_s": 0, "time_s": 0.2})

    def is_inconclusive(seconds: float, seed: int) -> bool:
        candidate = script(seconds=seconds)
        on = device(candidate)
        busy = lognormal(0.1, seed)
        on.noise = lambda: busy() if on.settled > 30 else 1.0
        try:
            run(candidate, task, on)
        except Inconclusive:
            return True
        return False

    found = {seconds: [is_inconclusive(seconds, seed) for seed in range(8)] for seconds in (1e-3, 0.5e-3, 2e-3)}

    assert found[1e-3] == found[0.5e-3] == found[2e-3]
    assert len(set(found[1e-3])) == 2


@pytest.mark.parametrize("ends", [FailureKind.DIED, None])
def test_runners_end_however_the_session_does(ends: FailureKind | None) -> None:
    """Refused or inconclusive, none is left."""
    dying = script(failure=lambda call: ends if call.number == 30 else None)
    on = device(dying, noise=(lambda: 1.0) if ends else lognormal(1.0))

    if ends:
        assert isinstance(run(dying, on=on), Refused)
    else:
        with pytest.raises(Inconclusive):
            run(dying, on=on)

    assert on.running == []


def test_a_reference_that_is_known_is_not_checked_again() -> None:
    """What one session found serves the next ones of the task."""
    first = run(script())
    assert isinstance(first, Measured)
    on = device(script())

    again = run(script(), on=on, known_diffs=first.reference_diffs)

    assert on.opened[0] == b"candidate"
    assert isinstance(again, Measured)
    assert again.reference_diffs == first.reference_diffs


def test_an_obvious_difference_is_decided_at_the_first_look() -> None:
    """Twice as fast needs a fraction of the time that the task allows."""
    task = gemm_task(timing={"warm_up_s": 0.01, "time_s": 1.0, "first_look_s": 0.1})
    quick = script(seconds=0.5e-3)

    found = times(run(quick, task, device(quick, noise=lognormal(0.002))))

    assert (found.looks, found.is_decided) == (1, True)
    assert found.speed is not None
    assert found.speed.rounds == 42


def test_an_undecided_difference_is_looked_at_again_until_the_time_is_up() -> None:
    """Twice the generations at every look, and never the candidate's choice how many."""
    task = gemm_task(checks=["normal"], timing={"warm_up_s": 0.01, "time_s": 0.8, "first_look_s": 0.1})
    near = script(seconds=0.98e-3)

    found = times(run(near, task, device(near, noise=lognormal(0.15), facts=facts(noise_limit=0.5, drift_limit=0.5))))

    assert found.looks == 4
    assert not found.is_decided
    assert found.speed is not None
    assert 200 <= found.speed.rounds <= 300


def test_a_wall_clock_that_is_not_steady_gives_way_to_the_processor_clock() -> None:
    """Calls that wait for a core are timed by what they used of it; the wall alone would be inconclusive."""
    rng = np.random.default_rng(5)
    waits: Callable[[], float] = lambda: float(rng.exponential(1e-3))  # noqa: E731 - a field's value
    quick = script(seconds=0.5e-3)

    found = times(run(quick, on=device(quick, waits=waits, noise=lognormal(0.01), facts=facts(drift_limit=1.0))))

    assert found.clock is Clock.CPU
    assert found.speed is not None
    assert found.speed.speedup == pytest.approx(2.0, abs=0.02)
    with pytest.raises(Inconclusive):
        run(quick, on=device(quick, waits=waits, facts=facts(clocks=(Clock.WALL,))))


def test_work_that_device_events_do_not_see_is_refused() -> None:
    """A stream of its own: short by events, long on the wall."""
    hiding = script(seconds=0.1e-3, hidden_s=0.9e-3)
    on = device(hiding, facts=facts(clocks=(Clock.DEVICE, Clock.WALL)))

    assert "two clocks" in refused(run(hiding, on=on), Reason.TWO_CLOCKS)


def test_an_honest_slow_kernel_is_not_accused_of_waiting() -> None:
    """On a core that it gets half of, a kernel that takes longer also waits longer."""
    slow = script(seconds=4e-3, hidden_s=4e-3)
    on = device(slow, script(hidden_s=1e-3), facts=facts(clocks=(Clock.CPU,)))

    assert speed(run(slow, on=on)).speedup == pytest.approx(0.25)


def test_a_machine_that_becomes_slower_is_no_contention() -> None:
    """Slower with the candidate and slower without it: pairs within rounds have met that, and the result stands."""
    on = device(script(seconds=0.5e-3))
    on.noise = lambda: 1.3 if on.settled > 30 else 1.0

    found = speed(run(script(), on=on))

    assert found.speedup == pytest.approx(2.0)
    assert found.reference_s == pytest.approx(1.3e-3)


def test_gaps_of_server_mode_are_outside_the_times() -> None:
    """A call every 10 ms or so takes what it takes; the gaps go by on the session's clock alone."""
    task = gemm_task(timing={"warm_up_s": 0.01, "time_s": 0.1, "mode": "server", "qps": 100.0})
    on = device(script())

    found = speed(run(script(), task, on))

    assert found.reference_s == pytest.approx(1e-3)
    assert on.now_s() > found.rounds * 3 * 5e-3


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


def test_a_candidate_that_takes_the_attempts_time_is_late() -> None:
    """Its own calls are most of it: the minimum, not an excuse."""
    slow = script(seconds=1.0)
    task = gemm_task(limits={"attempt_wall_s": 20})

    assert "of the attempt's 20 s" in refused(run(slow, task), Reason.DEADLINE)


def test_an_attempt_too_short_for_its_reference_is_inconclusive() -> None:
    """That is no fault of the candidate."""
    task = gemm_task(limits={"attempt_wall_s": 20})
    on = device(script(), script(seconds=1.0))

    with pytest.raises(Inconclusive, match="attempt_wall_s"):
        run(script(), task, on)


def test_rounds_that_are_enough_count_when_the_time_is_up() -> None:
    """The attempt's end stops the rounds, once there are as many as a verdict needs."""
    timing = {"warm_up_s": 0.01, "time_s": 0.6, "first_look_s": None, "min_rounds": 30}
    task = gemm_task(timing=timing, limits={"attempt_wall_s": 1.0})
    slow = script(seconds=5e-3)

    finding = run(slow, task, device(slow))

    assert isinstance(finding, Measured)
    assert 30 <= speed(finding).rounds < 300
    assert finding.flags == ("cut_short",)


def test_a_reference_that_dies_is_the_tasks_fault() -> None:
    """Nobody is paid or blamed for it."""
    on = device(script(), script(failure=lambda _: FailureKind.DIED))

    with pytest.raises(TaskFault, match="the reference failed: runner died"):
        run(script(), on=on)


def test_a_kernel_that_cannot_be_loaded_earns_the_minimum() -> None:
    """It never starts."""
    on = device(script())
    on.scripts = {b"reference": script()}

    assert "runner died" in refused(run(script(), on=on), Reason.DIED)


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
