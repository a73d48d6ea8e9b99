"""The benchmark of kernels of known speed: what it calls broken, and which kernels it makes."""

import importlib.util
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.outcomes import Outcome
from assay.verifiers.kernels.measured_speeds import SpeedTally, read_verdict
from assay.verifiers.kernels.ready import NAMES

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
C_NAMES = [name for name in NAMES if name.endswith("float32")]


@pytest.fixture(scope="module")
def benchmark() -> Iterator[Any]:
    """The program as a module, beside its neighbours."""
    before = set(sys.modules)
    sys.path.insert(0, str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("kernels_benchmark", BENCHMARKS / "kernels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(BENCHMARKS))
    for name in sys.modules.keys() - before:
        if str(BENCHMARKS) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


def run_of(benchmark: Any, kind: str, *shapes: tuple[float, float, float, bool], **fields: Any) -> Any:
    """An attempt of that kind with a result: each shape's speed-up, interval, and whether it is significant."""
    found = tuple(benchmark.Shape(*shape) for shape in shapes)
    run = benchmark.Run(
        "gemm/float32", benchmark.Kind(kind), Outcome.FAILED, 1.0, found[0].speedup, 1.0, found, 1.0, "told"
    )
    return replace(run, **fields)


EVEN = (1.0, 0.99, 1.01, False)
TWICE = (2.0, 1.9, 2.1, True)
HALF = (0.5, 0.49, 0.51, True)


@pytest.mark.parametrize(
    ("kind", "shape", "fields", "is_broken"),
    [
        ("equal", EVEN, {}, False),
        ("equal", (1.04, 1.03, 1.05, True), {}, True),
        ("equal", EVEN, {"reward": 1.01}, True),
        ("equal", EVEN, {"outcome": Outcome.VIOLATION, "speedup": None}, True),
        ("equal", EVEN, {"outcome": Outcome.INCONCLUSIVE, "speedup": None}, False),
        ("double", TWICE, {}, False),
        ("double", (1.79, 1.7, 1.9, True), {}, True),
        ("double", (2.21, 2.1, 2.3, True), {}, True),
        ("double", (2.0, 0.99, 2.9, False), {}, True),
        ("double", EVEN, {"outcome": Outcome.INCONCLUSIVE, "speedup": None, "shapes": ()}, False),
        ("half", HALF, {}, False),
        ("half", (0.5, 0.4, 1.0, False), {}, True),
        ("noisy", EVEN, {"mean_of_ratios": 1.09}, False),
        ("noisy", EVEN, {"mean_of_ratios": 1.0}, True),
        ("noisy", (1.04, 1.03, 1.05, False), {"mean_of_ratios": 1.09}, True),
        ("noisy", (1.03, 0.98, 1.08, False), {"mean_of_ratios": 1.5}, False),
        ("burning", EVEN, {}, False),
        ("burning", EVEN, {"outcome": Outcome.VIOLATION, "speedup": None}, False),
        ("burning", (1.3, 1.2, 1.4, True), {"reward": 1.2}, True),
    ],
)
def test_broken_promises(
    benchmark: Any, kind: str, shape: tuple[float, float, float, bool], fields: dict[str, Any], is_broken: bool
) -> None:
    """The exit status and the lines say so; what is inconclusive breaks none."""
    run = run_of(benchmark, kind, shape, **fields)
    said: list[dict[str, object]] = []

    is_kept = benchmark.report([run], SpeedTally(), said.append, is_quiet=False)

    assert is_kept is not is_broken
    assert bool(said[-1]["broken_promises"]) is is_broken
    assert json.dumps(said)


def test_intervals_miss_as_often_as_they_may(benchmark: Any) -> None:
    """Of twenty one may, and so may four; eight are too many. Wide ones are broken on a quiet machine alone."""
    kind = benchmark.Kind.EQUAL
    off, wide = (1.02, 1.01, 1.03, False), (1.0, 0.9, 1.1, False)

    def broken(missing: int, shape: tuple[float, float, float, bool] = EVEN, *, is_quiet: bool = False) -> list[str]:
        runs = [run_of(benchmark, "equal", off if number < missing else shape) for number in range(20)]
        found: list[str] = benchmark.broken_promises(kind, runs, is_quiet=is_quiet)
        return found

    assert (broken(1), broken(4), broken(0, wide)) == ([], [], [])
    assert broken(8) == ["8 of 20 intervals do not hold 1"]
    assert "10.0% wide" in broken(0, wide, is_quiet=True)[0]


def test_what_verdicts_say_is_read_back(benchmark: Any) -> None:
    """Each size with its interval."""
    message = "n=4: 1.987 [1.900, 2.050], significant; m=1, n=2: 1.000 [0.970, 1.030], no significant difference"

    assert benchmark.read_shapes(message) == (
        benchmark.Shape(1.987, 1.9, 2.05, True),
        benchmark.Shape(1.0, 0.97, 1.03, False),
    )


def test_nulls_are_told_by_measured_speed(benchmark: Any) -> None:
    """One line each."""
    tally = SpeedTally()
    for flags in (("measured_speedup=1.01",), ()):
        tally.add(read_verdict(Outcome.INCONCLUSIVE, {}, flags))
    tally.add(read_verdict(Outcome.FAILED, {"correct": 1.0, "speedup": 1.0}, ()))
    said: list[dict[str, object]] = []

    benchmark.report([run_of(benchmark, "equal", EVEN)], tally, said.append, is_quiet=False)

    assert said[-2:] == [
        {"measured_speedup": "0.95 to 1.05", "attempts": 2, "inconclusive": 1},
        {"measured_speedup": "not measured", "attempts": 1, "inconclusive": 1},
    ]


@pytest.mark.parametrize("name", C_NAMES)
def test_every_kind_is_made_of_every_task(benchmark: Any, name: str) -> None:
    """Valid tasks, with another source where the speed is another."""
    for kind in benchmark.Kind:
        found = benchmark.match(name, kind, {"profile": "quick"})

        is_alike = found.source == found.task.reference.source
        assert is_alike is (kind in (benchmark.Kind.EQUAL, benchmark.Kind.NOISY))


def test_a_quiet_machine_is_held_to_the_letter(benchmark: Any) -> None:
    """Within 2 %, and a bias of the mean that is the injected noise's alone."""
    kind, wide = benchmark.Kind.NOISY, (1.03, 0.98, 1.08, False)
    runs = [run_of(benchmark, "noisy", wide, mean_of_ratios=1.5)]

    broken = [what.split(" (")[0] for what in benchmark.broken_promises(kind, runs, is_quiet=True)]

    assert broken == [
        "gemm/float32: noise moved the median by more than 2 %",
        "gemm/float32: the mean of ratios, 1.500, is not biased to about 1.09",
    ]
