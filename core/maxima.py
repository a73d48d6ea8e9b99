"""The most that a task may ask for: its limits beside what the operator allows."""

from collections.abc import Mapping, Set
from typing import Any  # Any: documents from callers are unparsed JSON

from assay.errors import InvalidRequest
from assay.schema import Limits, TaskBase
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
_LARGEST = {
    name: next(bound.le for bound in Limits.model_fields[name].metadata if hasattr(bound, "le")) for name in BOUNDED
}
"""The most that any task may ask for."""


def check_maxima(task: TaskBase, settings: Settings, *, path: str) -> None:
    """Raise InvalidRequest, naming field, maximum and setting, if a limit is over what `settings` allow.

    A default counts too: where a maximum is below it, tasks must ask for less. Tasks that run nothing have no limits,
    but for the time of those that ask models. `path` is that of the limits.
    """
    for name, most in _exceeded(task, settings).items():
        asked = getattr(task.limits, name)
        raise _over(name, asked, most, path, origin="" if name in _given(task) else ", the default,")


def with_lowered_defaults(document: Mapping[str, Any], task: TaskBase, settings: Settings) -> Mapping[str, Any]:
    """Return the document of a task with each limit that it does not give at the maximum, if its default is over that.

    For callers that cannot know the defaults of tasks; what they do give is theirs, and `check_maxima` refuses it.
    """
    exceeded = _exceeded(task, settings)
    lowered = {name: most for name, most in exceeded.items() if name not in _given(task)}
    return {**document, "limits": {**document.get("limits", {}), **lowered}} if lowered else document


def check_asked(document: object, settings: Settings, *, path: str) -> None:
    """Raise what `check_maxima` does if a task's document asks for more than any server allows, and so than this one.

    Its type would name the larger of the two maxima, which is of no use to whoever mends the document.
    """
    limits = document.get("limits") if isinstance(document, Mapping) else None
    if not isinstance(limits, Mapping):
        return
    for name in BOUNDED:
        asked, most = limits.get(name), getattr(settings, f"max_{name}")
        if isinstance(asked, int | float) and asked > _LARGEST[name] > most:
            raise _over(name, asked, most, path)


def _exceeded(task: TaskBase, settings: Settings) -> dict[str, float]:
    """Return the maximum by the name of each limit of a task that is over it."""
    if not task.runs_something() and not task.asks_models():
        return {}
    names = BOUNDED if task.runs_something() else ("attempt_wall_s",)
    maxima: dict[str, float] = {name: getattr(settings, f"max_{name}") for name in names}
    return {name: most for name, most in maxima.items() if getattr(task.limits, name) > most}


def _given(task: TaskBase) -> Set[str]:
    return task.limits.model_fields_set if "limits" in task.model_fields_set else frozenset()


def _over(name: str, asked: float, most: float, path: str, origin: str = "") -> InvalidRequest:
    return InvalidRequest(
        f"{_shown(asked)}{origin} is more than this server allows, {_shown(most)}",
        path=f"{path}.{name}" if path else name,
        fix=f"ask for at most that, or raise ASSAY_MAX_{name.upper()}",
    )


def _shown(value: float) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
