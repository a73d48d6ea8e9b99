"""The verifier `simulator`: do a completion's parameters drive better than the default ones?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from assay.canonical import dump_line
from assay.errors import TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Usage, Verdict
from assay.verifiers.remembered import Settled
from assay.verifiers.rules.rule import Term, conclude
from assay.verifiers.scoring import MESSAGE_CHARACTERS, add_usage
from assay.verifiers.simulator.dictionary import Refused, answer_of, find_dictionary, settle
from assay.verifiers.simulator.driving import Lap, drive, drive_defaults
from assay.verifiers.simulator.interface import Parameter
from assay.verifiers.simulator.parameters import RACE_CAR_PARAMETERS
from assay.verifiers.simulator.report import Report
from assay.verifiers.simulator.reward import (
    CONTROL_TERMS,
    DECISION_TERMS,
    Given,
    score_control,
    score_decision,
)
from assay.verifiers.simulator.task import Mode, SimulatorTask

_REMEMBERED = 10_000  # baselines; about 2 kB each


@dataclass(frozen=True)
class Driven:
    """What the completion's parameters came to: a report, or why there is none, and the limit that ended it."""

    report: Report | None
    failure: str = ""
    cut_by: Outcome | None = None
    usage: Usage = field(default_factory=Usage)
    values: Mapping[str, float] | None = None


class SimulatorVerifier:
    """Judges parameters and decisions. Thread-safe: it remembers, per task content, how the defaults drive."""

    name = "simulator"
    version = "1"
    task_model = SimulatorTask

    def __init__(self) -> None:
        self._baselines = Settled[Report](_REMEMBERED)

    def terms(self, task: SimulatorTask) -> Sequence[Term]:
        """Return the terms of its kind."""
        return DECISION_TERMS if task.mode is Mode.DECISION else CONTROL_TERMS

    def judge(self, task: SimulatorTask, completion: str, slot: Slot) -> Verdict:
        """Return the verdict. Raises TaskFault, InfraFault and Inconclusive."""
        match task.mode:
            case Mode.DECISION:
                return conclude(task, DECISION_TERMS, score_decision(task, completion, _read(task, completion)))
            case Mode.MEASURED:
                return _judge_measured(task, completion)
            case Mode.RACE_CAR | Mode.PLUG_IN:
                baseline, usage = self._baseline(task, slot)
                given = find_dictionary(_read(task, completion))
                driven = _driven(task, slot, given, baseline)
                driven = replace(driven, usage=add_usage(usage, driven.usage))
                return _judge_driven(task, completion, given, baseline, driven)

    def _baseline(self, task: SimulatorTask, slot: Slot) -> tuple[Report, Usage]:
        """Return how the default parameters drive, and what it took now to know it. Raises as `drive_defaults`."""
        usage = Usage()

        def find() -> Report:
            nonlocal usage
            lap = drive_defaults(task, slot)
            assert lap.report is not None
            usage = lap.usage
            return lap.report

        known = self._baselines.find(task.baseline_key(), find)
        return known, usage


def _judge_measured(task: SimulatorTask, completion: str) -> Verdict:
    """Judge by errors that the task gives. Raises TaskFault where one is missing."""
    given = find_dictionary(_read(task, completion))
    assert task.baseline_rmse is not None  # the task model sees to it
    if task.simulated_rmse is None and given is not None:
        raise TaskFault("simulated_rmse is null: drive these parameters, and give their error")
    measured = task.simulated_rmse
    is_sentinel = task.failure == "lowest" and measured is not None and measured >= task.failure_rmse
    failed = given is None or is_sentinel
    errors = (task.baseline_rmse, None if failed else measured)
    return conclude(task, CONTROL_TERMS, score_control(task, completion, given, _known(task), errors))


def _read(task: SimulatorTask, completion: str) -> str:
    return completion if task.read == "whole" else answer_of(completion)


def _known(task: SimulatorTask) -> Mapping[str, Parameter]:
    """Return the known names; those that are not the race car's have no default here, and need none."""
    if task.known_parameters is None:
        return RACE_CAR_PARAMETERS
    unbounded = Parameter(0.0, 0.0, 0.0)
    return {name: RACE_CAR_PARAMETERS.get(name, unbounded) for name in task.known_parameters}


def _driven(task: SimulatorTask, slot: Slot, given: Given, baseline: Report) -> Driven:
    """Drive with the given parameters, if that can change anything. Raises InfraFault, Inconclusive."""
    if given is None:
        return Driven(None)
    values = settle(given, baseline.known)
    if isinstance(values, Refused):
        return Driven(None, values.reason)
    if values == _defaults(baseline):
        return Driven(baseline, values=values)
    lap: Lap = drive(task, slot, dict(values))
    return Driven(lap.report, lap.failure, lap.cut_by, lap.usage, values)


def _judge_driven(task: SimulatorTask, completion: str, given: Given, baseline: Report, driven: Driven) -> Verdict:
    assert baseline.rmse is not None
    rmse = None if driven.failure or driven.report is None else driven.report.rmse
    scored = score_control(task, completion, given, baseline.known, (baseline.rmse, rmse))
    verdict = conclude(task, CONTROL_TERMS, scored)
    outcome = driven.cut_by if driven.cut_by and verdict.outcome is Outcome.FAILED else verdict.outcome
    told = f"{scored.message}{driven.failure and ': '}{driven.failure}; {_compared(task, baseline, driven)}"
    return verdict.model_copy(
        update={
            "outcome": outcome,
            "message": told[:MESSAGE_CHARACTERS],
            "stdout": _protocol(baseline, driven),
            "usage": driven.usage,
            "versions": baseline.versions,
        }
    )


def _defaults(baseline: Report) -> Mapping[str, float]:
    return {name: one.default for name, one in baseline.known.items()}


def _compared(task: SimulatorTask, baseline: Report, driven: Driven) -> str:
    """Say what was compared: the goal, the default parameters, and what the completion changed of them."""
    goal = f"{task.goal.text}, " if task.goal is not None else ""
    defaults = _defaults(baseline)
    shown = ", ".join(f"{name} {value:g}" for name, value in defaults.items())
    if driven.values is None:
        return f"{goal}not driven; the defaults are {shown}"
    changed = ", ".join(f"{name} {value:g}" for name, value in driven.values.items() if value != defaults[name])
    return f"{goal}driven with {changed or 'nothing changed'}; the defaults are {shown}"


def _protocol(baseline: Report, driven: Driven) -> str:
    """Return all numbers of both laps as a line of JSON; it stands in the result's `stdout`."""
    mine = None if driven.report is None else driven.report.metrics
    return dump_line(
        {
            "defaults": {"parameters": _defaults(baseline), "rmse": baseline.rmse, "metrics": baseline.metrics},
            "given": {"parameters": driven.values, "failed": driven.failure, "metrics": mine},
        }
    )
