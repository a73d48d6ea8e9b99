"""The verifiers that come with Assay, one line each, and those that plugins bring."""

from pathlib import Path

from assay.verifiers.composite.verifier import CompositeVerifier, with_composite
from assay.verifiers.environment.verifier import EnvironmentVerifier
from assay.verifiers.interface import Verifier
from assay.verifiers.kernels import building as kernels
from assay.verifiers.kernels.judging import Measurer
from assay.verifiers.kernels.verifier import KernelVerifier
from assay.verifiers.languages.building import Builder
from assay.verifiers.languages.calls import CallsVerifier
from assay.verifiers.languages.execute import ExecuteVerifier
from assay.verifiers.languages.verifier import StdioVerifier
from assay.verifiers.maths.verifier import MathVerifier
from assay.verifiers.models.chain import ChainVerifier
from assay.verifiers.models.judge import JudgeVerifier
from assay.verifiers.optimisation.optimum import OptimumVerifier
from assay.verifiers.optimisation.solver import SolverVerifier
from assay.verifiers.plugins import find_plugins
from assay.verifiers.program.verifier import ProgramVerifier
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
from assay.verifiers.simulator.verifier import SimulatorVerifier
from assay.verifiers.sql.verifier import SqlVerifier

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


def default_registry(
    databases: Path | None = None,
    measurer: Measurer | None = None,
    builder: Builder | None = None,
    cuda_device: str = "0",
) -> Registry:
    """Return a registry of all verifiers, those of plugins included; whoever assembles a process calls it once.

    `databases` is the operator's folder of databases, `measurer` what times kernels, `builder` what compiles programs,
    and `cuda_device` what kernels are compiled for, as the settings name it: only who judges needs them.
    """
    own = [*_executed(databases, measurer, builder or Builder(), cuda_device), *_asking(), *map(RuleVerifier, _RULES)]
    return with_composite(own, find_plugins({CompositeVerifier.name, *(verifier.name for verifier in own)}))


def _asking() -> tuple[Verifier, ...]:
    """Return the verifiers that ask models."""
    return ChainVerifier(), JudgeVerifier()


def _executed(
    databases: Path | None, measurer: Measurer | None, builder: Builder, cuda_device: str
) -> tuple[Verifier, ...]:
    """Return the verifiers that run something; some remember, so each registry has its own."""
    return (
        CallsVerifier(builder),
        EnvironmentVerifier(),
        ExecuteVerifier(builder),
        KernelVerifier(kernels.Builder(cuda_device=cuda_device), measurer),
        MathVerifier(),
        OptimumVerifier(),
        ProgramVerifier(),
        PythonVerifier(),
        ReasoningGymVerifier(),
        RunVerifier(builder),
        SimulatorVerifier(),
        SolverVerifier(),
        SqlVerifier(databases),
        StdioVerifier(builder),
    )
