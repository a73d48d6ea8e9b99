"""How long a kernel is timed and under which conditions: fields of a task, preset by profiles."""

from collections.abc import Mapping
from typing import Any, Literal, Self  # Any: documents before validation

from pydantic import Field, model_validator

from assay.schema import Wire

_TIMINGS: Mapping[str, Mapping[str, float | None]] = {
    "quick": {"warm_up_s": 0.5, "time_s": 5.0, "first_look_s": 0.5},
    "standard": {"warm_up_s": 2.0, "time_s": 30.0, "first_look_s": 0.5},
    "paper": {"warm_up_s": 10.0, "time_s": 30.0, "first_look_s": None},
}


class Timing(Wire):
    """How long and under which conditions is timed; a profile presets the times.

    Times of rounds are of the session's clock, as CUDA-L2's own loops count them: with fresh values, emptied caches and
    checks, which take longer than many kernels. Rounds are counted by what they take with the reference, never by the
    candidate.
    """

    profile: Literal["quick", "standard", "paper"] = "quick"
    """0.5 + 5 s, 2 + 30 s, or the 10 + 30 s without early end of CUDA-L2 section 2.4."""
    warm_up_s: float = Field(0.5, ge=0, le=120, allow_inf_nan=False)
    """Seconds of alternating calls of both kernels before anything counts, per shape."""
    time_s: float = Field(5.0, gt=0, le=600, allow_inf_nan=False)
    """Seconds of rounds, per shape, if nothing ends them early."""
    first_look_s: float | None = Field(0.5, gt=0, le=600, allow_inf_nan=False)
    """After as many, or an eighth of `time_s`, the times are looked at and may end the rounds; null: never early."""
    min_rounds: int = Field(30, ge=6, le=100_000)
    """Rounds at least, whatever the time."""
    max_rounds: int = Field(20_000, ge=6, le=1_000_000)
    """Rounds at most."""
    precision: float = Field(0.03, gt=0, le=1)
    """Half-width of the speed-up's interval, as a share, at which it is narrow enough to stop."""
    gate_pairs: int = Field(30, ge=30, le=10_000)
    """Pairs of the reference with itself by which the device is found quiet; twice as many if need be."""
    mode: Literal["offline", "server"] = "offline"
    """Back to back, or with random gaps before the calls."""
    qps: float | None = Field(None, gt=0, le=1e6, allow_inf_nan=False)
    """Calls a second (`server`)."""
    cache: Literal["cold", "warm"] = "cold"
    """Whether caches are emptied before every call."""

    @model_validator(mode="before")
    @classmethod
    def _lay_over_profile(cls, document: Any) -> Any:
        if not isinstance(document, Mapping):
            return document
        return {**_TIMINGS.get(str(document.get("profile", "quick")), {}), **document}

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if (self.mode == "server") != (self.qps is not None):
            raise ValueError("qps is for mode 'server', which needs it")
        if self.min_rounds > self.max_rounds:
            raise ValueError("min_rounds is more than max_rounds")
        return self
