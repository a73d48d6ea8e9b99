"""The worker's side of a judge in a process of its own: started for one attempt, and gone with it."""

import logging
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol  # Any: msgpack values

import msgpack

from assay.details import Details
from assay.errors import Inconclusive, InfraFault, ServiceUnavailable, TaskFault
from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes.devices.health import HealthBook
from assay.sandboxes.devices.host_lock import HostLock, chosen_folder, make_folder, usual_folder
from assay.sandboxes.devices.lease import HostLeases, Lease, Leases, lost, timed_alone
from assay.sandboxes.interface import Slot
from assay.settings import Settings
from assay.verifiers.kernels import judge_program
from assay.verifiers.kernels.devices import device_name
from assay.verifiers.kernels.judge_program import Ending
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.rewards import Paid
from assay.verifiers.kernels.task import Backend, KernelTask
from assay.verifiers.rules.rule import Scored

log = logging.getLogger(__name__)

Known = Sequence[Sequence[Any]]
"""The reference's differences as they are handed from session to session: index of the shape, kind of values, size."""

_POLL_S = 1.0
_RENEW_S = 5.0
"""A lease is renewed that often."""
_BESIDE_S = 120.0
"""For starting, and for ending what runs."""
_END_S = 60.0
"""For a judge that was killed to be gone."""
_LEVELS = frozenset({Level.NAMESPACES, Level.LANDLOCK, Level.INSECURE})


@dataclass(frozen=True)
class Trialled:
    """What a session came to, and what is known of the reference from now on."""

    paid: Paid
    known: Known
    details: Details | None = None
    """How it was timed, for the result."""
    waited_s: float = 0.0
    """How long others had the device."""


@dataclass(frozen=True)
class Pair:
    """The two kernels of a session; `length` is that of the candidate's source, in the task's unit."""

    reference: Kernel
    candidate: Kernel
    length: int
    probe: Kernel
    """A kernel of ours, by which the device is known to be in order."""


class Measurer(Protocol):
    """Measures pairs of kernels."""

    def measure(self, task: KernelTask, pair: Pair, known: Known | None, slot: Slot) -> Trialled:
        """Return what the candidate came to. Raises TaskFault, Inconclusive and InfraFault."""
        ...


@dataclass(frozen=True)
class ProcessMeasurer:
    """Implements `Measurer` with a fresh process for each session; one session a device at a time.

    OpenBLAS has one thread there: others would take the cores that are timed.
    """

    leases: Leases = field(default_factory=HostLeases)
    cores: tuple[int, ...] = ()
    """Cores of the sessions on the processor; none means all that this process may use."""
    lock_folder: Path = field(default_factory=usual_folder)
    """Of this host's locks of devices and their health: one for all workers that may use them."""
    settings: Settings = field(default_factory=Settings)
    """Of this worker: which device of CUDA, and how it is opened."""
    wait_s: float = 600.0
    """For the device to become free; then the attempt is `inconclusive`."""

    def measure(self, task: KernelTask, pair: Pair, known: Known | None, slot: Slot) -> Trialled:
        """Return what the candidate came to. Raises TaskFault, Inconclusive and InfraFault."""
        device = device_name(task.backend, self.settings.cuda_device)
        if task.backend is Backend.CPU and slot.description not in _LEVELS:
            raise InfraFault(f"kernels are timed in jails on this machine, not at the level {slot.description}")
        make_folder(self.lock_folder)
        HealthBook(self.lock_folder).needs_probe(device)  # nothing is started for one in quarantine
        question = {
            "task": task.model_dump(mode="json", exclude_unset=True, exclude={"profile", "kernel", "metadata"}),
            "reference": judge_program.pack_kernel(pair.reference),
            "candidate": judge_program.pack_kernel(pair.candidate),
            "probe": judge_program.pack_kernel(pair.probe),
            "length": pair.length,
            "known": known,
            "level": slot.description,
            "cores": self.cores,
            "settings": self.settings.model_dump(mode="json", exclude_unset=True, exclude={"api_keys", "redis_url"}),
        }
        with _JudgeProcess(slot) as judge:
            answer = judge.ask(msgpack.packb(question), _BESIDE_S)
            if answer != judge_program.READY:
                return _read(answer, None)
            asked_s = time.monotonic()
            answer, lease, began_s = self._ask_alone(device, judge, task.limits.attempt_wall_s + _BESIDE_S, slot)
        return replace(_read(answer, lease), waited_s=began_s - asked_s)

    def _ask_alone(self, device: str, judge: "_JudgeProcess", most_s: float, slot: Slot) -> tuple[Any, Lease, float]:
        """Have the judge measure while the device is ours, and take in what it learned of the device.

        Returns its answer, the lease and when that began (monotonic).

        Whatever happens, the device is let go of only when the judge is gone.
        """
        book = HealthBook(self.lock_folder)

        def job(lease: Lease, lock: HostLock) -> tuple[Any, Lease, float]:
            began_s = time.monotonic()
            try:
                needs_probe = book.needs_probe(device)
                judge.hand_over(lock)
                answer = judge.ask(msgpack.packb(needs_probe), most_s, _Renewal(self.leases, lease))
            finally:
                judge.end()
            match answer:
                case [str(fault), _]:
                    book.note(device, fault)
            return answer, lease, began_s

        def pause(seconds: float) -> None:
            slot.wait((), seconds)

        return timed_alone(self.leases, device, self.lock_folder, self.wait_s, job, pause=pause)


def open_measurer(settings: Settings, leases: Leases | None = None) -> ProcessMeasurer:
    """Return the measurer that the settings ask for; without leases no other host has its devices."""
    return ProcessMeasurer(leases or HostLeases(), settings.timing_cores, chosen_folder(settings), settings)


@dataclass
class _Renewal:
    """Renews a lease every few seconds while there is something to wait for."""

    leases: Leases
    lease: Lease
    renewed_s: float = field(default_factory=time.monotonic)

    def see_to(self) -> None:
        """Renew it if it is time. Raises Inconclusive if it is somebody else's by now."""
        if time.monotonic() < self.renewed_s + _RENEW_S:
            return
        self.renewed_s = time.monotonic()
        try:
            is_ours = self.leases.renew(self.lease)
        except ServiceUnavailable as error:
            log.warning("lease_not_renewed device=%s error=%s", self.lease.device, error)  # its end will tell
            return
        if not is_ours:
            raise lost(self.lease)


class _JudgeProcess:
    """A judge's process and our end of its channel; it ends with the context."""

    def __init__(self, slot: Slot) -> None:
        self._slot = slot

    def __enter__(self) -> "_JudgeProcess":
        self._channel, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _start(theirs.fileno())
            except OSError as error:
                self._channel.close()
                raise InfraFault(f"the judge of kernels cannot be started: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Kill it and wait until it is gone. Idempotent. Raises InfraFault if it does not go; the lock is its then."""
        self._channel.close()
        self._process.kill()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired as error:
            raise InfraFault(f"the judge of kernels does not end (process {self._process.pid})") from error

    def hand_over(self, lock: HostLock) -> None:
        """Have it hold the lock too, so that the device stays locked if it outlives this process."""
        try:
            judge_program.send_lock(self._channel, lock.fd)
        except OSError as error:
            raise InfraFault("the judge of kernels ended before its turn") from error

    def ask(self, message: bytes, most_s: float, renewal: _Renewal | None = None) -> Any:
        """Send a message and return the next answer. Raises InfraFault if there is none within that time."""
        deadline_s = time.monotonic() + most_s
        try:
            judge_program.send(self._channel, message)
            while not self._slot.wait((self._channel,), _POLL_S):
                if time.monotonic() > deadline_s:
                    raise InfraFault(f"the judge of kernels gave no answer within {most_s:.0f} s")
                if renewal is not None:
                    renewal.see_to()
            return msgpack.unpackb(judge_program.receive(self._channel), strict_map_key=False)
        except (ConnectionError, BrokenPipeError) as error:
            raise InfraFault("the judge of kernels ended without an answer") from error


def _start(fd: int) -> "subprocess.Popen[bytes]":
    settings = ("env", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1")
    line = (*settings, sys.executable, "-P", "-m", judge_program.__name__, str(fd))
    return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(fd,))


def _read(answer: Any, lease: Lease | None) -> Trialled:
    match answer:
        case [_, [Ending.PAID, outcome, dict(terms), str(message), list(flags), list(known), dict(record)]]:
            scored = Scored(terms, message=message, flags=tuple(flags))
            return Trialled(Paid(scored, None if outcome is None else Outcome(outcome)), known, _held(record, lease))
        case [_, [Ending.TASK_FAULT, str(message)]]:
            raise TaskFault(message)
        case [_, [Ending.INCONCLUSIVE, str(message), list(flags)]]:
            raise Inconclusive(message, flags=tuple(flags))
        case [_, [Ending.INFRA_FAULT, str(message)]]:
            raise InfraFault(message)
        case _:
            raise InfraFault("the judge of kernels gave an answer that is none")


def _held(record: Mapping[str, Any], lease: Lease | None) -> Details:
    """Return a session's record with the fencing token of the lease that it was timed under."""
    details = Details.model_validate(record)
    if lease is None or details.device is None:
        return details
    return details.model_copy(update={"device": details.device.model_copy(update={"lease": lease.token})})
