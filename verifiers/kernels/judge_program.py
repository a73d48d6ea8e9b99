"""The judge of one attempt, in a process of its own: nobody else's threads take its turn while it times.

It says that it is ready, waits until the worker has the device for it, opens jails of its own, measures, and says what
that came to on the socket whose number is its one argument. It ends with the worker that started it. The secret is
drawn here and never leaves.
"""

import os
import secrets
import socket
import struct
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import Any  # Any: msgpack values

import msgpack

from assay.details import DeviceRecord
from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.levels import Level
from assay.sandboxes.backends import open_pool
from assay.sandboxes.devices.interface import Artifact, Device, Form
from assay.settings import Settings, override
from assay.verifiers.kernels.devices import open_cuda, open_processor
from assay.verifiers.kernels.findings import Finding, Measured, Reason, Refused
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.measure import measure
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.probe import probe
from assay.verifiers.kernels.records import record_session
from assay.verifiers.kernels.rewards import pay
from assay.verifiers.kernels.session import Trial
from assay.verifiers.kernels.task import Backend, KernelTask, Step, Tier

READY = "ready"
"""The whole of the first message where there is something to measure. The worker then hands the device's lock over,
and says whether to probe first."""
LENGTH = struct.Struct("<Q")
"""Before every message: its bytes."""
SECRET_BYTES = 32
_LOCK = b"l"
"""What goes with the lock's descriptor."""
_ABNORMAL = frozenset({Reason.DIED, Reason.DEADLINE, Reason.DEVICE, Reason.MEMORY})
"""Ends of candidates after which the device is probed."""


class Ending(StrEnum):
    """What an answer begins with: what a session came to."""

    PAID = "paid"
    TASK_FAULT = "task_fault"
    INCONCLUSIVE = "inconclusive"
    INFRA_FAULT = "infra_fault"


Answer = list[Any]
"""What it is (an `Ending`), and its fields."""


def main() -> int:
    """Serve the socket named by the first argument, once."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    try:
        question = msgpack.unpackb(receive(channel), strict_map_key=False)
        task = KernelTask.model_validate(question["task"])
        if question["known"] is None and (faults := lint(task)):
            send(channel, msgpack.packb([None, [Ending.TASK_FAULT, f"the task cannot be judged by: {faults[0]}"]]))
            return 0
        send(channel, msgpack.packb(READY))
        keep_lock(channel)
        probes_first = bool(msgpack.unpackb(receive(channel)))
    except ConnectionError:
        return 1  # the worker has ended, or has given up
    threading.Thread(target=_end_with_worker, args=(channel,), daemon=True).start()
    send(channel, msgpack.packb(_answer(task, question, probes_first)))
    return 0


def send(channel: socket.socket, message: bytes) -> None:
    """Send a message. Raises OSError."""
    channel.sendall(LENGTH.pack(len(message)) + message)


def receive(channel: socket.socket) -> bytes:
    """Return the next message. Raises ConnectionError if there is none."""
    return _exactly(channel, LENGTH.unpack(_exactly(channel, LENGTH.size))[0])


def send_lock(channel: socket.socket, fd: int) -> None:
    """Hand the descriptor of the device's lock over: it is locked until both sides have ended. Raises OSError."""
    socket.send_fds(channel, [_LOCK], [fd])


def keep_lock(channel: socket.socket) -> None:
    """Take the lock over, until this process ends. Raises ConnectionError if there is none."""
    said, fds, _, _ = socket.recv_fds(channel, len(_LOCK), 1, socket.MSG_CMSG_CLOEXEC)
    if said != _LOCK or len(fds) != 1:
        raise ConnectionError("the other side has ended")


def _exactly(channel: socket.socket, size: int) -> bytes:
    taken = bytearray()
    while len(taken) < size:
        part = channel.recv(min(size - len(taken), 2**20))
        if not part:
            raise ConnectionError("the other side has ended")
        taken += part
    return bytes(taken)


def _end_with_worker(channel: socket.socket) -> None:
    """End as soon as the other side hangs up, for whatever reason: the jails end with this process."""
    channel.recv(1)
    os._exit(1)


def _answer(task: KernelTask, question: Mapping[str, Any], probes_first: bool) -> list[Any]:
    """Return what the last probe found (None: nobody probed; empty: the device is in order), and the answer."""
    kernel = unpack_kernel(question["probe"])
    try:
        with _device(task, question) as device:
            fault = probe(device, kernel, task.backend) if probes_first else ""
            if fault:
                return [fault, [Ending.INFRA_FAULT, fault]]
            answer, is_suspect = _judged(task, question, device)
            if is_suspect:
                fault = probe(device, kernel, task.backend)
                answer = [Ending.INFRA_FAULT, f"{fault}; before, it said: {answer[:2]}"] if fault else answer
            return [fault if probes_first or is_suspect else None, answer]
    except Inconclusive as busy:
        return [None, [Ending.INCONCLUSIVE, str(busy), list(busy.flags)]]
    except InfraFault as fault:
        return [None, [Ending.INFRA_FAULT, f"{type(fault).__name__}: {fault}"]]


def _judged(task: KernelTask, question: Mapping[str, Any], device: Device) -> tuple[Answer, bool]:
    """Return the answer, and whether it makes the device suspect."""
    try:
        finding = measure(_trial(task, question), device)
    except Inconclusive as busy:
        return [Ending.INCONCLUSIVE, str(busy), list(busy.flags)], False
    except TaskFault as fault:
        return [Ending.TASK_FAULT, str(fault)], True
    except InfraFault as fault:
        return [Ending.INFRA_FAULT, f"{type(fault).__name__}: {fault}"], True
    return _paid(task, question, finding, device), isinstance(finding, Refused) and finding.reason in _ABNORMAL


def _paid(task: KernelTask, question: Mapping[str, Any], finding: Finding, device: Device) -> Answer:
    """Return outcome (or None), terms, message, flags, the reference's differences, and the record."""
    paid = pay(task.reward_rule, finding, question["length"])
    diffs = finding.reference_diffs if isinstance(finding, Measured) else {}
    scored = paid.scored
    told = DeviceRecord(name=device.facts.name, state=device.settle().labels)
    record = record_session(task, finding, told).model_dump(mode="json")
    return [Ending.PAID, paid.outcome, dict(scored.terms), scored.message, list(scored.flags), _packed(diffs), record]


def _trial(task: KernelTask, question: Mapping[str, Any]) -> Trial:
    known = question["known"]
    return Trial(
        task=task,
        name="attempt",
        secret=secrets.token_bytes(SECRET_BYTES),
        reference=unpack_kernel(question["reference"]),
        candidate=unpack_kernel(question["candidate"]),
        known_diffs=None if known is None else {(index, ValueProfile(name)): diff for index, name, diff in known},
    )


def pack_kernel(kernel: Kernel) -> list[Any]:
    """Return a kernel as it is sent."""
    plan = None if kernel.plan is None else [step.model_dump(mode="json") for step in kernel.plan]
    return [kernel.artifact.form, kernel.artifact.content, plan]


def unpack_kernel(packed: list[Any]) -> Kernel:
    """Return the kernel that was packed."""
    form, content, plan = packed
    steps = None if plan is None else tuple(map(Step.model_validate, plan))
    return Kernel(Artifact(Form(form), content), steps)


@contextmanager
def _device(task: KernelTask, question: Mapping[str, Any]) -> Iterator[Device]:
    if task.backend is Backend.CUDA:  # its runners have no jails, and no cores of their own
        with open_cuda(Settings.model_validate(question["settings"]), is_native=task.tier is Tier.NATIVE) as device:
            yield device
        return
    if question["cores"]:
        _settle_on(question["cores"])
    pool = open_pool(_settings(question["settings"], Level(question["level"])))
    try:
        with pool.slot() as slot, open_processor(slot) as device:
            yield device
    finally:
        pool.close()


def _settle_on(cores: list[int]) -> None:
    """Keep this process and all that it starts on these cores. Raises InfraFault if there are no such."""
    try:
        os.sched_setaffinity(0, cores)
    except OSError as error:
        raise InfraFault(f"kernels cannot be timed on the cores {cores} (ASSAY_TIMING_CORES): {error}") from error


def _settings(told: Mapping[str, Any], level: Level) -> Settings:
    """Return the worker's settings, for one slot at the level of the worker's own."""
    sandboxes = {Level.NAMESPACES: "local", Level.LANDLOCK: "landlock"}
    chosen: dict[str, object] = {"slots": 1, "insecure": level is Level.INSECURE}
    if level in sandboxes:
        chosen |= {"sandbox": sandboxes[level], "least_confinement": level}
    return override(Settings.model_validate(told), chosen)


def _packed(diffs: Mapping[tuple[int, ValueProfile], float]) -> list[list[Any]]:
    return [[index, str(profile), diff] for (index, profile), diff in diffs.items()]


if __name__ == "__main__":
    sys.exit(main())
