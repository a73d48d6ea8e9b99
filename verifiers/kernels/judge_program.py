"""The judge of one attempt, in a process of its own: nobody else's threads take its turn while it times.

It opens jails of its own, waits until the device is free, measures, and says what that came to on the socket whose
number is its one argument. It ends with the worker that started it. The secret is drawn here and never leaves.
"""

import os
import secrets
import socket
import struct
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any  # Any: msgpack values

import msgpack

from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.levels import Level
from assay.sandboxes.backends import open_pool
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.devices.interface import Artifact, Form
from assay.sandboxes.devices.lease import host_lock
from assay.settings import Settings, load_settings, override
from assay.verifiers.kernels.findings import Measured
from assay.verifiers.kernels.generators import ValueProfile
from assay.verifiers.kernels.lint import lint
from assay.verifiers.kernels.measure import measure
from assay.verifiers.kernels.parties import Kernel
from assay.verifiers.kernels.rewards import pay
from assay.verifiers.kernels.session import Trial
from assay.verifiers.kernels.task import KernelTask

PAID, TASK_FAULT, INCONCLUSIVE, INFRA_FAULT = "paid", "task_fault", "inconclusive", "infra_fault"
"""What an answer begins with."""
LENGTH = struct.Struct("<Q")
"""Before every message: its bytes."""
SECRET_BYTES = 32
DEVICE = "cpu"
"""One timing job at a time on this machine's processor, whatever its number of cores: they share caches."""


def main() -> int:
    """Serve the socket named by the first argument, once."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    question = msgpack.unpackb(receive(channel), strict_map_key=False)
    threading.Thread(target=_end_with_worker, args=(channel,), daemon=True).start()
    send(channel, msgpack.packb(_answer(question)))
    return 0


def send(channel: socket.socket, message: bytes) -> None:
    """Send a message. Raises OSError."""
    channel.sendall(LENGTH.pack(len(message)) + message)


def receive(channel: socket.socket) -> bytes:
    """Return the next message. Raises ConnectionError if there is none."""
    return _exactly(channel, LENGTH.unpack(_exactly(channel, LENGTH.size))[0])


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


def _answer(question: Mapping[str, Any]) -> list[Any]:
    try:
        return [PAID, *_judge(question)]
    except TaskFault as fault:
        return [TASK_FAULT, str(fault)]
    except Inconclusive as busy:
        return [INCONCLUSIVE, str(busy)]
    except InfraFault as fault:
        return [INFRA_FAULT, f"{type(fault).__name__}: {fault}"]


def _judge(question: Mapping[str, Any]) -> list[Any]:
    """Return outcome (or None), terms, message, flags, and the reference's differences."""
    task = KernelTask.model_validate(question["task"])
    known = question["known"]
    if known is None and (faults := lint(task)):
        raise TaskFault(f"the task cannot be judged by: {faults[0]}")
    deadline_s = time.monotonic() + question["wait_s"]
    folder = Path(question["folder"])
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with host_lock(folder, DEVICE, deadline_s):
        finding = _measure(task, question)
    paid = pay(task.reward_rule, finding, question["length"])
    diffs = finding.reference_diffs if isinstance(finding, Measured) else {}
    scored = paid.scored
    return [paid.outcome, dict(scored.terms), scored.message, list(scored.flags), _packed(diffs)]


def _measure(task: KernelTask, question: Mapping[str, Any]) -> Any:
    known = question["known"]
    trial = Trial(
        task=task,
        name="attempt",
        secret=secrets.token_bytes(SECRET_BYTES),
        reference=Kernel(Artifact(Form.SHARED_OBJECT, question["reference"])),
        candidate=Kernel(Artifact(Form.SHARED_OBJECT, question["candidate"])),
        known_diffs=None if known is None else {(index, ValueProfile(name)): diff for index, name, diff in known},
    )
    pool = open_pool(_settings(Level(question["level"])))
    try:
        with pool.slot() as slot:
            device = CpuDevice(slot)
            try:
                return measure(trial, device)
            finally:
                device.close()
    finally:
        pool.close()


def _settings(level: Level) -> Settings:
    """Return the service's settings, for one slot at the level of the worker's own."""
    sandboxes = {Level.NAMESPACES: "local", Level.LANDLOCK: "landlock"}
    chosen: dict[str, object] = {"slots": 1, "insecure": level is Level.INSECURE}
    if level in sandboxes:
        chosen |= {"sandbox": sandboxes[level], "least_confinement": level}
    return override(load_settings(), chosen)


def _packed(diffs: Mapping[tuple[int, ValueProfile], float]) -> list[list[Any]]:
    return [[index, str(profile), diff] for (index, profile), diff in diffs.items()]


if __name__ == "__main__":
    sys.exit(main())
