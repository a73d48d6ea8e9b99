"""The family `kernel_speed`: no kernel is run, the figures of a line go to the terms' own functions."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any  # Any: tasks and expectations are JSON values

import numpy as np

from assay.cli.conformity.judging import Judge, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.mapping import Check
from assay.verifiers.kernels.dtypes import Floats
from assay.verifiers.kernels.exact01 import is_exact, is_exact_hardened
from assay.verifiers.kernels.rewards import STREAM_RATIO, eq3, hides_stream_work
from assay.verifiers.kernels.speed import (
    log_ratios,
    mean_of_ratios,
    ratio_of_mean_throughputs,
    ratio_of_mean_times,
)

Figure = Callable[[Floats, Floats], float]

IMPLAUSIBLE = "implausible_timing"
"""The error of times that are not positive finite numbers."""


def _median(reference: Floats, custom: Floats) -> float:
    return math.expm1(float(np.median(log_ratios(reference, custom))))


def _geometric(reference: Floats, custom: Floats) -> float:
    return math.expm1(float(np.mean(log_ratios(reference, custom))))


_FIGURES: Mapping[str, Figure] = {
    "eq2": mean_of_ratios,
    "mean_of_ratios": mean_of_ratios,
    "tflops": ratio_of_mean_throughputs,
    "throughput": ratio_of_mean_throughputs,
    "code": ratio_of_mean_throughputs,
    "mean_time": ratio_of_mean_times,
    "ratio_of_means": ratio_of_mean_times,
    "total_time": ratio_of_mean_times,
    "median": _median,
    "geom": _geometric,
}
"""How speed-ups are averaged, by what the name of a profile says; all are less 1, as in equation 2."""


def check_kernel_speed(line: FamilyLine, judge: Judge) -> list[str]:
    """Return what deviates in one case of the family."""
    del judge  # nothing runs
    problems = list(_differences("", line.expected, _findings(line.task, is_hardened=False)))
    hardened = line.expected.get("hardened")
    if hardened is not None:
        wanted = hardened if isinstance(hardened, Mapping) else {"reward": hardened}
        problems += _differences("hardened: ", wanted, _findings(line.task, is_hardened=True))
    return [*problems, *_profile_differences(line)]


def _findings(task: Document, *, is_hardened: bool) -> Document:
    """Return whatever the figures of a task give: speedup, reward, correct, tamper, or an error alone."""
    found: dict[str, Any] = {}
    if "shapes" in task:
        found |= _of_shapes(task, is_hardened=is_hardened)
    elif "custom_ms" in task:
        found |= _of_times(task, is_hardened=is_hardened)
    if "truth" in task:
        check = is_exact_hardened if is_hardened else is_exact
        found["correct"] = check(_numbers(task["truth"]), _numbers(task["custom"]), task.get("mask_above"))
    if "event_ms" in task:
        event, full = (float(np.median(_numbers(task[name]))) for name in ("event_ms", "full_sync_ms"))
        found["tamper"] = hides_stream_work(event, full, task.get("threshold", STREAM_RATIO))
    return found


def _of_times(task: Document, *, is_hardened: bool) -> Document:
    reference, custom = _numbers(task["reference_ms"]), _numbers(task["custom_ms"])
    if not _is_plausible(reference, custom):
        return {"error": IMPLAUSIBLE}
    speedup = (_median if is_hardened else mean_of_ratios)(reference, custom)
    is_correct = _is_correct(task)
    return {"speedup": speedup, "correct": is_correct, "reward": _reward(task, speedup) if is_correct else 0.0}


def _of_shapes(task: Document, *, is_hardened: bool) -> Document:
    """Return the weighted mean over shapes, and the shapes' own figures as lists; a wrong shape spoils all."""
    shared = {key: value for key, value in task.items() if key != "shapes"}
    found = [_of_times({**shared, **shape}, is_hardened=is_hardened) for shape in task["shapes"]]
    if any("error" in one for one in found):
        return {"error": IMPLAUSIBLE}
    weights = [float(shape.get("weight", 1.0)) for shape in task["shapes"]]
    speedups, rewards = ([float(one[key]) for one in found] for key in ("speedup", "reward"))
    is_correct = all(one["correct"] for one in found)
    return {
        "speedup": _mean(speedups, weights),
        "reward": _mean(rewards, weights) if is_correct else 0.0,
        "correct": is_correct,
        "speedups": speedups,
        "rewards": rewards,
    }


def _reward(task: Document, speedup: float) -> float:
    """Return equation 3 where the task gives its coefficients, and the speed-up alone where it does not."""
    if "alpha" not in task and "beta" not in task:
        return speedup
    ratios = _numbers(task["reference_ms"]) / _numbers(task["custom_ms"])
    return eq3(
        ratios.tolist(),
        _diffs(task, ratios.size),
        alpha=task.get("alpha", 0.0),
        beta=task.get("beta", 0.0),
        length=_given(task, "length", "code_length", "source_length") or 0.0,
    )


def _is_correct(task: Document) -> bool:
    """Say whether a result counts as right: within the bound given, or penalised by alpha, or equal."""
    bound = _given(task, "tolerance", "max_allowed_diff", "baseline_max_abs_diff")
    if bound is None and "alpha" in task:
        return bool(task.get("correct", True))
    return bool(task.get("correct", True)) and max(_diffs(task, 1)) <= (bound or 0.0)


def _diffs(task: Document, runs: int) -> list[float]:
    """Return the largest differences by run; one number holds for every run."""
    given = _given(task, "max_abs_diff", "max_abs_diffs", "diff", "diffs")
    if given is None:
        return [0.0] * runs
    return [float(one) for one in given] if isinstance(given, list) else [float(given)] * runs


def _profile_differences(line: FamilyLine) -> Iterator[str]:
    if "custom_ms" not in line.task:
        return
    reference, custom = _numbers(line.task["reference_ms"]), _numbers(line.task["custom_ms"])
    for name, value in line.expected.get("profiles", {}).items():
        figure = next((figure for part, figure in _FIGURES.items() if part in name.lower()), None)
        if figure is None or isinstance(value, str):
            continue  # described for information only
        wanted = value if isinstance(value, Mapping) else {"speedup": value}
        got = {"speedup": figure(reference, custom)} if _is_plausible(reference, custom) else {"error": IMPLAUSIBLE}
        yield from _differences(f"profile {name}: ", wanted, got)


def _differences(where: str, expected: Document, got: Document) -> Iterator[str]:
    for name, value in expected.items():
        if name in ("profiles", "hardened", "flag", "must"):
            continue
        if not _is_equal(value, got.get(name)):
            yield f"{where}{name}: expected {value}, got {got.get(name)}"


def _is_equal(expected: Any, got: Any) -> bool:
    if isinstance(expected, bool | str) or isinstance(got, bool | str):
        return bool(expected == got)
    if isinstance(expected, list):
        return isinstance(got, list) and len(got) == len(expected) and all(map(agree, expected, got))
    return agree(expected, got)


def _is_plausible(reference: Floats, custom: Floats) -> bool:
    times = np.concatenate([reference, custom])
    return bool(reference.size == custom.size > 0 and np.isfinite(times).all() and (times > 0).all())


def _given(task: Document, *names: str) -> Any:
    return next((task[name] for name in names if name in task), None)


def _numbers(values: Any) -> Floats:
    """Read a number or a list of them; strings such as "NaN" stand for the float of that name."""
    return np.array([float(value) for value in (values if isinstance(values, list) else [values])], dtype=np.float64)


def _mean(values: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(map(math.prod, zip(values, weights, strict=True))) / math.fsum(weights)


FAMILIES: Mapping[str, Check] = {"kernel_speed": check_kernel_speed}
"""By the name of the family."""
