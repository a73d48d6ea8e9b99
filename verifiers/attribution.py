"""Whose code failed: what a verifier may not raise becomes a fault that names it, be it the attempt's own or a part's.

A verifier, above all one of another distribution, may trip over a hostile completion. That is no verdict, so there is
no reward; and nobody could mend it if the result did not say whose code it was.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager

from assay.errors import Inconclusive, InfraFault, TaskFault, VerifierFault
from assay.outcomes import has_null_reward
from assay.schema import Verdict
from assay.verifiers.interface import Verifier
from assay.verifiers.plugins import told


@contextmanager
def attributed(verifier: Verifier) -> Iterator[None]:
    """Let the faults through that a verifier may raise. Raises VerifierFault, naming it, for all others."""
    try:
        yield
    except (TaskFault, Inconclusive, InfraFault):
        raise
    except (Exception, SystemExit) as error:
        raise VerifierFault(verifier.name, f"it raised {told(error)}") from error


def checked(verifier: Verifier, verdict: object) -> Verdict:
    """Return what a verifier has given if it is a verdict whose reward fits its outcome. Raises VerifierFault."""
    if not isinstance(verdict, Verdict):
        raise VerifierFault(verifier.name, f"it gave a {type(verdict).__name__}, which is no verdict")
    numbers = {**{step.name: step.reward for step in verdict.steps}, **verdict.terms}
    for name, value in numbers.items():
        if value is not None and not math.isfinite(value):
            raise VerifierFault(verifier.name, f"it gave {value} for {name}, which is no number")
    if verdict.reward is not None and math.isnan(verdict.reward):
        raise VerifierFault(verifier.name, "its reward is no number")
    if (verdict.reward is None) is not has_null_reward(verdict.outcome):
        reward = "no reward" if verdict.reward is None else f"the reward {verdict.reward:g}"
        raise VerifierFault(verifier.name, f"it gave the outcome {verdict.outcome} with {reward}")
    return verdict
