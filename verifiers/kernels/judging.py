"""The worker's side of a judge in a process of its own: started for one attempt, and gone with it."""

import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol  # Any: msgpack values

import msgpack

from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.verifiers.kernels import judge_program
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.rewards import Paid
from assay.verifiers.kernels.task import Backend, KernelTask
from assay.verifiers.rules.rule import Scored

Known = Sequence[Sequence[Any]]
"""The reference's differences as they are handed from session to session: index of the shape, kind of values, size."""

_POLL_S = 1.0
_BESIDE_S = 120.0
"""For starting, and for ending what runs."""
_LEVELS = frozenset({Level.NAMESPACES, Level.LANDLOCK, Level.INSECURE})


@dataclass(frozen=True)
class Trialled:
    """What a session came to, and what is known of the reference from now on."""

    paid: Paid
    known: Known


@dataclass(frozen=True)
class Pair:
    """The two kernels of a session; `length` is that of the candidate's source, in the task's unit."""

    reference: Kernel
    candidate: Kernel
    length: int


class Measurer(Protocol):
    """Measures pairs of kernels."""

    def measure(self, task: KernelTask, pair: Pair, known: Known | None, slot: Slot) -> Trialled:
        """Return what the candidate came to. Raises TaskFault, Inconclusive and InfraFault."""
        ...


@dataclass(frozen=True)
class ProcessMeasurer:
    """Implements `Measurer` with a fresh process for each session; one session a machine at a time.

    OpenBLAS has one thread there: others would take the cores that are timed.
    """

    lock_folder: Path = field(default_factory=lambda: Path(tempfile.gettempdir()) / "assay-devices")
    wait_s: float = 600.0
    """For the device to become free; then the attempt is `inconclusive`."""

    def measure(self, task: KernelTask, pair: Pair, known: Known | None, slot: Slot) -> Trialled:
        """Return what the candidate came to. Raises TaskFault, Inconclusive and InfraFault."""
        if task.backend is not Backend.CPU:
            raise InfraFault("this worker has no CUDA device")
        if slot.description not in _LEVELS:
            raise InfraFault(f"kernels are timed in jails on this machine, not at the level {slot.description}")
        question = {
            "task": task.model_dump(mode="json", exclude_unset=True, exclude={"profile", "kernel", "metadata"}),
            "reference": pair.reference.artifact.content,
            "candidate": pair.candidate.artifact.content,
            "length": pair.length,
            "known": known,
            "level": slot.description,
            "folder": str(self.lock_folder),
            "wait_s": self.wait_s,
        }
        return _read(self._ask(msgpack.packb(question), self.wait_s + task.limits.attempt_wall_s + _BESIDE_S, slot))

    def _ask(self, question: bytes, most_s: float, slot: Slot) -> bytes:
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                process = _start(theirs.fileno())
            try:
                judge_program.send(ours, question)
                deadline_s = time.monotonic() + most_s
                while not slot.wait((ours,), _POLL_S):
                    if time.monotonic() > deadline_s:
                        raise InfraFault(f"the judge of kernels gave no answer within {most_s:.0f} s")
                return judge_program.receive(ours)
            except (ConnectionError, BrokenPipeError) as error:
                raise InfraFault("the judge of kernels ended without an answer") from error
            finally:
                process.kill()
                process.wait()


def _start(fd: int) -> "subprocess.Popen[bytes]":
    settings = ("env", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1")
    line = (*settings, sys.executable, "-P", "-m", judge_program.__name__, str(fd))
    return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(fd,))


def _read(answer: bytes) -> Trialled:
    match msgpack.unpackb(answer, strict_map_key=False):
        case [judge_program.PAID, outcome, dict(terms), str(message), list(flags), list(known)]:
            scored = Scored(terms, message=message, flags=tuple(flags))
            return Trialled(Paid(scored, None if outcome is None else Outcome(outcome)), known)
        case [judge_program.TASK_FAULT, str(message)]:
            raise TaskFault(message)
        case [judge_program.INCONCLUSIVE, str(message)]:
            raise Inconclusive(message)
        case [_, str(message)]:
            raise InfraFault(message)
        case _:
            raise InfraFault("the judge of kernels gave an answer that is none")
