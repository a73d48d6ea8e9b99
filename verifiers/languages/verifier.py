"""The verifier `stdio`: programs in any language on standard input and output."""

from dataclasses import replace

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.checking import check_against_answers
from assay.verifiers.comparison import Comparison, parse_comparison
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.checkers import Examiner, check_by_program
from assay.verifiers.languages.choosing import Ready, Wanted, choose_runner
from assay.verifiers.languages.folders import Reading, over_room, run_and_read
from assay.verifiers.languages.interactors import interact
from assay.verifiers.languages.table import LANGUAGES
from assay.verifiers.languages.task import CheckerProgram, StdioTask, as_bytes
from assay.verifiers.scoring import Mark, Policy
from assay.verifiers.spending import Budget
from assay.verifiers.stdio import Case, Judged, Run, Runner, run_cases


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
        ready = choose_runner(slot, self.builder, completion, _wanted(task))
        if task.interactor is not None:
            cases = [Case(case.stdin, case.stdout) for case in task.cases]
            interactor = Examiner(self.builder, task.interactor, "interactor")
            judged = interact(slot, interactor, ready, cases, task.limits)
        else:
            judged = run_cases(_runner(slot, ready, task), _cases(task), task.limits, _comparison(task))
        checked = replace(judged, marks=self._checked(task, judged, slot))
        verdict = checked.verdict(Policy(task.scoring, task.weights, task.pass_threshold))
        return verdict.model_copy(update={"versions": {**ready.versions, **self._versions(task, slot, judged)}})

    def _versions(self, task: StdioTask, slot: Slot, judged: Judged) -> dict[str, str]:
        """Return the version of what compiled or runs the task's own program, if that has run."""
        program = task.interactor or task.checker
        is_asked = task.interactor is not None or any(mark.outcome is Outcome.PASSED for mark in judged.marks)
        if not isinstance(program, CheckerProgram) or judged.refused is not None or not is_asked:
            return {}
        return {program.language: self.builder.check_offered(slot, LANGUAGES[program.language])}

    def _checked(self, task: StdioTask, judged: Judged, slot: Slot) -> tuple[Mark, ...]:
        """Return the marks once the task's checker, if it has one, has seen the outputs."""
        if task.checker is None:
            return judged.marks
        texts = [(case.stdin, case.stdout) for case in task.cases]
        if isinstance(task.checker, CheckerProgram):
            return check_by_program(slot, Examiner(self.builder, task.checker), texts, judged, task.limits)
        return check_against_answers(slot, task.checker, texts, judged, task.limits)


def _wanted(task: StdioTask) -> Wanted:
    lends = task.output_file is not None
    return Wanted(task.language, task.fence, task.limits, as_bytes(task.files), linked=task.link, lends_folder=lends)


def _runner(slot: Slot, ready: Ready, task: StdioTask) -> Runner:
    """Return what runs the program on an input: on standard input, or in a file of the task's."""
    start, inward, outward = ready.beside, task.input_file, task.output_file
    if start is None or inward is None or outward is None:
        return ready.run
    wanted = Reading((outward,), task.limits.output_bytes)

    def run(stdin: bytes, budget: Budget) -> Run:
        ran, left = run_and_read(slot, start({inward: stdin}), budget, wanted)
        written = replace(ready.read(ran), stdout=left.files.get(outward, b""))
        return over_room(written, left, wanted.most_bytes)

    return run


def _cases(task: StdioTask) -> list[Case]:
    return [Case(case.stdin, case.stdout if task.checker is None else None) for case in task.cases]


def _comparison(task: StdioTask) -> Comparison:
    return parse_comparison(task.compare) if task.compare else Comparison()
