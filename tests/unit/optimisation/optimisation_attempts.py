"""Attempts at `solver` and `optimum` without a jail: a slot whose processes end at once as they are told."""

import os
from collections.abc import Callable
from typing import Any

import msgpack

from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch, Role
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.optimisation import optimum_program
from assay.verifiers.optimisation.problem import Problem, pack_problem, unpack_problem

REGISTRY = default_registry()
CALLED = [["scipy.optimize", "optimal", 11.0]]
TAGGED = "<think>x</think><model>m</model><python>\n{}\n</python>"

Ending = Callable[[Launch], tuple[FakeChild, bytes]]


class EndingSlot(FakeSlot):
    """Hands out children that have ended, and writes what they tell to their socket."""

    def __init__(self, ending: Ending) -> None:
        super().__init__()
        self._ending = ending

    def start(self, launch: Launch) -> FakeChild:
        """End it."""
        child, told = self._ending(launch)
        os.write(launch.fds[0], told)
        self.children = [child]
        return super().start(launch)


def running(stdout: str = "", calls: Any = CALLED, value: Any = None, **end: Any) -> EndingSlot:
    """A slot in which a program prints this, has these calls noted, and ends so."""
    child = FakeChild(end.get("exit_", Exit(0, None)), stdout.encode(), end.get("stderr", b""), end.get("cut_by"))
    told = end.get("told", b"started" + msgpack.packb([calls, value, end.get("lack", "")]))
    return EndingSlot(lambda _: (child, told))


def solving(status: str = "optimal", best: float | None = 11.0, problem: Problem | None = None) -> EndingSlot:
    """A slot in which HiGHS finds this; the model is that of the task, which is given as JSON, or `problem`."""

    def end(launch: Launch) -> tuple[FakeChild, bytes]:
        assert launch.role is Role.ORACLE
        _, plain, _ = msgpack.unpackb(launch.payload)
        found = pack_problem(problem or unpack_problem(plain))
        return FakeChild(Exit(0, None)), msgpack.packb([status, best, "9.9", found])

    return EndingSlot(end)


def saying(body: Any, cut_by: Outcome | None = None, exit_: Exit = Exit(0, None)) -> EndingSlot:  # noqa: B008 - frozen
    """A slot in which the process that solves says this, and ends so."""
    told = b"" if body is None else msgpack.packb(body)
    return EndingSlot(lambda _: (FakeChild(exit_, cut_by=cut_by), told))


FAULT, MISSING = optimum_program.Trouble.FAULT, optimum_program.Trouble.MISSING
MODEL = {
    "sense": "maximize",
    "variables": [{"name": "x", "high": 3}, {"name": "y"}],
    "objective": {"terms": {"x": 3, "y": 2}},
    "constraints": [
        {"terms": {"x": 1, "y": 1}, "sense": "<=", "rhs": 4},
        {"terms": {"x": 1, "y": 3}, "sense": "<=", "rhs": 6},
    ],
}


def solve(slot: FakeSlot, gold: Any = 11, completion: str = TAGGED.format("pass"), **fields: Any) -> Verdict:
    """Judge a program."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "solver", "gold_objective": gold, **fields})
    return REGISTRY.get("solver").judge(task, completion, slot)


def optimise(slot: FakeSlot, completion: str, **fields: Any) -> Verdict:
    """Judge values, by a verifier that remembers nothing yet."""
    registry = default_registry()
    given = {} if {"lp", "mps", "model"} & fields.keys() else {"model": MODEL}
    task = registry.parse_task({"id": "t", "verifier": "optimum", **given, **fields})
    return registry.get("optimum").judge(task, completion, slot)
