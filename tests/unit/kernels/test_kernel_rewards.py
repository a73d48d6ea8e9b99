"""What a finding earns, how long a source is, and which tasks are refused."""

import math
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from scripted_kernels import REFUSALS, earned, gemm_task

from assay.errors import InvalidRequest
from assay.sandboxes.devices.interface import Clock
from assay.schema import Limits
from assay.verifiers.kernels.findings import OUTCOMES, Measured, Phase, Reason, Refused, ShapeTimes, Where
from assay.verifiers.kernels.rewards import STREAM_RATIO, Formula, eq3, geometric, hides_stream_work, pay, terms
from assay.verifiers.kernels.source_length import LengthUnit, length_of, normalised
from assay.verifiers.kernels.speed import Speed
from assay.verifiers.rules.rule import conclude

SPEED = Speed(
    60, 2, 2.0, 1.9, 2.1, 1.8, 2.2, 0.01, 0.0, is_quiet=True, is_significant=True, position_effects=(0.0, 0.0, 0.0),
    cuda_l2_eq2=1.25, cuda_l2_code=1.1, ratio_of_mean_times=1.0, reference_s=2e-3, candidate_s=1e-3,
)  # fmt: skip


def shape(weight: float = 1.0, mean_diff: float = 0.0, alone_s: float | None = None, **speed: Any) -> ShapeTimes:
    """Times at one shape, twice as fast but for what is given."""
    found = replace(SPEED, **speed)
    return ShapeTimes(
        {"m": 8}, weight, Clock.WALL, found, 0.0, True, alone_s, mean_diff, 0.5, 2.0, 1, True, throttled=0, size="m=8"
    )  # fmt: skip


def measured(*shapes: ShapeTimes) -> Measured:
    """A candidate that was right everywhere."""
    return Measured(shapes, 0.5, 100, {})


def reward(finding: Measured | Refused, length: int = 0, **fields: Any) -> float:
    """The reward of a finding."""
    task = gemm_task(**fields)
    verdict = conclude(task, terms(task.reward_rule), pay(task.reward_rule, finding, length).scored)
    assert verdict.reward is not None
    return verdict.reward


def test_hardened_pays_what_is_certain() -> None:
    """The lowest end of both intervals; 1 where nothing is significant; a slower kernel its median."""
    assert reward(measured(shape())) == pytest.approx(1.8)
    assert reward(measured(shape(is_significant=False))) == 1.0
    assert reward(measured(shape(speedup=0.5, low=0.4, safe_low=0.4))) == pytest.approx(0.5)


@pytest.mark.parametrize(("low", "paid"), [(0.8, 0.8), (1.02, 1.0)])
def test_doubt_that_a_candidate_has_bought_is_against_it(low: float, paid: float) -> None:
    """One that takes the attempt's time with slow starts has fewer rounds, in which little is significant."""
    doubtful = shape(speedup=1.03, low=low, safe_low=low, is_significant=False)

    assert reward(measured(doubtful)) == 1.0
    assert reward(measured(replace(doubtful, is_late=True))) == pytest.approx(paid)


@pytest.mark.parametrize("formula", Formula)
@pytest.mark.parametrize(
    "odd",
    [
        shape(),
        shape(speedup=1e9, low=1e9, safe_low=1e9, cuda_l2_eq2=1e9, cuda_l2_code=1e9),
        shape(speedup=1e-12, low=1e-12, safe_low=1e-12, cuda_l2_eq2=-1.0, cuda_l2_code=-1.0),
        shape(cuda_l2_eq2=math.inf, cuda_l2_code=math.nan, mean_diff=1e300),
    ],
)
def test_no_kernel_can_drive_a_term_out_of_its_range(formula: Formula, odd: ShapeTimes) -> None:
    """That would be a fault of this verifier, and no reward: neither by its speed nor by how far its outputs differ."""
    published = {"alpha": 1.0, "beta": 1.0} if formula is Formula.CUDA_L2_EQ3 else {}

    assert math.isfinite(reward(Measured((odd,), 1e300, 100, {}), 10**6, formula=formula, **published))


@pytest.mark.parametrize("formula", [formula for formula in Formula if formula is not Formula.CUDA_L2_EQ3])
def test_no_formula_pays_more_than_against_the_reference_alone(formula: Formula) -> None:
    """A reference that was slow beside the candidate only wins nothing; it lowers nothing where it bounds nothing."""
    assert reward(measured(shape(alone_s=1.2e-3)), formula=formula) == pytest.approx(1.2)
    assert reward(measured(shape(alone_s=5e-3)), formula=formula) == reward(measured(shape()), formula=formula)


def test_robust_is_the_weighted_geometric_mean() -> None:
    """2 once and 0.5 three times: 2^(1/4) 0.5^(3/4)."""
    finding = measured(shape(), shape(weight=3.0, speedup=0.5))

    assert reward(finding, formula="robust") == pytest.approx(2**0.25 * 0.5**0.75)
    assert geometric([(2.0, 1.0), (0.5, 3.0)]) == pytest.approx(2**0.25 * 0.5**0.75)


def test_equation_3_over_shapes() -> None:
    """Mean of ratios less alpha times the difference, over shapes, less beta times the length."""
    fields: dict[str, Any] = {"profile": "cuda-l2/paper", "alpha": 2.0, "beta": 0.001}
    finding = measured(shape(mean_diff=0.1), shape(cuda_l2_eq2=0.25, mean_diff=0.3))

    assert reward(finding, 100, **fields) == pytest.approx((2.25 - 0.2 + 1.25 - 0.6) / 2 - 0.1)
    assert reward(finding, 100_000, **fields) == 0.0


def test_the_released_figure_is_the_ratio_of_mean_throughputs() -> None:
    """Of which the scripts report what is above 1."""
    assert reward(measured(shape()), profile="cuda-l2/code") == pytest.approx(2.1)


@pytest.mark.parametrize("formula", [formula for formula in Formula if formula is not Formula.CUDA_L2_EQ3])
def test_caps_and_floors_hold_before_shapes_are_joined(formula: Formula) -> None:
    """A shape of a million times neither makes up for another, nor does one of a millionth sink it."""
    much = {name: 1e6 for name in ("speedup", "low", "safe_low", "cuda_l2_eq2", "cuda_l2_code")}
    little = {"speedup": 1e-6, "low": 1e-6, "safe_low": 1e-6, "cuda_l2_eq2": -1.0, "cuda_l2_code": -1.0}

    assert reward(measured(shape(**much)), formula=formula) == pytest.approx(10.0)
    assert reward(measured(shape(**little)), formula=formula) == pytest.approx(0.1)
    assert "capped" in earned(measured(shape(**much))).scored.flags


def test_shapes_at_the_cap_earn_the_cap_and_no_more() -> None:
    """A mean of logarithms is rounded: of weights like these, to 10.000000000000002."""
    much = {name: 1e6 for name in ("speedup", "low", "safe_low")}
    at_cap = measured(*(shape(weight, **much) for weight in (0.1, 0.2, 1.0)))

    assert reward(at_cap) == 10.0
    assert reward(at_cap, formula=Formula.ROBUST) == 10.0


@pytest.mark.parametrize("reason", list(Reason))
@pytest.mark.parametrize("formula", [formula for formula in Formula if formula is not Formula.CUDA_L2_EQ3])
def test_a_refused_candidate_earns_the_minimum(reason: Reason, formula: Formula) -> None:
    """By every formula; the outcome says what happened, and the message why."""
    refused = Refused(reason, "told", Where(Phase.ROUND, {"m": 8}, 3, "m=8"))

    assert reward(refused, formula=formula, minimum=-1.0) == -1.0
    assert OUTCOMES[reason] is REFUSALS[reason]
    assert earned(refused).scored.message == f"{reason}: told (round 3 at m=8)"


def test_equation_3_needs_pairs() -> None:
    """As many differences as ratios, and one at least."""
    for ratios, diffs in (([], []), ([1.0], [])):
        with pytest.raises(ValueError, match="ratios"):
            eq3(ratios, diffs, alpha=0.0, beta=0.0, length=0)


def test_stream_work_is_more_than_the_ratio() -> None:
    """Strictly; a time of zero hides all there was."""
    assert not hides_stream_work(1.0, STREAM_RATIO)
    assert hides_stream_work(1.0, 1.6)
    assert hides_stream_work(0.0, 1e-9)
    assert not hides_stream_work(1.0, 1.6, threshold=2.0)


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("int x; // one\nint /* two */ y;", "int x;int y;"),
        ("a  +  b\n\n\n", "a+b"),
        ('s = "// not one";', 's="// not one";'),
        ("c = '\"'; // end", "c='\"';"),
        ("/* never ends", ""),
        ("x = a /**/ b;", "x=a b;"),
        ("int\tmain", "int main"),
        ("é /* é */ é", "é é"),
    ],
)
def test_comments_and_blanks_have_no_length(source: str, plain: str) -> None:
    """What remains is what a compiler tells apart."""
    assert normalised(source) == plain
    assert length_of(source, LengthUnit.BYTES) == len(plain.encode())
    assert length_of(source, LengthUnit.CHARACTERS) == len(plain)


@pytest.mark.parametrize("piece", ["/*", '"', "'", "\\", "/", "//", " ", "a ", '"\\'])
def test_length_is_linear_in_the_source(piece: str) -> None:
    """A megabyte of anything takes no time to speak of."""
    source = piece * (1_000_000 // len(piece))

    assert length_of(source, LengthUnit.BYTES) <= len(source) + 1


BAD_PARAM = {"name": "d", "role": "in", "dtype": "float32", "shape": ["m"]}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"formula": "cuda_l2_eq3"}, "alpha and beta"),
        ({"formula": "cuda_l2_eq3", "alpha": 1.0}, "alpha and beta"),
        ({"alpha": 1.0}, "cuda_l2_eq3 alone"),
        ({"public_shapes": [{"axes": {"m": 8, "n": 6}}]}, "lacks axes: k"),
        ({"public_shapes": [{"axes": {"m": 8, "n": 6, "k": 0}}]}, "from 1 to"),
        ({"public_shapes": [{"axes": {"m": 2**20, "n": 2**20, "k": 1}}]}, "at most"),
        ({"public_shapes": [{"axes": {"m": 8, "n": 6, "k": 4}, "weight": 0}]}, "no shape is timed"),
        ({"checks": ["special"]}, "match_oracle"),
        ({"backend": "cpu", "language": "cuda_cpp"}, "native kernels in c, torch"),
        ({"operation": {"name": "softmax"}}, "softmax reads x"),
        ({"inputs": {"z": {}}}, "unknown z"),
        ({"timing": {"mode": "server"}}, "qps"),
        ({"timing": {"profile": "slow"}}, "quick"),
        ({"timing": {"profile": "paper"}, "limits": {"attempt_wall_s": 50}}, "raise it"),
        ({"abi": {"entry": "gemm", "params": [BAD_PARAM]}}, "needs an output"),
        ({"abi": {"entry": "g m", "params": [{**BAD_PARAM, "role": "out"}]}}, "pattern"),
        ({"abi": {"entry": "gemm", "params": [{**BAD_PARAM, "shape": ["m +"]}]}}, "ends where a value"),
        ({"abi": {"entry": "gemm", "params": [{**BAD_PARAM, "align": 24}]}}, "power of two"),
        ({"abi": {"entry": "gemm", "params": [{**BAD_PARAM, "role": "out"}] * 2}}, "same name"),
    ],
)
def test_tasks_that_cannot_be_judged_by_are_refused(fields: dict[str, Any], told: str) -> None:
    """When they are parsed, with what is wrong."""
    with pytest.raises(ValidationError, match=told):
        gemm_task(**fields)


@pytest.mark.parametrize("name", sorted(set(Limits.model_fields) - {"attempt_wall_s", "memory_mb"}))
def test_limits_that_no_session_keeps_are_refused(name: str) -> None:
    """By name, whatever the value: also its default."""
    with pytest.raises(ValidationError) as caught:
        gemm_task(limits={name: Limits.model_fields[name].default})

    assert [error["loc"] for error in caught.value.errors()] == [("limits", name)]


def test_a_device_keeps_no_limit_of_memory() -> None:
    """Its host code's is its container's to bound, and what the device's takes the task's own."""
    with pytest.raises(ValidationError, match="memory_mb"):
        gemm_task(kernel="gemm/float32", backend="cuda", limits={"memory_mb": 512})


def test_unknown_profiles_are_refused() -> None:
    """With the names of those that there are."""
    with pytest.raises(InvalidRequest, match=r"unknown profile 'cuda-l3/paper'.*cuda-l2/paper"):
        gemm_task(profile="cuda-l3/paper")


def test_timing_profiles_preset_the_times() -> None:
    """The paper's is 10 s and 30 s, without early end; fields of the task go before it."""
    paper = gemm_task(timing={"profile": "paper", "time_s": 40}, limits={"attempt_wall_s": 100}).timing

    assert (paper.warm_up_s, paper.time_s, paper.first_look_s) == (10.0, 40.0, None)
    assert gemm_task(timing={}).timing.time_s == 5.0


@pytest.mark.parametrize("formula", [*Formula])
def test_faster_is_what_is_certain_whatever_the_formula(formula: Formula) -> None:
    """All timed shapes together: by the lower ends, and not where a time is implausible."""
    factors = {"alpha": 0.0, "beta": 0.0} if formula is Formula.CUDA_L2_EQ3 else {}
    rule = gemm_task(formula=formula, **factors).reward_rule
    slower = {"speedup": 0.5, "low": 0.4, "safe_low": 0.4}
    found = [
        (measured(shape()), 1.0),
        (measured(shape(is_significant=False)), 0.0),
        (measured(shape(), shape(**slower)), 0.0),
        (measured(shape(weight=9.0), shape(**slower)), 1.0),
        (measured(replace(shape(), is_plausible=False)), 0.0),
    ]

    assert [pay(rule, finding, 0).scored.terms["faster"] for finding, _ in found] == [faster for _, faster in found]
