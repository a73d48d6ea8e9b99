"""The verifier `stdio`: programs in any language on standard input and output."""

from assay.errors import TaskFault
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.checking import check_outputs
from assay.verifiers.comparison import Comparison, parse_comparison
from assay.verifiers.languages.building import Builder, Refused
from assay.verifiers.languages.checkers import check_by_program
from assay.verifiers.languages.choosing import Wanted, choose_runner
from assay.verifiers.languages.task import CheckerProgram, StdioTask, as_bytes
from assay.verifiers.scoring import Mark, Policy, conclude, refuse
from assay.verifiers.stdio import Case, Judged, run_cases


class StdioVerifier:
    """Judges programs by what they write. Thread-safe: it remembers what was compiled, by content."""

    name = "stdio"
    version = "1"
    task_model = StdioTask

    def __init__(self, builder: Builder | None = None) -> None:
        self.builder = builder or Builder()
        """What compiles, and says which languages can be had."""

    def reward_range(self, task: StdioTask) -> tuple[float, float]:
        """Return 0 and 1: nothing passed, and all."""
        del task
        return 0.0, 1.0

    def judge(self, task: StdioTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        if not task.cases:
            raise TaskFault("the task has no cases")
        wanted = Wanted(task.language, task.fence, task.limits, as_bytes(task.files))
        ready = choose_runner(slot, self.builder, completion, wanted)
        if isinstance(ready, Refused):
            return refuse(ready.outcome, ready.message, [Mark(ready.outcome) for _ in task.cases], ready.trace)
        judged = run_cases(ready.run, _cases(task), task.limits, _comparison(task))
        marks = judged.marks if judged.refused is not None else self._checked(task, judged, slot)
        if judged.refused is not None:
            return refuse(*judged.refused, marks, judged.trace)
        return conclude(marks, Policy(task.scoring, task.weights, task.pass_threshold), judged.trace)

    def _checked(self, task: StdioTask, judged: Judged, slot: Slot) -> tuple[Mark, ...]:
        """Return the marks once the task's checker, if it has one, has seen the outputs."""
        if task.checker is None:
            return judged.marks
        texts = [(case.stdin, case.stdout) for case in task.cases]
        if isinstance(task.checker, CheckerProgram):
            return check_by_program(slot, self.builder, task.checker, texts, judged)
        return check_outputs(slot, task.checker, texts, judged, task.limits)


def _cases(task: StdioTask) -> list[Case]:
    return [Case(case.stdin, case.stdout if task.checker is None else None) for case in task.cases]


def _comparison(task: StdioTask) -> Comparison:
    return parse_comparison(task.compare) if task.compare else Comparison()
