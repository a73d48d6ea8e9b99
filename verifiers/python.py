"""The verifier `python`: programs and functions judged by tests that run where model-written code cannot reach."""

import json

from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.verifiers.checking import check_against_answers
from assay.verifiers.comparison import Comparison, parse_comparison
from assay.verifiers.extraction import read_completion
from assay.verifiers.python_task import FenceRule, OracleMode, PythonTask, Style
from assay.verifiers.scoring import Mark, Policy, Trace, conclude, refuse
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.casting import Casting
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.split.placement import Placement, Placements
from assay.verifiers.split.plan import Plan
from assay.verifiers.split.session import Session, SharingNeeded
from assay.verifiers.stdio import Case, python_runner, run_cases
from assay.verifiers.surroundings import Surroundings, surroundings_for

SHARED_FLAG = "shared_oracle"


class PythonVerifier:
    """Judges Python completions. Thread-safe: it remembers, per task content, only where the tests must run."""

    name = "python"
    version = "1"
    task_model = PythonTask

    def __init__(self) -> None:
        self._placements = Placements()

    def reward_range(self, task: PythonTask) -> tuple[float, float]:
        """Return 0 and 1: nothing passed, and all."""
        del task
        return 0.0, 1.0

    def judge(self, task: PythonTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        if task.test_count == 0:
            raise TaskFault("the task has no tests")
        sources = Sources(
            read_completion(completion),
            task.entry,
            task.names,
            task.prompt,
            task.signature or "",
            task.fence is FenceRule.REQUIRED,
        )
        if task.resolved_style is Style.STDIO:
            return _judge_program(task, sources, slot)
        return self._judge_function(task, sources, completion, slot)

    def _judge_function(self, task: PythonTask, sources: Sources, completion: str, slot: Slot) -> Verdict:
        place = self._place(task)
        try:
            verdict, used = _run_tests(task, sources, slot, place)
        except SharingNeeded:
            slot.clear()
            verdict, used = _run_tests(task, sources, slot, Placement.SHARED)
        is_gold = task.gold is not None and completion == task.gold
        if task.oracle is OracleMode.AUTO and is_gold and verdict.outcome is not Outcome.PASSED:
            slot.clear()
            second, _ = _run_tests(task, sources, slot, Placement.SHARED)
            if second.outcome is Outcome.PASSED:
                verdict, used = second, Placement.SHARED
        if task.oracle is not OracleMode.SHARED:
            self._placements.learn(task.content_hash(), used)
        return verdict

    def _place(self, task: PythonTask) -> Placement:
        if task.oracle is OracleMode.SHARED:
            return Placement.SHARED
        return self._placements.of(task.content_hash())


def _run_tests(task: PythonTask, sources: Sources, slot: Slot, place: Placement) -> tuple[Verdict, Placement]:
    """Return the verdict, and where the tests have run in the end."""
    shared = place is Placement.SHARED
    plan = Plan(
        style=str(task.resolved_style or ""),
        sources=tuple(task.test_texts),
        cases=tuple(
            (json.dumps([case.args or [], case.kwargs]), json.dumps(case.expected)) for case in task.cases or ()
        ),
        module=task.module,
        entry=sources.entry,
        prompt=task.prompt,
        wall_s=task.limits.wall_s,
        may_share=task.oracle is OracleMode.AUTO and not shared,
    )
    payload = pack_sources(sources, task.module, task.forbid)
    judged = Session(slot, Casting(plan, payload, task.limits, _surroundings(task, sources), place)).judge()
    trace = judged.trace
    if shared:
        trace = Trace(trace.stdout, trace.stderr, None, trace.usage, (SHARED_FLAG,))
    if task.weights and judged.refused is None and len(task.weights) != judged.count:
        raise TaskFault(f"{len(task.weights)} weights for {judged.count} tests")
    weights = tuple(task.weights[number] for number in judged.numbers) if task.weights and not judged.refused else ()
    return _conclude(task, judged.marks, judged.refused, trace, weights), judged.place


def _judge_program(task: PythonTask, sources: Sources, slot: Slot) -> Verdict:
    cases = [Case(case.stdin or "", case.stdout if task.checker is None else None) for case in task.cases or ()]
    comparison = parse_comparison(task.compare) if task.compare else Comparison()
    payload = pack_sources(sources, "__main__", task.forbid)
    run = python_runner(slot, payload, task.limits, _surroundings(task, sources))
    judged = run_cases(run, cases, task.limits, comparison)
    marks = judged.marks
    if task.checker is not None and judged.refused is None:
        texts = [(case.stdin or "", case.stdout or "") for case in task.cases or ()]
        marks = check_against_answers(slot, task.checker, texts, judged, task.limits)
    return _conclude(task, marks, judged.refused, judged.trace, task.weights)


def _conclude(
    task: PythonTask,
    marks: tuple[Mark, ...],
    refused: tuple[Outcome, str] | None,
    trace: Trace,
    weights: tuple[float, ...],
) -> Verdict:
    if refused is not None:
        return refuse(*refused, marks, trace)
    return conclude(marks, Policy(task.scoring, weights, task.pass_threshold), trace)


def _surroundings(task: PythonTask, sources: Sources) -> Surroundings:
    return surroundings_for((sources.reading.text, *task.all_texts))
