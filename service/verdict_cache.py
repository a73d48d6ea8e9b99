"""Verdicts that a worker remembers: equal work of a batch that allows it is answered without running again."""

import hashlib
from dataclasses import replace

from assay.outcomes import Outcome
from assay.schema import TaskBase
from assay.verifiers.evaluate import Evaluation
from assay.verifiers.remembered import Remembered

_REMEMBERED = 4096
_LARGEST_CHARACTERS = 20_000  # of captured output: what is remembered stays small
REPEATABLE = frozenset(
    {Outcome.PASSED, Outcome.FAILED, Outcome.NO_ANSWER, Outcome.COMPILE_ERROR, Outcome.RUNTIME_ERROR, Outcome.VIOLATION}
)
"""Outcomes that do not depend on how busy the machine was."""


class VerdictCache:
    """Remembers evaluations by task content and completion, least recently used ones dropped. Thread-safe."""

    def __init__(self, capacity: int = _REMEMBERED) -> None:
        self._known = Remembered[Evaluation](capacity)

    def recall(self, task: TaskBase, completion: str) -> Evaluation | None:
        """Return what is known about equal work, with the run time that it took this time: none."""
        found = self._known.get(_key(task, completion))
        return None if found is None else replace(found, run_s=0.0)

    def learn(self, task: TaskBase, completion: str, evaluation: Evaluation) -> None:
        """Remember an evaluation if equal work would be judged alike at any time."""
        if task.is_timed():
            return
        verdict = evaluation.verdict
        tests = {test.outcome for test in verdict.tests}
        if verdict.outcome not in REPEATABLE or not tests <= REPEATABLE:
            return
        if len(verdict.stdout) + len(verdict.stderr) > _LARGEST_CHARACTERS:
            return
        self._known.put(_key(task, completion), evaluation)


def _key(task: TaskBase, completion: str) -> str:
    return f"{task.content_hash()} {hashlib.sha256(completion.encode('utf-8', 'surrogatepass')).hexdigest()}"
