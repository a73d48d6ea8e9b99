"""The verifier `stdio`: programs in any language on standard input and output."""

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.checking import check_outputs
from assay.verifiers.comparison import Comparison, parse_comparison
from assay.verifiers.extraction import read_completion
from assay.verifiers.languages.building import Builder, Built, Refused, Source, Start, run
from assay.verifiers.languages.checkers import check_by_program
from assay.verifiers.languages.reading import read_program
from assay.verifiers.languages.table import PYTHON
from assay.verifiers.languages.task import CheckerProgram, StdioTask
from assay.verifiers.python_task import FenceRule
from assay.verifiers.scoring import Mark, Policy, Trace, conclude, refuse
from assay.verifiers.spending import Budget
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.stdio import Case, Judged, Run, Runner, python_runner, run_cases
from assay.verifiers.surroundings import surroundings_for


class StdioVerifier:
    """Judges programs by what they write. Thread-safe: it remembers what was compiled, by content."""

    name = "stdio"
    version = "1"
    task_model = StdioTask

    def __init__(self) -> None:
        self.builder = Builder()
        """What compiles, and says which languages can be had."""

    def reward_range(self, task: StdioTask) -> tuple[float, float]:
        """Return 0 and 1: nothing passed, and all."""
        del task
        return 0.0, 1.0

    def judge(self, task: StdioTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        if not task.cases:
            raise TaskFault("the task has no cases")
        ready = self._make_ready(task, completion, slot)
        if isinstance(ready, Refused):
            return refuse(ready.outcome, ready.message, [Mark(ready.outcome) for _ in task.cases], Trace())
        judged = run_cases(ready, _cases(task), task.limits, _comparison(task))
        marks = judged.marks if judged.refused is not None else self._checked(task, judged, slot)
        if judged.refused is not None:
            return refuse(*judged.refused, marks, judged.trace)
        return conclude(marks, Policy(task.scoring, task.weights, task.pass_threshold), judged.trace)

    def _make_ready(self, task: StdioTask, completion: str, slot: Slot) -> Runner | Refused:
        fence_required = task.fence is FenceRule.REQUIRED
        if task.language == PYTHON and not task.files:
            sources = Sources(read_completion(completion), fence_required=fence_required)
            payload = pack_sources(sources, "__main__", ())
            return python_runner(slot, payload, task.limits, surroundings_for((sources.reading.text,)))
        source = read_program(completion, task.spoken, fence_required=fence_required)
        if source is None:
            return Refused(Outcome.NO_ANSWER, f"the completion holds no program in {task.language}")
        built = self.builder.build(slot, Source(task.spoken, source, _as_bytes(task.files)))
        return built if isinstance(built, Refused) else _runner(slot, built, task)

    def _checked(self, task: StdioTask, judged: Judged, slot: Slot) -> tuple[Mark, ...]:
        """Return the marks once the task's checker, if it has one, has seen the outputs."""
        if task.checker is None:
            return judged.marks
        texts = [(case.stdin, case.stdout) for case in task.cases]
        if isinstance(task.checker, CheckerProgram):
            return check_by_program(slot, self.builder, task.checker, texts, judged)
        return check_outputs(slot, task.checker, texts, judged, task.limits)


def _runner(slot: Slot, built: Built, task: StdioTask) -> Runner:
    def run_one(stdin: bytes, budget: Budget) -> Run:
        return run(slot, built, Start(stdin), task.limits, budget)

    return run_one


def _cases(task: StdioTask) -> list[Case]:
    return [Case(case.stdin, case.stdout if task.checker is None else None) for case in task.cases]


def _comparison(task: StdioTask) -> Comparison:
    return parse_comparison(task.compare) if task.compare else Comparison()


def _as_bytes(files: dict[str, str]) -> dict[str, bytes]:
    return {name: text.encode("utf-8", "surrogatepass") for name, text in files.items()}
