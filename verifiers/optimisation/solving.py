"""Having a task's model solved: in the oracle's jail, once per task content, remembered."""

import socket
import threading
from collections import OrderedDict
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
from assay.verifiers.scoring import end_of

_POLL_S = 60.0
_PART_BYTES = 1 << 20
_MOST_BYTES = 256 << 20
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
        self._lock = threading.Lock()
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def get(self, task: OptimumTask, slot: Slot) -> Solved:
        """Return a task's solved model. Raises TaskFault, InfraFault and Inconclusive."""
        with self._lock:
            known = self._known.get(task.content_hash())
        if known is None:
            known = _solve(task, slot)
        self._remember(task, known)
        if known.solved is None:
            raise TaskFault(known.fault)
        return known.solved

    def _remember(self, task: OptimumTask, known: _Known) -> None:
        with self._lock:
            self._known[task.content_hash()] = known
            self._known.move_to_end(task.content_hash())
            while len(self._known) > 1 and sum(one.size_bytes for one in self._known.values()) > _REMEMBERED_BYTES:
                self._known.popitem(last=False)


def _solve(task: OptimumTask, slot: Slot) -> _Known:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            program = optimum_program.__name__
            launch = Launch(
                Role.ORACLE, program, _payload(task), task.limits, "highs", (theirs.fileno(),), network=False
            )
            child = slot.start(launch)
        child.start_clock()
        said = _listen(slot, child, ours)
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


def _listen(slot: Slot, child: Child, ours: socket.socket) -> bytes:
    """Return what a process says until it ends."""
    parts: list[bytes] = []
    size, open_ = 0, True
    while True:
        ended = child.exit is not None
        if not ended:
            slot.wait((ours,) if open_ else (), _POLL_S)
        while open_ and size <= _MOST_BYTES:
            try:
                part = ours.recv(_PART_BYTES, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            except ConnectionError:
                part = b""
            open_ = bool(part)
            parts.append(part)
            size += len(part)
        if size > _MOST_BYTES:
            child.kill()
            open_ = False
        if ended:
            return b"".join(parts)


def _decoded(said: bytes) -> Sequence[Any]:
    try:
        answer = msgpack.unpackb(said, unicode_errors="surrogatepass")
    except ValueError:
        return []
    return answer if isinstance(answer, list) else []


def _end(child: Child, limits: Limits) -> str:
    assert child.exit is not None
    return end_of(child.exit, child.cut_by, limits)[1]
