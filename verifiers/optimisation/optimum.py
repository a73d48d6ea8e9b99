"""The verifier `optimum`: do the values of a completion satisfy the task's model, and is there nothing better?"""

from collections.abc import Mapping, Sequence

import numpy as np

from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.extraction import without_reasoning
from assay.verifiers.optimisation.answers import Answer, Place, read_answer
from assay.verifiers.optimisation.feasibility import examine
from assay.verifiers.optimisation.optimum_task import OptimumTask
from assay.verifiers.optimisation.problem import Floats, Problem, Solved
from assay.verifiers.optimisation.programs import Ask, run_program
from assay.verifiers.optimisation.sections import find_program
from assay.verifiers.optimisation.solving import Solutions
from assay.verifiers.rules.rule import Scored, Term, conclude
from assay.verifiers.scoring import MESSAGE_CHARACTERS

_TERMS = (
    Term("parsed", 0, 1, "1 if there is a value for every variable, or a word for none", weight=0.0),
    Term("feasible", 0, 1, "1 if rows, bounds and integrality hold within the tolerances", weight=0.0),
    Term("integral", 0, 1, "1 if integer variables have integers", weight=0.0),
    Term("optimal", 0, 1, "1 if feasible and within the gap of the best objective; else as `credit_gap` says"),
)
_NOTHING = dict.fromkeys((term.name for term in _TERMS), 0.0)
_TOLD = "objective"
"""A name beside the values that is passed over, unless a variable has it: the objective is worked out, not believed."""
_SHOWN = 10
_PRINTED = (Place.LAST_LINE, Place.LAST_OBJECT)


class OptimumVerifier:
    """Judges values against models that HiGHS has solved. Thread-safe: it remembers these."""

    name = "optimum"
    version = "1"
    task_model = OptimumTask

    def __init__(self) -> None:
        self._solutions = Solutions()

    def terms(self, task: OptimumTask) -> Sequence[Term]:
        """Return parsed, feasible, integral and optimal."""
        del task
        return _TERMS

    def judge(self, task: OptimumTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        solved = self._solutions.get(task, slot)
        if task.answer == "values":
            answer = read_answer(without_reasoning(completion), task.places, task.tag)
            verdict = conclude(task, _TERMS, judge_answer(task, solved, answer))
        else:
            verdict = _judge_program(task, solved, completion, slot)
        return verdict.model_copy(update={"versions": {"highs": solved.version}})


def _judge_program(task: OptimumTask, solved: Solved, completion: str, slot: Slot) -> Verdict:
    code = find_program(completion, fences=task.fences)
    if code is None or not code.strip():
        return conclude(task, _TERMS, Scored(_NOTHING, answered=False, message="there is no program"))
    ran = run_program(slot, code, Ask(task.part_limits, forbid=task.forbid))
    if ran.is_clean:
        scored = judge_answer(task, solved, read_answer(ran.output, _PRINTED, task.tag))
    else:
        scored = Scored(_NOTHING, message=ran.message[:MESSAGE_CHARACTERS])
    return ran.over(conclude(task, _TERMS, scored))


def judge_answer(task: OptimumTask, solved: Solved, answer: Answer) -> Scored:
    """Return the raw terms of an answer."""
    if answer.fault:
        return Scored(_NOTHING, answered=False, message=answer.fault)
    if answer.values is None or solved.best is None:
        return _judge_status(solved, answer)
    values = _in_order(task, solved.problem, answer.values)
    if isinstance(values, str):
        return Scored(_NOTHING, answered=False, message=values)
    found = examine(solved.problem, values, task.tolerances)
    optimal = _optimality(task, solved, found.objective) if found.feasible else 0.0
    terms = {
        "parsed": 1.0,
        "feasible": float(found.feasible),
        "integral": float(found.integral),
        "optimal": optimal,
    }
    message = found.fault or "the objective is not the best"
    return Scored(terms, message="" if optimal == 1.0 else message)


def _judge_status(solved: Solved, answer: Answer) -> Scored:
    """Judge where a word is due, or was given."""
    right = answer.values is None and answer.status == solved.status
    terms = dict.fromkeys(_NOTHING, float(right))
    given = answer.status or "a solution"
    return Scored({**terms, "parsed": 1.0}, message=f"{given} is not what the model has")


def _in_order(task: OptimumTask, problem: Problem, values: Mapping[str, float]) -> Floats | str:
    """Return the values in the order of the model's variables, or why there are none."""
    unknown = values.keys() - set(problem.names) - {_TOLD}
    if unknown:
        return f"the model has no variable {min(unknown)[:80]!r}: {_listed(problem.names)}"
    missing = next((name for name in problem.names if name not in values), None)
    if missing is not None and task.missing == "refused":
        return f"variable {missing!r} has no value"
    return np.array([values.get(name, 0.0) for name in problem.names])


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"it has {', '.join(name[:80] for name in names[:_SHOWN])}{more}"


def _optimality(task: OptimumTask, solved: Solved, objective: float | None) -> float:
    """Return 1 within the gap of the best objective, or beyond it on the better side; else what is credited."""
    if objective is None or solved.best is None:
        return 0.0
    worse = solved.best - objective if solved.problem.maximize else objective - solved.best
    if worse <= task.tolerances.gap_of(solved.problem, solved.best):
        return 1.0
    if task.credit_gap is None:
        return 0.0
    return max(0.0, 1.0 - worse / (task.credit_gap * (abs(solved.best) + 1.0)))
