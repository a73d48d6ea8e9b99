"""The verifiers that come with Assay: one line each."""

from assay.verifiers.python import PythonVerifier
from assay.verifiers.registry import Registry
from assay.verifiers.rules.classification import Classification
from assay.verifiers.rules.rule import RuleVerifier
from assay.verifiers.run import RunVerifier

_RULES = (Classification(),)


def default_registry() -> Registry:
    """Return a registry of all built-in verifiers; whoever assembles a process calls it once."""
    return Registry([PythonVerifier(), RunVerifier(), *map(RuleVerifier, _RULES)])
