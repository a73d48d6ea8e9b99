"""The verifiers that come with Assay: one line each."""

from collections.abc import Iterable

from assay.verifiers.composite.verifier import CompositeVerifier
from assay.verifiers.interface import Verifier
from assay.verifiers.kernels.verifier import KernelVerifier
from assay.verifiers.maths.verifier import MathVerifier
from assay.verifiers.python import PythonVerifier
from assay.verifiers.registry import Registry
from assay.verifiers.rules.classification import Classification
from assay.verifiers.rules.countdown import Countdown
from assay.verifiers.rules.detection import Detection
from assay.verifiers.rules.exact_match import ExactMatch
from assay.verifiers.rules.format import Format
from assay.verifiers.rules.grounded_qa import GroundedQa
from assay.verifiers.rules.gui import Gui
from assay.verifiers.rules.instructions.verifier import Instructions
from assay.verifiers.rules.json_schema import JsonSchema
from assay.verifiers.rules.knights_knaves import KnightsKnaves
from assay.verifiers.rules.length import Length
from assay.verifiers.rules.multiple_choice import MultipleChoice
from assay.verifiers.rules.plan import Plan
from assay.verifiers.rules.reasoning_gym import ReasoningGymVerifier
from assay.verifiers.rules.regex import Regex
from assay.verifiers.rules.repetition import Repetition
from assay.verifiers.rules.rule import Rule, RuleVerifier
from assay.verifiers.rules.sudoku import Sudoku
from assay.verifiers.rules.temporal import Temporal
from assay.verifiers.rules.text_overlap import TextOverlap
from assay.verifiers.rules.tool_call import ToolCall
from assay.verifiers.rules.tracking import Tracking
from assay.verifiers.run import RunVerifier

_RULES: tuple[Rule, ...] = (
    Classification(),
    Countdown(),
    Detection(),
    ExactMatch(),
    Format(),
    GroundedQa(),
    Gui(),
    Instructions(),
    JsonSchema(),
    KnightsKnaves(),
    Length(),
    MultipleChoice(),
    Plan(),
    Regex(),
    Repetition(),
    Sudoku(),
    Temporal(),
    TextOverlap(),
    ToolCall(),
    Tracking(),
)


def default_registry() -> Registry:
    """Return a registry of all built-in verifiers; whoever assembles a process calls it once."""
    return with_composite(
        [
            PythonVerifier(),
            RunVerifier(),
            MathVerifier(),
            KernelVerifier(),
            ReasoningGymVerifier(),
            *map(RuleVerifier, _RULES),
        ]
    )


def with_composite(verifiers: Iterable[Verifier]) -> Registry:
    """Return a registry of these verifiers and of composites of them."""
    parts = Registry(verifiers)
    return Registry([*map(parts.get, parts.names), CompositeVerifier(parts)])
