"""Attempts at the verifier `simulator`, with processes that say what a test has them say."""

import os
from collections.abc import Callable
from typing import Any

from assay.outcomes import Outcome
from assay.sandboxes.fakes import FakeChild, FakeSlot
from assay.sandboxes.interface import Exit, Launch, Slot
from assay.sandboxes.nowhere import Nowhere
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.simulator.interface import SimulatedRun
from assay.verifiers.simulator.parameters import RACE_CAR_PARAMETERS
from assay.verifiers.simulator.report import told_run
from assay.verifiers.simulator.task import SimulatorTask
from assay.verifiers.simulator.verifier import SimulatorVerifier

REGISTRY = default_registry()
CENTRE = {"goal": {"measure": "centerline"}}
MEASURED = {"baseline_rmse": 0.8, "simulated_rmse": 0.4}
Reply = bytes | Outcome | None
"""What a process says; or the limit that ends it; or None, if it dies without a word."""


def parse(**fields: Any) -> SimulatorTask:
    """A task of the verifier."""
    task = REGISTRY.parse_task({"id": "t", "verifier": "simulator", **fields})
    assert isinstance(task, SimulatorTask)
    return task


def judge(completion: str, slot: Slot | None = None, **fields: Any) -> Verdict:
    """Judge one completion; without a slot nothing can be run."""
    return SimulatorVerifier().judge(parse(**fields), completion, slot or Nowhere())


def answer(dictionary: object) -> str:
    """A completion in the layout that is asked for."""
    return f"<reasoning>slow</reasoning><answer>new_mpc_params = {dictionary}</answer>"


class TellingSlot(FakeSlot):
    """A slot whose processes say what `reply` makes of their launch and its number."""

    def __init__(self, reply: Callable[[Launch, int], Reply]) -> None:
        super().__init__()
        self._reply = reply

    def start(self, launch: Launch) -> FakeChild:
        """Start one."""
        reply = self._reply(launch, len(self.launches))
        if isinstance(reply, Outcome):
            self.children = [FakeChild(Exit(None, 9), cut_by=reply)]
        elif reply is None:
            self.children = [FakeChild(Exit(3, None))]
        else:
            os.write(launch.fds[0], reply)
            self.children = [FakeChild(Exit(0, None))]
        return super().start(launch)


def ran(rmse: float | None, crashed: str = "", **metrics: float) -> bytes:
    """What a process says of a run."""
    return told_run(SimulatedRun(rmse, crashed, metrics), RACE_CAR_PARAMETERS, {"simulator race_car": "9"})


def telling(*replies: Reply) -> TellingSlot:
    """A slot whose processes say these, one after the other."""
    return TellingSlot(lambda _, number: replies[number])
