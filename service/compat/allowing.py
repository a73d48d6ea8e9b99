"""What calls are given beyond what they ask for, within what the operator allows."""

from typing import TypeVar

from pydantic import BaseModel

from assay.settings import Settings

Number = TypeVar("Number", int, float)


def allowed(wanted: Number, most: Number, *, asked: Number) -> Number:
    """Return `wanted` cut to `most`, but no less than `asked`.

    So a call is refused for what its caller has asked for, never for what was put on top of it; and it never gets less
    than it has asked for.
    """
    return max(asked, min(wanted, most))


def asked_or_default(asked: BaseModel, name: str, most: float, *, unit: float) -> float:
    """Return a field of a call, which is `unit` times what limits count: if it was not sent, no more than `most`."""
    value: float = getattr(asked, name)
    return value if name in asked.model_fields_set else min(value, most * unit)


def most_run_s(settings: Settings) -> float:
    """Return the longest that an operator lets a program run that did not ask for a time."""
    return min(settings.max_wall_s, settings.max_cpu_s, settings.max_attempt_wall_s)
