"""Noting, in the candidate's own process, which solvers it called and what they said.

Known limit: the notes are made where the candidate's code runs, so code that sets out to forge them can. They tell a
program that never called a solver from one that did, and no more; `optimum` is for what no printed number can win.
"""

import functools
import importlib
import math
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any  # Any: arguments and answers of libraries

from assay.verifiers.optimisation.entries import (
    ENTRIES,
    FACTORIES,
    FAMILIES,
    NATIVE,
    READ_NATIVE,
    Entry,
    Read,
    Said,
    read_pyomo,
)
from assay.verifiers.optimisation.libraries import LIBRARIES
from assay.verifiers.requirements import missing_modules

MOST_CALLS = 200


class Calls:
    """The last calls of a process: (library, said, objective or None), oldest first."""

    def __init__(self) -> None:
        self.seen: deque[tuple[str, Said, float | None]] = deque(maxlen=MOST_CALLS)

    def watch(self, source: str) -> None:
        """Have the entries of all libraries that are here and named in a program's text noted from now on."""
        named = {
            module
            for library in LIBRARIES
            if library.is_named_in(source) and not missing_modules((library.package,))
            for module in library.modules
        }
        for entry in ENTRIES:
            if entry.module in named:
                self._wrap(entry)
        for library, families in FAMILIES.items():
            for family in families if library in named else ():
                self._wrap_family(family)
        for factory in FACTORIES if "pyomo.environ" in named else ():
            self._wrap_factory(factory)
        for package, method in NATIVE:
            if package in named:
                self._replace_model(package, method)

    def _wrap(self, entry: Entry) -> None:
        module = importlib.import_module(entry.module)
        owner = getattr(module, entry.owner, None) if entry.owner else module
        for name in dir(owner):
            solve = getattr(owner, name, None)
            if re.fullmatch(entry.names, name) and callable(solve) and not isinstance(solve, type | ModuleType):
                watched = self._named(entry.module, f"{entry.owner}.{name}" if entry.owner else name, solve, entry.read)
                setattr(owner, name, watched)
                home = sys.modules.get(solve.__module__ or "")
                if owner is module and vars(home or module).get(name) is solve:  # programs import from there as well
                    setattr(home, name, watched)

    def _wrap_family(self, family: Entry) -> None:
        """Have the methods of a class and of all that is derived from it noted, in whichever class they are defined."""
        try:
            ancestor = getattr(importlib.import_module(family.module), family.owner or "")
        except (ImportError, AttributeError):  # not all versions have all of them
            return
        for owner in {definer for heir in _derived(ancestor) for definer in heir.__mro__}:
            for name in [name for name in vars(owner) if re.fullmatch(family.names, name)]:
                place = f"{owner.__qualname__}.{name}"
                setattr(owner, name, self._named(owner.__module__, place, getattr(owner, name), family.read))

    def _named(self, module: str, place: str, solve: Callable[..., Any], read: Read) -> Callable[..., Any]:
        """Return a watched function under its own name: what is pickled for another process is found again by it."""
        watched = self.watched(module, solve, read)
        watched.__module__, watched.__qualname__ = module, place
        return watched

    def watched(self, library: str, solve: Callable[..., Any], read: Read) -> Callable[..., Any]:
        """Return a function that does what `solve` does, and has it noted."""

        @functools.wraps(solve)
        def call(*arguments: Any, **named: Any) -> Any:
            answer = solve(*arguments, **named)
            try:
                said, objective = read((*arguments, *named.values()), answer)
            except Exception:  # noqa: BLE001 - in the candidate's process: no answer of a library may change its course
                said, objective = Said.OTHER, None
            self.seen.append((library, said, _finite(objective)))
            return answer

        return call

    def _wrap_factory(self, module: str) -> None:
        """Solvers of pyomo are objects of many classes, which a factory makes."""
        try:
            factory: Any = type(importlib.import_module(module).SolverFactory)
        except (ImportError, AttributeError):  # not all of its versions have all of them
            return
        make = factory.__call__

        @functools.wraps(make)
        def call(*arguments: Any, **named: Any) -> Any:
            solver = make(*arguments, **named)
            solver.solve = self.watched("pyomo.environ", solver.solve, read_pyomo)
            return solver

        factory.__call__ = call

    def _replace_model(self, package: str, method: str) -> None:
        """Native classes take no new methods: a class derived from theirs stands in for it."""
        module: Any = importlib.import_module(package)
        methods = {method: self.watched(package, getattr(module.Model, method), READ_NATIVE[package])}
        module.Model = type("Model", (module.Model,), methods)


def _derived(ancestor: type) -> Iterator[type]:
    """Yield a class and all that is derived from it, some of them more than once."""
    yield ancestor
    heir: type
    for heir in ancestor.__subclasses__():
        yield from _derived(heir)


def _finite(value: Any) -> float | None:
    try:
        number = float(value.item() if getattr(value, "size", None) == 1 else value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
