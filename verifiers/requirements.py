"""Which modules are here: what a task requires must be, before its attempts may be judged."""

import importlib.metadata
import importlib.util
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any  # Any: a document that is not typed yet


def missing_modules(names: Iterable[str]) -> list[str]:
    """Return those that cannot be imported here, without importing any."""
    return [name for name in names if not _is_here(name.partition(".")[0])]


def including(required: Sequence[str], modules: Iterable[str]) -> tuple[str, ...]:
    """Return what a task requires, with these modules in any case."""
    return (*required, *(name for name in modules if name not in required))


def document_including(document: Mapping[str, Any], modules: Iterable[str]) -> Mapping[str, Any]:
    """Return a task's document that requires these modules too; one that is wrong there is for others to refuse."""
    required = document.get("requires", ())
    if not isinstance(required, (list, tuple)):
        return document
    return {**document, "requires": [*including(required, modules)]}


def versions_in(origin: Mapping[str, str], distributions: Iterable[str]) -> dict[str, str]:
    """Return the versions of those distributions that attempts find, for the `versions` of results.

    `origin` is their slot's. Of a container's image only its digest is known here, which stands there anyway.
    """
    if origin:
        return {}
    return {name: version for name in distributions if (version := _version(name)) is not None}


@cache
def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_here(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False
