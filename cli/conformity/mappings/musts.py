"""What a line asks of a verdict beyond numbers: `expected.must`."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any  # Any: expectations are JSON values

from assay.cli.conformity.judging import INVALID_REQUEST, Judged
from assay.outcomes import Outcome

_HOLDS: Mapping[str, Callable[[Judged, Any], bool]] = {
    "finish_within_s": lambda judged, seconds: judged.run_s <= seconds,
    "max_memory_mib": lambda judged, most: float(json.loads(judged.handed_back)["usage"]["memory_mb"]) <= most,
    "not_full_credit": lambda judged, wanted: not wanted or judged.outcome != Outcome.PASSED,
    "finite": lambda judged, wanted: not wanted or (judged.reward is not None and math.isfinite(judged.reward)),
    "no_nan": lambda judged, wanted: not wanted or judged.reward is None or not math.isnan(judged.reward),
    "error": lambda judged, wanted: not wanted or judged.outcome in (INVALID_REQUEST, Outcome.TASK_ERROR),
    "status": lambda judged, wanted: wanted != "unscorable_gold" or judged.outcome == Outcome.TASK_ERROR,
    # The tests of the tree look for calls that would; what a run did not do cannot be seen in its verdict.
    "never_execute_model_text": lambda _judged, _wanted: True,
}


def broken_musts(must: Mapping[str, Any], judged: Judged) -> Iterator[str]:
    """Yield what does not hold; a demand that nobody knows does not."""
    for name, wanted in must.items():
        holds = _HOLDS.get(name)
        if holds is None:
            yield f"must {name}: no such demand is known"
        elif not holds(judged, wanted):
            yield f"must {name} {wanted}: {judged.outcome} with {judged.reward} after {judged.run_s:g} s"
