"""Modules over torch in the jail: KernelBench's `ModelNew` as a native kernel, and those of the ready tasks."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from assay.errors import Inconclusive
from assay.sandboxes.devices.cpu import CpuDevice
from assay.sandboxes.interface import Slot
from assay.sandboxes.jails import JailPool
from assay.settings import required_neighbours
from assay.verifiers.kernels.answers import read_offer
from assay.verifiers.kernels.building import Builder
from assay.verifiers.kernels.findings import Finding, Measured, Reason, Refused
from assay.verifiers.kernels.measure import check_reference, measure
from assay.verifiers.kernels.ready import NAMES
from assay.verifiers.kernels.session import Session, Trial
from assay.verifiers.kernels.task import KernelTask
from assay.verifiers.kernels.time_shares import TimeShares
from assay.verifiers.requirements import missing_modules

pytestmark = pytest.mark.jail
SECRET = b"a secret of the tests"
HEAD = "import torch\nimport torch.nn as nn\n\n\n"
HONEST = f"""{HEAD}
class ModelNew(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale

    def forward(self, x):
        return torch.softmax(self.scale * x, dim=-1)


def get_init_inputs():
    return [1.0]
"""


def forward(body: str) -> str:
    """A module whose `forward` does that to `x`."""
    return f"{HEAD}class ModelNew(nn.Module):\n    def forward(self, x):\n        {body}\n"


FORGES = forward(
    """import os
        for fd in range(3, 64):
            try:
                os.write(fd, b"correct")
            except OSError:
                continue
        return x"""
)


@pytest.fixture
def slot(pool: JailPool) -> Iterator[Slot]:
    """A slot where torch is installed."""
    if missing_modules(("torch",)):
        if "torch" in required_neighbours():
            pytest.fail("ASSAY_REQUIRE names torch, and it is not installed")
        pytest.skip("torch is not installed")
    with pool.slot() as lent:
        yield lent


def make_task(name: str, **fields: object) -> KernelTask:
    """The ready task of that name, in torch."""
    return KernelTask.model_validate({"id": "k", "verifier": "kernel", "kernel": name, "language": "torch", **fields})


@pytest.mark.parametrize("name", NAMES)
def test_the_references_are_right(slot: Slot, name: str) -> None:
    """At every size with every kind of values."""
    task = make_task(name)
    with ExitStack() as stack:
        reference = Builder().reference(task, slot)
        device = CpuDevice(slot)
        stack.callback(device.close)
        shares = TimeShares(task.limits.attempt_wall_s, device.now_s())
        session = Session(Trial(task, "t", SECRET, reference, reference), device, shares, stack)
        check_reference(session)

    assert len(session.reference_diffs) == len(task.shapes) * (len(task.checks) + 1)


def found(slot: Slot, source: str) -> Finding:
    """What becomes of a module beside the reference. Raises Inconclusive."""
    timing = {"warm_up_s": 0.02, "time_s": 0.1, "first_look_s": 0.05, "min_rounds": 6, "cache": "warm"}
    task = make_task("softmax/float32", checks=["normal", "large"], timing=timing)
    offered = read_offer(task, f"```python\n{source}```")
    assert offered is not None
    builder = Builder()
    built = builder.build(task, offered, slot)
    assert built.kernel is not None, built.message
    device = CpuDevice(slot)
    try:
        return measure(Trial(task, "attempt", SECRET, builder.reference(task, slot), built.kernel), device)
    finally:
        device.close()


def test_an_honest_module_is_right(slot: Slot) -> None:
    """It is made with its own `get_init_inputs`."""
    try:
        finding = found(slot, HONEST)
    except Inconclusive as busy:
        pytest.skip(f"the machine is too busy to time it: {busy}")

    assert isinstance(finding, Measured)


@pytest.mark.parametrize(
    ("source", "reason", "words"),
    [
        (forward("return x"), Reason.WRONG, "correctness 0"),
        (forward("return torch.zeros_like(x)"), Reason.WRONG, "y"),
        (forward("e = torch.exp(x); return e / e.sum(-1, keepdim=True)"), Reason.NONFINITE, "y"),
        (forward("return torch.softmax(x, -1)[:1]"), Reason.DIED, "status"),
        (forward("x.zero_(); return torch.softmax(x, -1)"), Reason.INPUT_MODIFIED, "x"),
        (forward("raise ValueError"), Reason.DIED, "status"),
        (forward("import os; os._exit(0)"), Reason.DIED, "status 0"),
        (FORGES, Reason.PROTOCOL, ""),
        (HEAD + "class Other(nn.Module):\n    pass\n# ModelNew\n", Reason.DIED, "could not be loaded"),
        ("def ModelNew(:\n", Reason.DIED, "could not be loaded"),
        (
            forward(
                "import threading; out = torch.empty_like(x);"
                " threading.Thread(target=lambda: out.copy_(x.softmax(-1))).start(); return out"
            ),
            Reason.DIED,
            "status",
        ),
    ],
)
def test_what_is_wrong_is_refused(slot: Slot, source: str, reason: Reason, words: str) -> None:
    """For its reason, as any native kernel is."""
    refused = found(slot, source)

    assert isinstance(refused, Refused)
    assert refused.reason is reason, refused
    assert words in str(refused)
