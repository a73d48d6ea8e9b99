"""Having a task's model solved: in the oracle's jail, once per task content, remembered."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal  # Any: msgpack values

import msgpack

from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Child, Launch, Role, Slot
from assay.schema import Limits
from assay.verifiers.optimisation import optimum_program
from assay.verifiers.optimisation.linear_model import arrange
from assay.verifiers.optimisation.optimum_task import OptimumTask
from assay.verifiers.optimisation.problem import Solved, unpack_problem
from assay.verifiers.processes import listen
from assay.verifiers.remembered import Remembered
from assay.verifiers.scoring import end_of

_MOST_BYTES = 256 << 20
_REMEMBERED = 100_000
_REMEMBERED_BYTES = 128 << 20
_STATUSES: tuple[Literal["optimal", "infeasible", "unbounded"], ...] = ("optimal", "infeasible", "unbounded")


@dataclass(frozen=True)
class _Known:
    """What is known of a task: its solution, or why it cannot be judged."""

    solved: Solved | None
    fault: str = ""

    @property
    def size_bytes(self) -> int:
        return 1000 + (self.solved.problem.size_bytes if self.solved else 0)


class Solutions:
    """Solves models and remembers them, up to 128 MB. Thread-safe; two threads may both solve one that is new."""

    def __init__(self) -> None:
        self._known = Remembered[_Known](_REMEMBERED, _REMEMBERED_BYTES)

    def get(self, task: OptimumTask, slot: Slot) -> Solved:
        """Return a task's solved model. Raises TaskFault, InfraFault and Inconclusive."""
        known = self._known.get(task.content_hash())
        if known is None:
            known = _solve(task, slot)
            self._known.put(task.content_hash(), known, known.size_bytes)
        if known.solved is None:
            raise TaskFault(known.fault)
        return known.solved


def _solve(task: OptimumTask, slot: Slot) -> _Known:
    launch = Launch(Role.ORACLE, optimum_program.__name__, _payload(task), task.limits, "highs", network=False)
    child, said = listen(slot, launch, _MOST_BYTES)
    if child.cut_by is Outcome.INCONCLUSIVE:
        raise Inconclusive("the machine was too busy to solve the task's model")
    answer = _decoded(said) if child.cut_by is None else []
    if not answer:
        ended = f"the model was not solved: HiGHS's process {_end(child, task.limits)}"
        if child.cut_by is None:
            raise TaskFault(ended)  # not remembered: it may have been the machine
        return _Known(None, ended)
    return _known(task, answer)


def _known(task: OptimumTask, answer: Sequence[Any]) -> _Known:
    match answer:
        case [optimum_program.MISSING]:
            raise InfraFault("solving needs the extra `solvers`: install 'assay[solvers]' where attempts run")
        case [optimum_program.FAULT, message]:
            return _Known(None, f"the model cannot be judged by: {message}")
        case [status, best, version, problem] if status in _STATUSES:
            if status != task.expected:
                return _Known(None, f"the model is {status}; `expected` says {task.expected}")
            return _Known(Solved(unpack_problem(problem), status, best, str(version)))
        case _:
            raise InfraFault("the process that solves models answered with something else")


def _payload(task: OptimumTask) -> bytes:
    if task.model is not None:
        return optimum_program.pack_arrays(arrange(task.model))
    language, text = ("lp", task.lp) if task.lp is not None else ("mps", task.mps)
    return optimum_program.pack_text(language, text or "")


def _decoded(said: bytes) -> Sequence[Any]:
    try:
        answer = msgpack.unpackb(said, unicode_errors="surrogatepass")
    except ValueError:
        return []
    return answer if isinstance(answer, list) else []


def _end(child: Child, limits: Limits) -> str:
    assert child.exit is not None
    return end_of(child.exit, child.cut_by, limits)[1]
