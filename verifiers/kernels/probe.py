"""Is a device in order? A kernel of ours is run on it, whose result is known."""

import secrets
from functools import cache

from assay.errors import InfraFault
from assay.sandboxes.devices.interface import Device, Failure
from assay.verifiers.kernels.buffers import FRAME_ALIGN
from assay.verifiers.kernels.generators import ValueProfile, random_stream
from assay.verifiers.kernels.inspection import inspect
from assay.verifiers.kernels.parties import Kernel, say, start
from assay.verifiers.kernels.problems import make_problem
from assay.verifiers.kernels.ready import ready
from assay.verifiers.kernels.task import Backend, KernelTask

_KERNEL = "axpy/float32"
_AXES = {"n": 4099}


@cache
def probe_task(backend: Backend) -> KernelTask:
    """Return the task whose reference is the probe's kernel."""
    shapes = {"public_shapes": [{"axes": _AXES}], "hidden_shapes": [], "policy": {"call_deadline_s": 10.0}}
    return KernelTask.model_validate(
        {"id": "probe", "verifier": "kernel", "backend": backend, **ready(_KERNEL, backend), **shapes}
    )


def probe(device: Device, kernel: Kernel, backend: Backend) -> str:
    """Return what is wrong with a device; empty if it computes what it should. Never raises."""
    task, secret = probe_task(backend), secrets.token_bytes(32)
    problem = make_problem(task, secret, ("probe",), _AXES, ValueProfile.TIMING)
    try:
        party = start(device, kernel, task, secrets.token_bytes(FRAME_ALIGN), is_ours=True)
        if isinstance(party, Failure):
            return f"the probe could not be started: {say(party)}"
        try:
            answered = party.exchange(problem, random_stream(secret, "frame"))
        finally:
            party.close()
    except InfraFault as fault:
        return f"the probe could not be run: {fault}"
    if isinstance(answered, Failure):
        return f"the probe failed: {say(answered)}"
    found = inspect(problem, answered.frame, answered.after, is_reference=True)
    return f"the probe's result is not right: {found.message}" if found.reason is not None else ""
