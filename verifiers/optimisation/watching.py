"""Noting, in the candidate's own process, which solvers it called and what they said.

Known limit: the notes are made where the candidate's code runs, so code that sets out to forge them can. They tell a
program that never called a solver from one that did, and no more; `optimum` is for what no printed number can win.
"""

import functools
import importlib
import math
import re
from collections import deque
from collections.abc import Callable
from types import ModuleType
from typing import Any  # Any: arguments and answers of libraries

from assay.verifiers.optimisation.entries import ENTRIES, FACTORIES, NATIVE, OTHER, READ_NATIVE, Entry, Read, read_pyomo
from assay.verifiers.optimisation.libraries import LIBRARIES
from assay.verifiers.requirements import missing_modules

MOST_CALLS = 200


class Calls:
    """The last calls of a process: (library, said, objective or None), oldest first."""

    def __init__(self) -> None:
        self.seen: deque[tuple[str, str, float | None]] = deque(maxlen=MOST_CALLS)

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
                watched = self.watched(entry.module, solve, entry.read)
                # what is pickled for another process is found again by these two
                watched.__module__ = entry.module
                watched.__qualname__ = f"{entry.owner}.{name}" if entry.owner else name
                setattr(owner, name, watched)

    def watched(self, library: str, solve: Callable[..., Any], read: Read) -> Callable[..., Any]:
        """Return a function that does what `solve` does, and has it noted."""

        @functools.wraps(solve)
        def call(*arguments: Any, **named: Any) -> Any:
            answer = solve(*arguments, **named)
            try:
                said, objective = read(arguments, answer)
            except Exception:  # noqa: BLE001 - in the candidate's process: no answer of a library may change its course
                said, objective = OTHER, None
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


def _finite(value: Any) -> float | None:
    try:
        number = float(value.item() if getattr(value, "size", None) == 1 else value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None
