"""Having a lap driven: one jailed process of the oracle for each, ended from outside at the task's limits."""

from dataclasses import dataclass

from assay.errors import InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Usage
from assay.verifiers.processes import listen
from assay.verifiers.remembered import LastingFault
from assay.verifiers.scoring import end_of
from assay.verifiers.simulator import program
from assay.verifiers.simulator.report import MOST_BYTES, Report, read_report
from assay.verifiers.simulator.task import Mode, SimulatorTask
from assay.verifiers.spending import share_of

PROGRAM = program.__name__
FLAVOUR = "simulator"

_PARTS = 2  # an attempt's wall time is for the lap of the defaults, where it is not known, and for the given one
_EXHAUSTED = frozenset({Outcome.TIMEOUT, Outcome.MEMORY_EXCEEDED, Outcome.OUTPUT_EXCEEDED})


@dataclass(frozen=True)
class Lap:
    """What one process came to: a report of its run, or the limit that ended it, with what that means."""

    report: Report | None
    usage: Usage
    cut_by: Outcome | None = None
    message: str = ""

    @property
    def failure(self) -> str:
        """Why the lap was not driven to its end; empty if it was."""
        return self.message if self.report is None else self.report.crashed


def drive_defaults(task: SimulatorTask, slot: Slot) -> Lap:
    """Drive with the default parameters. Raises TaskFault, InfraFault and Inconclusive if they cannot be driven."""
    lap = _drive(task, slot, None)
    if lap.report is not None:
        if lap.report.crashed:
            raise LastingFault(f"the default parameters fail on this task: {lap.report.crashed}")
        return lap
    if task.mode is Mode.RACE_CAR:
        raise TaskFault(f"limits are too small for a lap with the default parameters: it {lap.message}")
    raise InfraFault(f"the simulator {task.simulator} does not end with its default parameters: it {lap.message}")


def drive(task: SimulatorTask, slot: Slot, parameters: dict[str, float]) -> Lap:
    """Drive with these parameters; a limit that ends it is theirs to answer for. Raises InfraFault, Inconclusive."""
    try:
        return _drive(task, slot, parameters)
    except TaskFault as error:  # the defaults were driven with the same fields
        raise InfraFault(f"the simulator {task.simulator} no longer takes the task: {error}") from error


def _drive(task: SimulatorTask, slot: Slot, parameters: dict[str, float] | None) -> Lap:
    payload = program.pack_run(task.simulator, parameters, task.simulated_fields(), task.seed)
    limits = share_of(task.limits, _PARTS)
    launch = Launch(Role.ORACLE, PROGRAM, payload, limits, FLAVOUR, network=False)
    child, said = listen(slot, launch, MOST_BYTES, "a lap")
    assert child.exit is not None
    _, message = end_of(child.exit, child.cut_by, limits)
    if child.cut_by in _EXHAUSTED:
        return Lap(None, child.usage, child.cut_by, message)
    report = read_report(said) if child.cut_by is None else None
    if report is None:
        raise InfraFault(f"the simulator {task.simulator} told nothing that can be read, and {message}")
    match report.kind:
        case "ran":
            return Lap(report, child.usage)
        case "task":
            raise LastingFault(report.message)
        case "missing":
            raise InfraFault(report.message)
        case "fault":
            raise InfraFault(f"the simulator {task.simulator} failed: {report.message}")
