"""Judging completions of the verifier `python` in a pool's slots."""

from collections.abc import Callable

from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.python import PythonVerifier
from assay.verifiers.python_task import PythonTask

Judge = Callable[..., Verdict]


def judging(pool: Pool) -> Judge:
    """Return what judges a completion: `judge(completion, **task fields)`."""
    verifier, registry = PythonVerifier(), default_registry()

    def run(completion: str, **fields: object) -> Verdict:
        task = registry.parse_task({"id": "t", **fields})
        assert isinstance(task, PythonTask)
        with pool.slot() as slot:
            return verifier.judge(task, completion, slot)

    return run


def outcomes(verdict: Verdict) -> list[str]:
    """Of each test, in order."""
    return [str(test.outcome) for test in verdict.tests]
