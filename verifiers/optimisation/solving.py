"""Having a task's model solved: in the oracle's jail, once per task content, remembered."""

from collections.abc import Sequence
from typing import Any, get_args  # Any: msgpack values

import msgpack

from assay.errors import InfraFault, TaskFault
from assay.extras import install_extras
from assay.sandboxes.interface import Launch, Role, Slot
from assay.verifiers.optimisation import optimum_program
from assay.verifiers.optimisation.linear_model import arrange
from assay.verifiers.optimisation.optimum_task import OptimumTask
from assay.verifiers.optimisation.problem import Solved, Status, unpack_problem
from assay.verifiers.processes import listen
from assay.verifiers.remembered import LastingFault, Settled
from assay.verifiers.scoring import end_of

_MOST_BYTES = 256 << 20
_REMEMBERED = 100_000
_REMEMBERED_BYTES = 128 << 20
_STATUSES: tuple[Status, ...] = get_args(Status)


class Solutions:
    """Solves models and remembers them, up to 128 MB. Thread-safe; two threads may both solve one that is new."""

    def __init__(self) -> None:
        self._known = Settled[Solved](_REMEMBERED, _REMEMBERED_BYTES, lambda solved: 1000 + solved.problem.size_bytes)

    def get(self, task: OptimumTask, slot: Slot) -> Solved:
        """Return a task's solved model. Raises TaskFault, InfraFault and Inconclusive."""
        return self._known.find(task.content_hash(), lambda: _solve(task, slot))


def _solve(task: OptimumTask, slot: Slot) -> Solved:
    launch = Launch(Role.ORACLE, optimum_program.__name__, _payload(task), task.part_limits, "highs", network=False)
    child, said = listen(slot, launch, _MOST_BYTES, "HiGHS")
    answer = _decoded(said) if child.cut_by is None else []
    if not answer:
        assert child.exit is not None
        _, ended = end_of(child.exit, child.cut_by, task.part_limits)
        raise TaskFault(f"the model was not solved: HiGHS's process {ended}")
    return _read(task, answer)


def _read(task: OptimumTask, answer: Sequence[Any]) -> Solved:
    match answer:
        case [optimum_program.Trouble.MISSING]:
            raise InfraFault(f"highspy is not installed where attempts run: {install_extras('solvers')}")
        case [optimum_program.Trouble.FAULT, message]:
            raise LastingFault(f"the task's model is of no use: {message}")
        case [status, best, version, problem] if status in _STATUSES:
            if status != task.expected:
                raise LastingFault(f"the model is {status}; `expected` says {task.expected}")
            return Solved(unpack_problem(problem), status, best, str(version))
        case _:
            raise InfraFault("the process that solves models answered with something else")


def _payload(task: OptimumTask) -> bytes:
    if task.model is not None:
        return optimum_program.pack_arrays(arrange(task.model), task.tolerances)
    language, text = ("lp", task.lp) if task.lp is not None else ("mps", task.mps)
    return optimum_program.pack_text(language, text or "", task.tolerances)


def _decoded(said: bytes) -> Sequence[Any]:
    try:
        answer = msgpack.unpackb(said, unicode_errors="surrogatepass")
    except ValueError:
        return []
    return answer if isinstance(answer, list) else []
