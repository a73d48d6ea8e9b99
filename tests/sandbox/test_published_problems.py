"""Problems of NL4OPT and IndustryOR: our models reach the data's objective through `solver` and through `optimum`."""

import json
from functools import cache
from pathlib import Path

import pytest
from optimisation_problems import PROBLEMS, Published
from solver_programs import LIBRARIES, program_for

from assay.outcomes import Outcome
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.optimisation.optimum_task import OptimumTask
from assay.verifiers.optimisation.solving import Solutions
from assay.verifiers.requirements import missing_modules

SHARED = Path(__file__).parents[3] / "shared"

pytestmark = [
    pytest.mark.jail,
    pytest.mark.shared,
    pytest.mark.skipif(
        bool(missing_modules(["scipy", "highspy", "pulp", "ortools", "pyomo", "cvxpy"])),
        reason="needs the extra `solvers`",
    ),
]
AGREED = [problem for problem in PROBLEMS if not problem.dispute]
DISPUTED = [problem for problem in PROBLEMS if problem.dispute]


@cache
def rows_of(file: str) -> list[dict[str, object]]:
    """The rows of a file of the data."""
    path = SHARED / "data" / f"orlm_{file}.jsonl"
    if not path.is_file():
        pytest.skip("no data folder beside the checkout")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gold_of(problem: Published) -> float | None:
    """The data's objective of a problem; None where it says that there is none."""
    answer = rows_of(problem.file)[problem.row]["en_answer"]
    return None if answer == "No Best Solution" else float(str(answer))


def library_for(problem: Published) -> str:
    """A library for a problem, by turns."""
    library = LIBRARIES[PROBLEMS.index(problem) % len(LIBRARIES)]
    return "scipy" if library == "cp_sat" and problem.continuous else library


def judge(pool: Pool, completion: str, **fields: object) -> Verdict:
    """Judge one completion."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", **fields})
    with pool.slot() as slot:
        return registry.get(task.verifier).judge(task, completion, slot)


def best_of(pool: Pool, problem: Published) -> float | None:
    """What HiGHS proves to be the best objective of our model."""
    task = OptimumTask.model_validate({"id": "t", "lp": problem.lp(), "expected": expected(problem)})
    with pool.slot() as slot:
        return Solutions().get(task, slot).best


def expected(problem: Published) -> str:
    """What the data says that a model is."""
    return "infeasible" if gold_of(problem) is None else "optimal"


def test_there_are_enough_of_them() -> None:
    """Twenty at least, of both files."""
    assert len(AGREED) >= 20
    assert {problem.file for problem in AGREED} == {"NL4OPT", "IndustryOR"}


@pytest.mark.parametrize("problem", AGREED, ids=lambda problem: problem.id)
def test_solver_reaches_the_objective(problem: Published, pool: Pool) -> None:
    """Within 0.01, with a solver that was called, in one library after the other."""
    completion = program_for(problem, library_for(problem))

    verdict = judge(pool, completion, verifier="solver", gold_objective=gold_of(problem))

    assert verdict.outcome is Outcome.PASSED, (verdict.message, verdict.stderr)


@pytest.mark.parametrize("problem", AGREED, ids=lambda problem: problem.id)
def test_optimum_reaches_the_objective(problem: Published, pool: Pool) -> None:
    """The program's values are optimal in the model as LP text, whose best objective is the data's."""
    completion = program_for(problem, library_for(problem))
    fields = {"verifier": "optimum", "answer": "program", "expected": expected(problem)}

    verdict = judge(pool, completion, lp=problem.lp(), **fields)

    assert verdict.outcome is Outcome.PASSED, (verdict.message, verdict.stderr)
    assert best_of(pool, problem) == (None if gold_of(problem) is None else pytest.approx(gold_of(problem), abs=0.01))
    assert judge(pool, completion, model=problem.document(), **fields).outcome is Outcome.PASSED


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_library_reaches_the_objective(library: str, pool: Pool) -> None:
    """The same mixed-integer model, and one where nothing is feasible."""
    for problem in (PROBLEMS[3], PROBLEMS[16]):
        completion = program_for(problem, library)
        verdict = judge(pool, completion, verifier="solver", gold_objective=gold_of(problem))
        assert verdict.outcome is Outcome.PASSED, (problem.id, verdict.message, verdict.stderr)


@pytest.mark.parametrize("problem", DISPUTED, ids=lambda problem: problem.id)
def test_disagreements_with_the_data(problem: Published, pool: Pool) -> None:
    """By more than any tolerance; `dispute` says why, in figures that can be checked by hand."""
    gold, best = gold_of(problem), best_of(pool, problem)

    assert gold is not None
    assert best is not None
    assert abs(best - gold) > 1
