"""All that the author of a verifier imports, in one place; docs/plugins.md tells how to use it.

A verifier has a task model, and either judges a completion (`Verifier`) or, running nothing, scores it (`Rule`). These
names stay; what stands elsewhere in the package may move.
"""

from assay.errors import Inconclusive, InfraFault, TaskFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Limits, TaskBase, Usage, Verdict, Wire
from assay.verifiers.interface import Verifier
from assay.verifiers.jailed import Found, ProgramRun, run_program, run_source
from assay.verifiers.rules.blocks import first_block, last_block
from assay.verifiers.rules.literal import read_json, read_literal
from assay.verifiers.rules.rule import (
    Factor,
    Profile,
    Rule,
    RuleTask,
    RuleVerifier,
    Scored,
    Term,
    conclude,
)

__all__ = [
    "Factor",
    "Found",
    "Inconclusive",
    "InfraFault",
    "Limits",
    "Outcome",
    "Profile",
    "ProgramRun",
    "Rule",
    "RuleTask",
    "RuleVerifier",
    "Scored",
    "Slot",
    "TaskBase",
    "TaskFault",
    "Term",
    "Usage",
    "Verdict",
    "Verifier",
    "Wire",
    "conclude",
    "first_block",
    "last_block",
    "read_json",
    "read_literal",
    "run_program",
    "run_source",
]
