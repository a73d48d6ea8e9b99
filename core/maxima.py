"""The most that a task may ask for: its limits beside what the operator allows."""

from assay.errors import InvalidRequest
from assay.schema import TaskBase
from assay.settings import Settings

BOUNDED = (
    "wall_s",
    "cpu_s",
    "memory_mb",
    "processes",
    "output_bytes",
    "disk_mb",
    "files",
    "attempt_wall_s",
)
"""The limits that have a setting `max_<limit>`: those with which a task could hurt the host."""


def check_maxima(task: TaskBase, settings: Settings, *, path: str) -> None:
    """Raise InvalidRequest, naming field, maximum and setting, if a limit is over what `settings` allow.

    A default counts too: where a maximum is below it, tasks must ask for less. Tasks that run nothing have no limits,
    but for the time of those that ask models. `path` is that of the limits.
    """
    limits = task.limits
    if not task.runs_something() and not task.asks_models():
        return
    for name in BOUNDED if task.runs_something() else ("attempt_wall_s",):
        asked, most = getattr(limits, name), getattr(settings, f"max_{name}")
        if asked <= most:
            continue
        origin = "" if name in limits.model_fields_set else ", the default,"
        raise InvalidRequest(
            f"{_shown(asked)}{origin} is more than this server allows, {_shown(most)}",
            path=f"{path}.{name}" if path else name,
            fix=f"ask for at most that, or raise ASSAY_MAX_{name.upper()}",
        )


def _shown(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
