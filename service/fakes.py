"""A verifier that does as it is told, and a judge without a sandbox: for tests of everything but judging.

The completion is a JSON object: `outcome` (default `passed`), `reward`, `sleep_s`, `stdout`, `kill` (the whole worker).
Anything else is `failed`. The rule `classification` and composites of both are there too: other keys of the object do
not matter, so that it can hold what they look for.
"""

import json
import os
import signal
import threading
from collections.abc import Mapping
from typing import Any, Literal  # Any: a completion is unparsed JSON

from pydantic import ConfigDict

from assay.outcomes import Outcome, has_null_reward
from assay.sandboxes.fakes import FakeSlot
from assay.sandboxes.interface import Slot
from assay.schema import TaskBase, TestResult, Verdict
from assay.service.assembly import Assembler, Assembly, reserve_for
from assay.settings import Settings
from assay.verifiers.composite.verifier import with_composite
from assay.verifiers.evaluate import Asked, CancelToken, Evaluation
from assay.verifiers.registry import Registry
from assay.verifiers.rules.classification import Classification
from assay.verifiers.rules.rule import RuleVerifier

FAKE = Assembler(registry="assay.service.fakes:fake_registry", assembly="assay.service.fakes:assemble_fake")
"""Names the fake registry and assembly."""
FAKE_LANGUAGES = ("python", "bash")
"""All that its workers say they have."""


class EchoTask(TaskBase):
    """A task of the fake verifier."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "echo-1", "verifier": "echo", "tests": ["a"]}]})

    verifier: Literal["echo"] = "echo"
    tests: tuple[str, ...]


class EchoVerifier:
    """Returns the verdict that the completion names."""

    name = "echo"
    version = "1"
    task_model = EchoTask

    def judge(self, task: EchoTask, completion: str, slot: Slot) -> Verdict:  # noqa: ARG002 - the protocol's
        """Return the verdict that the completion names."""
        return verdict_of(task, _read(completion))


class FakeJudge:
    """Judges without a sandbox; `sleep_s` ends early when the attempt is cancelled."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def ask(self, task: TaskBase, completion: str, cancel: CancelToken | None = None) -> Asked:
        """Ask nobody: none of its tasks needs it."""
        del task, completion, cancel
        return Asked({})

    def evaluate(
        self,
        task: TaskBase,
        completion: str,
        cancel: CancelToken | None = None,
        asked: Asked | None = None,  # noqa: ARG002 - the protocol's
    ) -> Evaluation:
        """Do what the completion says."""
        order = _read(completion)
        sleep_s = float(order.get("sleep_s", 0))
        if sleep_s:
            token, woken = cancel or CancelToken(), threading.Event()
            token.attach(woken.set)
            woken.wait(sleep_s)
            token.attach(None)
            if token.cancelled:
                verdict = Verdict(outcome=Outcome.CANCELLED, reward=None, message="cancelled by the caller")
                return Evaluation(verdict, sleep_s, "fake", EchoVerifier.version)
        if order.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        verifier = self._registry.get(task.verifier)
        return Evaluation(verifier.judge(task, completion, FakeSlot()), sleep_s, "fake", verifier.version)


def verdict_of(task: EchoTask, order: Mapping[str, Any]) -> Verdict:
    """Return the verdict that an order names, the same for every test."""
    outcome = Outcome(order.get("outcome", "passed"))
    default = 1.0 if outcome is Outcome.PASSED else 0.0
    reward = None if has_null_reward(outcome) else float(order.get("reward", default))
    tests = tuple(TestResult(outcome=outcome, name=name) for name in task.tests)
    return Verdict(outcome=outcome, reward=reward, tests=tests, stdout=str(order.get("stdout", "")))


def fake_registry() -> Registry:
    """Return a registry that knows `echo`, one rule, and composites."""
    return with_composite([EchoVerifier(), RuleVerifier(Classification())])


def assemble_fake(settings: Settings) -> Assembly:
    """Return an assembly that needs no sandbox."""
    slots = settings.slots or 4
    reserved = reserve_for(slots)
    registry = fake_registry()
    languages = dict.fromkeys(FAKE_LANGUAGES, "")
    judge = FakeJudge(registry)
    return Assembly(registry, judge, slots + reserved, reserved, lambda: None, languages=lambda: languages)


def _read(completion: str) -> Mapping[str, Any]:
    try:
        order = json.loads(completion)
    except ValueError:
        return {"outcome": "failed"}
    return order if isinstance(order, dict) else {"outcome": "failed"}
