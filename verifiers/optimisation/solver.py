"""The verifier `solver`: does the program of a completion run, and is the objective that it finds the right one?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.optimisation import objective
from assay.verifiers.optimisation.entries import SOLVED, Said
from assay.verifiers.optimisation.libraries import named_in
from assay.verifiers.optimisation.objective import Found
from assay.verifiers.optimisation.programs import Ask, Call, Ran, run_program
from assay.verifiers.optimisation.sections import find_first_program, find_program, find_sirl_program, is_in_order
from assay.verifiers.optimisation.solver_task import SolverTask
from assay.verifiers.requirements import versions_in
from assay.verifiers.rules.rule import Scored, Term, conclude
from assay.verifiers.rules.sirl_layout import deduct
from assay.verifiers.scoring import MESSAGE_CHARACTERS

_FORMAT = Term("format", 0, 1, "the sections of the text, as `format` counts them", weight=0.5)
_MAIN = (
    Term("execution", 0, 1, "1 if the program ran to its end with exit code 0"),
    Term("accuracy", 0, 1, "1 if its objective is the right one", weight=2.0),
)
_SOLUTION = Term("solution", 0, 1, "with the right objective, the share of the right values of variables")
_READERS = {
    "last": objective.last_objective,
    "first": objective.first_objective,
    "sirl": objective.sirl_objective,
}
_FINDERS = {"last": find_program, "first": find_first_program, "sirl": find_sirl_program}
_TOLD_NOTHING = "the program told no objective: a number is wanted, or the word infeasible or unbounded"
_HEARD = "(in the program's own process: those that it starts are not listened to)"
_OVERLAPS = {"values": objective.overlap, "nonzero": objective.strict_overlap}


@dataclass(frozen=True)
class _Finding:
    """What a run comes to beside the right objective: read off its output once, since that may be a megabyte."""

    objective: Found = None
    """What the program told; None if it told nothing or did not end well."""
    nearest: str = ""
    """The line of its output that nearly told something, or why nothing was returned, where nothing was told."""
    is_right: bool = False
    lack: str = ""
    """What the task asks of solvers and the program did not do; empty: nothing."""

    @property
    def shortfall(self) -> str:
        """Say what is wrong with the objective of a program that ended well; never what the right one is."""
        if self.is_right:
            return self.lack
        if self.objective is None:
            return f"{_TOLD_NOTHING}{f'; {self.nearest}' if self.nearest else ''}"
        return f"the objective {self.objective!r} is not the right one"


class SolverVerifier:
    """Runs the program once; every comparison happens here, never in its process."""

    name = "solver"
    version = "1"
    task_model = SolverTask

    def terms(self, task: SolverTask) -> Sequence[Term]:
        """Return format, execution and accuracy, and solution where the task has one."""
        format_ = () if task.format == "none" else (_FORMAT,)
        return (*format_, *_MAIN, *((_SOLUTION,) if task.gold_solution else ()))

    def judge(self, task: SolverTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        code = _FINDERS[task.program](completion, fences=task.fences)
        if code is None or not code.strip():
            terms = self._terms(task, completion, None, _find(task, None))
            nothing = Scored(terms, answered=False, message="there is no program")
            return conclude(task, self.terms(task), nothing)
        returned = task.returned_by if task.objective == "returned" else ""
        ask = Ask(task.limits, task.solver_call != "ignored", returned, task.forbid)
        verdict = self._conclude(task, completion, run_program(slot, code, ask))
        return verdict.model_copy(update={"versions": versions_in(slot.origin, named_in(code))})

    def _conclude(self, task: SolverTask, completion: str, ran: Ran) -> Verdict:
        finding = _find(task, ran)
        terms = self._terms(task, completion, ran, finding)
        answered = ran.outcome is not Outcome.NO_ANSWER
        message = ran.message or finding.shortfall or _named_low(task, terms, ran)
        return ran.over(conclude(task, self.terms(task), Scored(terms, answered, message[:MESSAGE_CHARACTERS])))

    def _terms(self, task: SolverTask, completion: str, ran: Ran | None, finding: _Finding) -> dict[str, float]:
        """Return the raw terms; a violation has none, and text without a program no more than its format."""
        names = [term.name for term in self.terms(task)]
        if ran is not None and ran.outcome is Outcome.VIOLATION:
            return dict.fromkeys(names, 0.0)
        layout = deduct(completion) if task.format == "deductions" else float(is_in_order(completion))
        terms = {"format": layout, "execution": float(ran is not None and ran.is_clean)}
        right = finding.is_right and not finding.lack
        terms |= {"accuracy": float(right), "solution": _overlap(task, ran) if right else 0.0}
        return {name: terms[name] for name in names}


def _find(task: SolverTask, ran: Ran | None) -> _Finding:
    """Return what a run comes to; None: there was nothing to run."""
    if ran is None or not ran.is_clean:
        return _Finding(is_right=_is_right(task, None, clean=False))
    told, nearest = ran.told.value, ran.told.lack
    if task.objective == "marker":
        told = _READERS[task.objective_line](ran.output, task.marker)
        line = objective.nearest_line(ran.output, task.marker) if told is None else ""
        nearest = f"the nearest line is {line!r}" if line else ""
    return _Finding(told, nearest, _is_right(task, told, clean=True), _lack(task, told, ran.told.calls))


def _is_right(task: SolverTask, found: Found, *, clean: bool) -> bool:
    if task.comparison == "sirl":
        number = None if isinstance(found, str) else found
        return objective.sirl_agrees(task.gold_objective, number, clean)
    tolerances = task.absolute_tolerance, task.relative_tolerance
    silent = task.no_objective == "silent"
    return clean and objective.agrees(task.gold_objective, found, *tolerances, silent=silent)


def _lack(task: SolverTask, found: Found, calls: Sequence[Call]) -> str:
    """Say what the task asks of solvers and the program did not do; empty: nothing."""
    if task.solver_call == "ignored":
        return ""
    if task.gold_objective is None or task.gold_objective == objective.UNBOUNDED:
        words = (Said.INFEASIBLE if task.gold_objective is None else Said.UNBOUNDED, Said.NONE)
        return "" if any(call.said in words for call in calls) else f"no solver said that there is no solution {_HEARD}"
    solved = [call for call in calls if call.said in SOLVED]
    if not solved:
        return f"no solver was called that found a solution {_HEARD}"
    if task.solver_call == "value" and not any(_found_by(task, found, call) for call in solved):
        return "no solver found this objective"
    return ""


def _found_by(task: SolverTask, found: Found, call: Call) -> bool:
    if not isinstance(found, float) or call.objective is None:
        return False
    tolerances = task.absolute_tolerance, task.relative_tolerance
    return objective.within(abs(found), abs(call.objective), *tolerances)


def _named_low(task: SolverTask, terms: Mapping[str, float], ran: Ran) -> str:
    """Say which terms of a program with the right objective are not at their most."""
    told = [f"{name} is {value:.3g} of 1" for name, value in terms.items() if value < 1.0]
    if "solution" in terms and objective.read_solution(ran.output, task.solution_marker) is None:
        told.append(f"no line {task.solution_marker!r} goes on with a list or an object of numbers that can be read")
    return "; ".join(told)


def _overlap(task: SolverTask, ran: Ran | None) -> float:
    if ran is None or not task.solution:
        return 0.0
    found = objective.read_solution(ran.output, task.solution_marker)
    return _OVERLAPS[task.solution_overlap](task.solution, found) if found else 0.0
