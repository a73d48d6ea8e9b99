"""A worker as the service has it, with the attacks' programs as its attempts: one JSON line in, one out.

Run as `python attacked_worker.py ORDER WORLD`, inside the namespaces that `throwaway.py` made.
"""

import importlib
import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import watching
from attack import hide
from places import ContainersPlace, NamespacesPlace
from throwaway import with_world

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Verdict
from assay.settings import load_settings, override
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import CancelToken, Evaluator
from assay.verifiers.python_task import PythonTask
from assay.verifiers.run import RunTask, RunVerifier

_BESIDE_LIMITS = {"wall_s": 60, "cpu_s": 60}
_END_S = 60.0


class Attacked:
    """The pool under attack and the ways to run something in it."""

    def __init__(self, order: dict[str, Any], world: dict[str, Any]) -> None:
        module, _, name = order["opener"].partition(":")
        settings = override(load_settings(), {"slots": 2, "data_dir": order["data_dir"], **order["settings"]})
        self._pool = getattr(importlib.import_module(module), name)(settings)
        self._evaluator = Evaluator(default_registry(), self._pool, retries=0)
        self._world = {**world, "worker": os.getpid()}
        self._place = NamespacesPlace() if world["apart"] else ContainersPlace(world["session"])

    def run(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run programs one after another in one slot, then `after`, an honest one; `beside` runs in another slot."""
        cancel = CancelToken()
        beside = threading.Thread(target=self._run_beside, args=(asked["beside"], cancel))
        if asked["beside"]:
            beside.start()
            watching.wait_for("victim", self._place.named)  # not that of another suite on this machine
        try:
            with self._pool.slot() as slot:
                verdicts = []
                for source, limits in [*((s, asked["limits"]) for s in asked["sources"]), (asked["after"], {})]:
                    task = RunTask.model_validate({"id": "hostile", "verifier": "run", "limits": limits})
                    text = with_world(source, self._world)
                    verdicts.append(self._judge(task, hide(text) if asked["hidden"] else text, slot))
                    slot.clear()
        finally:
            cancel.cancel()
            if asked["beside"]:
                beside.join()
        states = {name: watching.state(self._world[name]) for name in ("neighbour", "worker", "session")}
        *runs, after = map(_report, verdicts)
        return {"runs": runs, "after": after, "states": states, "alive": self._place.named("outlive")}

    def _judge(self, task: RunTask, text: str, slot: Slot) -> Verdict:
        try:
            return RunVerifier().judge(task, text, slot)
        except InfraFault as error:
            return Verdict(outcome=Outcome.INFRA_ERROR, reward=None, message=str(error))

    def judge(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Judge one completion against tests as the service does."""
        task = PythonTask.model_validate(asked["task"])
        return _report(self._evaluator.evaluate(task, asked["completion"]).verdict)

    def count(self, _: dict[str, Any]) -> dict[str, Any]:
        """Count what attempts could leave behind."""
        return {"descriptors": len(os.listdir("/proc/self/fd")), **self._place.count()}

    def close(self, _: dict[str, Any]) -> dict[str, Any]:
        """End the pool; count what is left once hosts have had the time to hear of it."""
        self._pool.close()
        deadline_s = time.monotonic() + _END_S
        while "assay-host" in (left := self.count({})).get("processes", ()) and time.monotonic() < deadline_s:
            time.sleep(0.02)
        return left

    def _run_beside(self, source: str, cancel: CancelToken) -> None:
        task = RunTask.model_validate({"id": "beside", "verifier": "run", "limits": _BESIDE_LIMITS})
        self._evaluator.evaluate(task, with_world(source, self._world), cancel)


def _report(verdict: Verdict) -> dict[str, Any]:
    return verdict.model_dump(mode="json")


def main() -> None:
    """Open the pool, say so, and serve until the input ends."""
    attacked = Attacked(json.loads(Path(sys.argv[1]).read_text()), json.loads(sys.argv[2]))
    _say({"ready": True})
    for line in sys.stdin:
        asked = json.loads(line)
        _say(getattr(attacked, asked["do"])(asked))


def _say(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
