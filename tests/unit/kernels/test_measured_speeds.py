"""How many of each measured speed are without a reward: results, metrics and the summary tell."""

from typing import Any

import pytest
from scripted_kernels import device, facts, gemm_task, lognormal, run, script

from assay.cli.tally import Tally
from assay.errors import Inconclusive
from assay.outcomes import Outcome
from assay.sandboxes.devices.interface import Clock
from assay.schema import Result
from assay.service.telemetry import Gauges, render
from assay.service.telemetry import Tally as ServiceTally
from assay.verifiers.kernels.measured_speeds import BUCKETS, SpeedTally, Timed, bucket_of, flag_of, read_result


def result(outcome: Outcome, **fields: Any) -> Result:
    """The result of a kernel."""
    document = {
        "batch_id": "b", "seq": 0, "index": 0, "task_id": "t", "attempt": "0", "group": "t", "outcome": outcome,
        "reward": None if outcome is Outcome.INCONCLUSIVE else 1.0, "passed": (), "tests": (), "terms": {}, "steps": (),
        "message": "", "stdout": "", "stderr": "", "exit_code": None, "usage": {}, "timing": {}, "verifier": "kernel",
        "versions": {}, "sandbox": "", "cached": False, "flags": (), "metadata": {},
    }  # fmt: skip
    return Result.model_validate({**document, **fields})


def told(speedup: float) -> Result:
    """A right kernel that was timed."""
    return result(Outcome.FAILED, terms={"speed": 1.0, "correct": 1.0, "speedup": speedup})


RESULTS = [
    told(1.0),
    told(1.02),
    told(2.0),
    result(Outcome.INCONCLUSIVE, flags=("unlocked", flag_of(0.98))),
    result(Outcome.INCONCLUSIVE),
    result(Outcome.FAILED, terms={"speed": 0.0, "correct": 0.0}),
    result(Outcome.TIMEOUT),
    result(Outcome.PASSED, verifier="python"),
]


def test_buckets_are_as_wide_above_one_as_below() -> None:
    """Each holds its lower end."""
    assert [bucket_of(speed) for speed in (0.01, 0.5, 0.8, 0.95, 1.0, 1.05, 1.25, 2.0, 9.0)] == [
        BUCKETS[index] for index in (0, 1, 2, 3, 3, 4, 5, 6, 6)
    ]
    assert BUCKETS[3] == "0.95 to 1.05"


def test_right_kernels_are_counted_and_nulls_by_what_they_measured() -> None:
    """Not wrong ones, those of other verifiers, and such as ended before."""
    tally = SpeedTally()
    for one in RESULTS:
        tally.add(read_result(one))

    assert list(tally.rows()) == [("0.95 to 1.05", 1, 3), ("2 and more", 0, 1), ("not measured", 1, 1)]
    assert read_result(result(Outcome.INCONCLUSIVE, flags=(flag_of(1e-7),))) == Timed("below 0.5", is_null=True)


def test_metrics_and_summaries_tell_it() -> None:
    """Whoever trains sees it without asking."""
    service, local = ServiceTally(), Tally()
    for one in RESULTS:
        service.add(one)
        local.add(one)

    counts = {name.encode(): str(count).encode() for name, count in service.take().integers.items()}
    text = render(counts, Gauges(0, {}, 1, 4)).decode()
    assert 'assay_timed_kernels_total{result="told",speedup="0.95 to 1.05"} 2.0' in text
    assert 'assay_timed_kernels_total{result="inconclusive",speedup="not measured"} 1.0' in text
    line = "inconclusive by measured speed-up: 0.95 to 1.05: 1 of 3, 2 and more: 0 of 1, not measured: 1 of 1"
    assert f"  {line}" in list(local.lines())


@pytest.mark.parametrize("seconds", [0.5e-3, 2e-3])
def test_a_null_tells_what_its_rounds_measured(seconds: float) -> None:
    """A device that becomes busy after the gate: the speed, which did not stand, is a flag. The gate has none."""
    candidate = script(seconds=seconds)
    task = gemm_task(checks=["normal"], timing={"warm_up_s": 0, "time_s": 0.2})
    late, soon = (device(candidate, facts=facts(clocks=(Clock.WALL,))) for _ in range(2))
    busy = lognormal(0.8)
    late.noise, soon.noise = lambda: busy() if late.settled > 30 else 1.0, busy

    with pytest.raises(Inconclusive, match="became busy") as after:
        run(candidate, task, late)
    with pytest.raises(Inconclusive, match="not quiet") as before:
        run(candidate, task, soon)

    (only,) = after.value.flags
    assert float(only.removeprefix("measured_speedup=")) == pytest.approx(1e-3 / seconds, rel=0.5)
    assert before.value.flags == ()
