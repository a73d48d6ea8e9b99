"""What is noted of calls to solvers, with libraries that are stand-ins."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from assay.verifiers.optimisation.entries import Said
from assay.verifiers.optimisation.watching import MOST_CALLS, Calls


class GurobiLike:
    """Numbers what it says."""

    Status, ObjVal = 2, 11.0

    def optimize(self, callback: Any = None) -> None:
        """Solve."""
        self.callback = callback


class ScipLike:
    """Names what it says."""

    def optimize(self) -> None:
        """Solve."""

    def getStatus(self) -> str:
        """As SCIP does."""
        return "infeasible"


class CoptLike:
    """Numbers what it says, otherwise."""

    status, objval = 3, None

    def solve(self) -> None:
        """Solve."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Calls of a process in which three libraries with native models are."""
    for name, model in (("gurobipy", GurobiLike), ("pyscipopt", ScipLike), ("coptpy", CoptLike)):
        module = ModuleType(name)
        module.__dict__.update(Model=model, __spec__=SimpleNamespace())
        monkeypatch.setitem(sys.modules, name, module)
    return Calls()


def test_native_models_are_noted(calls: Calls) -> None:
    """A derived class stands in for theirs, and does what theirs does."""
    calls.watch("import gurobipy, pyscipopt, coptpy")
    gurobi: Any = sys.modules["gurobipy"]
    scip: Any = sys.modules["pyscipopt"]
    copt: Any = sys.modules["coptpy"]
    model = gurobi.Model()

    model.optimize("callback")
    scip.Model().optimize()
    copt.Model().solve()

    assert isinstance(model, GurobiLike)
    assert model.callback == "callback"
    noted = [("gurobipy", "optimal", 11.0), ("pyscipopt", "infeasible", None), ("coptpy", "unbounded", None)]
    assert list(calls.seen) == noted


def test_what_a_text_does_not_name_is_not_touched(calls: Calls) -> None:
    """Nor imported."""
    calls.watch("import numpy")

    assert sys.modules["gurobipy"].Model is GurobiLike


def test_notes_are_bounded_and_change_no_course() -> None:
    """The last ones stay; an answer that cannot be read is noted as such, an error is the program's own."""
    calls = Calls()
    solve = calls.watched("x", lambda value: value, lambda _, answer: (Said.OPTIMAL, answer))
    broken = calls.watched("x", lambda: 5, lambda *_: 1 / 0)

    for number in range(MOST_CALLS + 5):
        assert solve(number) == number
    assert solve(float("nan")) != 0
    assert broken() == 5

    assert len(calls.seen) == MOST_CALLS
    assert list(calls.seen)[-2:] == [("x", "optimal", None), ("x", "other", None)]
    raising = calls.watched("x", lambda: 1 / 0, lambda *_: (Said.OTHER, None))
    with pytest.raises(ZeroDivisionError):
        raising()


def test_heirs_are_noted_wherever_they_get_their_method(monkeypatch: pytest.MonkeyPatch) -> None:
    """From a class beside the ancestor too; the arguments may have names."""

    class Ancestor:
        pass

    class Beside:
        def actualSolve(self, lp: Any) -> int:
            lp.status = 1
            return 1

    class Heir(Beside, Ancestor):
        pass

    module = ModuleType("pulp")
    module.__dict__.update(LpSolver=Ancestor, LpProblem=type("LpProblem", (), {}), __spec__=SimpleNamespace())
    monkeypatch.setitem(sys.modules, "pulp", module)
    calls = Calls()
    problem = SimpleNamespace(status=0, objective=SimpleNamespace(value=lambda: 11.0))

    calls.watch("import pulp")
    Heir().actualSolve(lp=problem)

    assert [noted[1:] for noted in calls.seen] == [("optimal", 11.0)]
