"""The solver libraries that programs may use: which there are, which are here, and which a warm interpreter imports."""

import importlib
import importlib.metadata
from collections.abc import Iterable
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

    def version(self) -> str | None:
        """Return the version that is installed here, or None."""
        try:
            return importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            return None


LIBRARIES = (
    Library("numpy", "numpy", ("numpy",), light=True, solves=False),
    Library("scipy", "scipy", ("scipy.optimize", "scipy.sparse"), light=True),
    Library("highspy", "highspy", ("highspy",), light=True),
    Library("pulp", "pulp", ("pulp",), light=True),
    Library("ortools", "pywraplp", ("ortools.linear_solver.pywraplp",), light=True),
    Library("ortools", "cp_model", ("ortools.sat.python.cp_model",)),
    Library("ortools", "model_builder", ("ortools.linear_solver.python.model_builder",), rare=True),
    Library("ortools", "mathopt", ("ortools.math_opt.python.mathopt",), rare=True),
    Library("ortools", "pywrapcp", ("ortools.constraint_solver.pywrapcp",), rare=True),
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
    for library in libraries:
        if not missing_modules((library.package,)):
            for module in library.modules:
                importlib.import_module(module)


def found_here() -> dict[str, str | None]:
    """Return the version of each library that solves something, by distribution; None if it is not installed here."""
    return {library.distribution: library.version() for library in LIBRARIES if library.solves}
