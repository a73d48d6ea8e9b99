"""The solver libraries that programs may use: which there are, which are here, and which a warm interpreter imports."""

import ctypes
import importlib
import importlib.metadata
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from assay.verifiers.requirements import missing_modules


@dataclass(frozen=True)
class Library:
    """A distribution, the modules of it that programs import, and what a text that uses them holds."""

    distribution: str
    word: str
    modules: tuple[str, ...]
    light: bool = False
    """Imported where programs name no heavier library: these make a fork cost about 3 ms, all of them about 12 ms."""
    rare: bool = False
    """No warm interpreter imports it: whoever names it waits for that."""
    solves: bool = True
    """Whether it solves anything itself."""

    @property
    def package(self) -> str:
        """The name that a program imports."""
        return self.modules[0].partition(".")[0]

    def is_named_in(self, program: str) -> bool:
        """Whether a program's text may use it."""
        return self.word in program and self.package in program

    def version(self) -> str | None:
        """Return the version that is installed here, or None."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None


LIBRARIES = (
    Library("numpy", "numpy", ("numpy",), light=True, solves=False),
    Library("scipy", "scipy", ("scipy.optimize", "scipy.sparse"), light=True),
    Library("scipy", "csgraph", ("scipy.sparse.csgraph",), rare=True),
    Library("highspy", "highspy", ("highspy",), light=True),
    Library("pulp", "pulp", ("pulp",), light=True),
    Library("ortools", "pywraplp", ("ortools.linear_solver.pywraplp",), light=True),
    Library("ortools", "cp_model", ("ortools.sat.python.cp_model",)),
    Library("ortools", "model_builder", ("ortools.linear_solver.python.model_builder",), rare=True),
    Library("ortools", "mathopt", ("ortools.math_opt.python.mathopt",), rare=True),
    Library("ortools", "pywrapcp", ("ortools.constraint_solver.pywrapcp",), rare=True),
    Library("ortools", "min_cost_flow", ("ortools.graph.python.min_cost_flow",), rare=True),
    Library("ortools", "max_flow", ("ortools.graph.python.max_flow",), rare=True),
    Library("ortools", "linear_sum_assignment", ("ortools.graph.python.linear_sum_assignment",), rare=True),
    Library("ortools", "knapsack_solver", ("ortools.algorithms.python.knapsack_solver",), rare=True),
    Library("ortools", "pdlp", ("ortools.pdlp.python.pdlp",), rare=True),
    Library("pandas", "pandas", ("pandas",), solves=False),
    Library("pyomo", "pyomo", ("pyomo.environ", "pyomo.contrib.appsi.solvers.highs")),
    Library("cvxpy", "cvxpy", ("cvxpy",)),
    Library("gurobipy", "gurobipy", ("gurobipy",)),
    Library("pyscipopt", "pyscipopt", ("pyscipopt",)),
    Library("coptpy", "coptpy", ("coptpy",)),
)
"""In order of frequency in programs; the last three are optional beyond the extra `solvers`."""

OPTIONAL = ("gurobipy", "pyscipopt", "coptpy")
"""Distributions that the extra `solvers` does not bring."""

NEEDED = ("scipy", "highspy")
"""What a worker must have before it takes a task whose programs call solvers."""


def preload(libraries: Iterable[Library]) -> None:
    """Import what is here of these. Nothing is solved: solvers start threads, and the warm interpreter has but one."""
    with _symbols_kept_apart():
        for library in libraries:
            if not missing_modules((library.package,)):
                for module in library.modules:
                    importlib.import_module(module)


@contextmanager
def _symbols_kept_apart() -> Iterator[None]:
    """Have what is imported meanwhile load no shared library for all others to find their symbols in.

    pulp 3.3 loads highspy's that way, for an extension of its own that it does not bring, and then OR-Tools calls into
    it instead of its own HiGHS of another version, which ends in SIGSEGV. Not thread-safe: a warm interpreter has one
    thread.
    """
    shared = ctypes.RTLD_GLOBAL
    ctypes.RTLD_GLOBAL = ctypes.RTLD_LOCAL  # type: ignore[misc]  # a constant, to type checkers
    try:
        yield
    finally:
        ctypes.RTLD_GLOBAL = shared  # type: ignore[misc]


def named_in(program: str) -> tuple[str, ...]:
    """Return the distributions whose packages a program's text names, each once."""
    words = _words(program)
    return tuple(dict.fromkeys(one.distribution for one in LIBRARIES if one.package in words))


def names_heavy(program: str) -> bool:
    """Whether a program's text names a library that only the heavier warm interpreter imports."""
    words = _words(program)
    return any(one.word in words for one in LIBRARIES if not one.light and not one.rare)


def _words(program: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", program))


def found_here() -> dict[str, str | None]:
    """Return the version of each library that solves something, by distribution; None if it is not installed here."""
    return {library.distribution: library.version() for library in LIBRARIES if library.solves}
