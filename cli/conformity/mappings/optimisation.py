"""Families of optimisation."""

from collections.abc import Mapping

from assay.cli.conformity.judging import Judge, agree
from assay.cli.conformity.lines import Document, FamilyLine
from assay.cli.conformity.mappings.mapping import Check, FamilyMapping
from assay.verifiers.optimisation.objective import overlap

_STAGE_1 = {"profile": "sirl/code-stage1", "weights": {"format": 1.0, "execution": 1.0, "accuracy": 1.0}}
_STAGE_2 = {"profile": "sirl/code-stage2", "weights": {"execution": 1.0, "accuracy": 1.0, "solution": 1.0}}
_WEIGHTS = {"format": 0.5, "execution": 1.0, "accuracy": 2.0}


def _solver(task: Document) -> Document:
    """`objective_contract` is prose, and our default; the limit holds for wall and CPU time."""
    limits = {"wall_s": task.get("timeout_s", 10), "cpu_s": 2 * task.get("timeout_s", 10)}
    document = {
        "verifier": "solver",
        "profile": "sirl/paper",
        "gold_objective": task["gold_objective"],
        "weights": _WEIGHTS | task.get("weights", {}),
        "limits": {"memory_mb": 1024, "processes": 256, **limits},
    }
    return document | ({"gold_solution": task["gold_solution"]} if "gold_solution" in task else {})


_SOLVER = FamilyMapping(
    _solver,
    profiles={
        "paper_s3_3_abs_0p01": {"profile": "sirl/paper"},
        "paper_s11_rel_1e_6": {"profile": "sirl/paper-relative"},
        "sirl_code_stage1": _STAGE_1,
        "sirl_code_stage2_without_solution_bonus": {
            **_STAGE_2,
            "weights": {"execution": 1.0, "accuracy": 1.0},
            "gold_solution": None,
        },
        "first_line": {"objective_line": "first"},
        "solver_call_required": {"solver_call": "called"},
    },
    hardened={"profile": "sirl/hardened"},
)


def _check_solver(line: FamilyLine, judge: Judge) -> list[str]:
    """Components of the file are weighted; ours are raw. Numbers go to the term of stage 2 itself."""
    if line.task.get("kind") == "stage2_bonus":
        return list(_check_bonus(line))
    weights = _WEIGHTS | line.task.get("weights", {})
    expected = dict(line.expected)
    if "components" in expected:
        weighted = {name: value for name, value in expected["components"].items() if weights.get(name)}
        expected["components"] = {name: value / weights[name] for name, value in weighted.items()}
    return _SOLVER(line.model_copy(update={"expected": expected}), judge)


def _check_bonus(line: FamilyLine) -> list[str]:
    """The program has run, whatever its objective: 1 + answer + answer times the overlap."""
    task = line.task
    answer = float(task["objective_correct"])
    terms = {"answer": answer, "code": 1.0, "solution": answer * overlap(task["gold_solution"], task["solution"])}
    found = {"reward": sum(terms.values()), **terms}
    expected = {"reward": line.expected["reward"], **line.expected.get("components", {})}
    return [
        f"{name}: expected {value}, got {found.get(name)}"
        for name, value in expected.items()
        if not agree(value, found.get(name))
    ]


FAMILIES: Mapping[str, Check] = {"solver": _check_solver}
"""By the name of the family."""
