"""Which modules are here: what a task requires must be, before its attempts may be judged."""

import importlib.util
from collections.abc import Iterable


def missing_modules(names: Iterable[str]) -> list[str]:
    """Return those that cannot be imported here, without importing any."""
    return [name for name in names if not _is_here(name.partition(".")[0])]


def _is_here(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False
