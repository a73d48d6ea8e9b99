"""Whose code failed: what a verifier may not raise becomes a fault that names it, be it the attempt's own or a part's.

A verifier, above all one of another distribution, may trip over a hostile completion. That is no verdict, so there is
no reward; and nobody could mend it if the result did not say whose code it was.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pydantic import ValidationError

from assay.canonical import dump_line
from assay.errors import Inconclusive, InfraFault, TaskFault, VerifierFault, plain
from assay.interrupts import is_ctrl_c
from assay.outcomes import has_null_reward
from assay.schema import KEPT_BYTES, Verdict
from assay.strictness import ToTheLetter
from assay.verifiers.interface import Verifier
from assay.verifiers.plugins import told
from assay.verifiers.refusals import json_path
from assay.verifiers.scoring import MESSAGE_CHARACTERS, clip_text

MOST_NAMED = 65_536
"""Characters of all flags of a verdict together, of its versions, and of the names of its terms and of its steps."""


class _Given(ToTheLetter, Verdict):
    """A verdict whose fields are looked at again: it may have been made without that, or be of a class of its own."""


@contextmanager
def attributed(verifier: Verifier) -> Iterator[None]:
    """Let the faults through that a verifier may raise, and Ctrl-C. Raises VerifierFault, naming it, for all others."""
    try:
        yield
    except (TaskFault, Inconclusive, InfraFault):
        raise
    except BaseException as error:
        if is_ctrl_c(error):
            raise
        raise VerifierFault(verifier.name, f"it raised {told(error)}") from error


def checked(verifier: Verifier, verdict: object, kept_bytes: int = KEPT_BYTES) -> Verdict:
    """Return what a verifier has given if it is a verdict whose reward fits its outcome, its texts cut to their bounds.

    Raises VerifierFault, also where a field is not of its type, and what the code of its fields raises.
    """
    if not isinstance(verdict, Verdict):
        raise VerifierFault(verifier.name, f"it gave a {type(verdict).__name__}, which is no verdict")
    given = _validated(verifier, verdict)
    numbers = {**{step.name: step.reward for step in given.steps}, **given.terms}
    numbers |= {"usage.cpu_s": given.usage.cpu_s, "usage.memory_mb": given.usage.memory_mb}
    for name, value in numbers.items():
        if value is not None and not math.isfinite(value):
            raise VerifierFault(verifier.name, f"it gave {value} for {name[:100]}, which is no number")
    if given.reward is not None and math.isnan(given.reward):
        raise VerifierFault(verifier.name, "its reward is no number")
    if (given.reward is None) is not has_null_reward(given.outcome):
        reward = "no reward" if given.reward is None else f"the reward {given.reward:g}"
        raise VerifierFault(verifier.name, f"it gave the outcome {given.outcome} with {reward}")
    for what, names in _names(given).items():
        if sum(map(len, names)) + len(names) > MOST_NAMED:
            raise VerifierFault(verifier.name, f"its {what} take more than {MOST_NAMED} characters together")
    return _cut(given, kept_bytes)


def _validated(verifier: Verifier, verdict: Verdict) -> Verdict:
    """Return a plain verdict with the same fields. Raises VerifierFault if one is not of its type, and
    ValueError if details hold what JSON cannot."""
    if verdict.details is not None:
        dump_line(verdict.details.model_dump(mode="json"))
    try:
        fields = _Given.model_validate(verdict.model_dump(warnings="none")).__dict__
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where, what = json_path("", first["loc"])[:100], plain(first["msg"])[:200]
        said = f"it gave what is no verdict: {where}: {what}, not {type(first['input']).__name__}"
        raise VerifierFault(verifier.name, said) from error
    return Verdict.model_construct(verdict.model_fields_set, **fields)


def _names(verdict: Verdict) -> Mapping[str, tuple[str, ...]]:
    return {
        "flags": verdict.flags,
        "versions": (*verdict.versions, *verdict.versions.values()),
        "terms": tuple(verdict.terms),
        "steps": tuple(step.name for step in verdict.steps),
    }


def _cut(verdict: Verdict, kept_bytes: int) -> Verdict:
    """Return the verdict with messages and captured output no longer than results hold."""
    cut: dict[str, object] = {}
    if len(verdict.message) > MESSAGE_CHARACTERS:
        cut["message"] = verdict.message[:MESSAGE_CHARACTERS]
    for stream in ("stdout", "stderr"):
        text = getattr(verdict, stream)
        if (clipped := clip_text(text, kept_bytes)) is not text:
            cut[stream] = clipped
    if any(len(test.message) > MESSAGE_CHARACTERS for test in verdict.tests):
        cut["tests"] = tuple(
            test.model_copy(update={"message": test.message[:MESSAGE_CHARACTERS]}) for test in verdict.tests
        )
    return verdict.model_copy(update=cut) if cut else verdict
