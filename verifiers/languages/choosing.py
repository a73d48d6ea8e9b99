"""From a completion to what runs its program: a fork of a warm interpreter, or a program that was built."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.outcomes import Outcome
from assay.sandboxes.interface import Slot
from assay.schema import Limits
from assay.verifiers.extraction import Reading, read_completion
from assay.verifiers.languages.building import BUILD_LIMITS, Builder, Built, Refused, Source, Start, run
from assay.verifiers.languages.reading import read_program
from assay.verifiers.languages.table import LANGUAGES, PYTHON
from assay.verifiers.python_task import FenceRule
from assay.verifiers.spending import Budget
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.stdio import Run, Runner, python_runner
from assay.verifiers.surroundings import surroundings_for


@dataclass(frozen=True)
class Wanted:
    """How a completion is to be run."""

    language: str
    fence: FenceRule
    limits: Limits
    files: Mapping[str, bytes]
    forbid: tuple[str, ...] = ()
    """For Python alone."""
    build_limits: Limits = BUILD_LIMITS
    """Of the compiler."""
    arguments: tuple[str, ...] = ()
    """Of the command line."""


@dataclass(frozen=True)
class Ready:
    """What runs a program, and what was spent to have it."""

    run: Runner
    compile_s: float = 0.0
    """Wall seconds of the compiler."""
    is_compiled: bool = False
    """Whether the language has a compiler, even if this source was compiled before."""


def choose_runner(slot: Slot, builder: Builder, completion: str, wanted: Wanted) -> Ready | Refused:
    """Return what runs the completion's program on an input, or why there is none.

    Raises InfraFault where the language is not to be had, Inconclusive if the machine was too busy.
    """
    if wanted.language == PYTHON and not wanted.files and not wanted.arguments:
        sources = Sources(_reading(completion, wanted.fence), fence_required=wanted.fence is FenceRule.REQUIRED)
        payload = pack_sources(sources, "__main__", wanted.forbid)
        return Ready(python_runner(slot, payload, wanted.limits, surroundings_for((sources.reading.text,))))
    language = LANGUAGES[wanted.language]
    source = completion if wanted.fence is FenceRule.NONE else _read(completion, wanted)
    if source is None:
        return Refused(Outcome.NO_ANSWER, f"the completion holds no program in {wanted.language}")
    built = builder.build(slot, Source(language, source, wanted.files), wanted.build_limits)
    return (
        built
        if isinstance(built, Refused)
        else Ready(_runner(slot, built, wanted), built.wall_s, is_compiled=bool(language.build))
    )


def _reading(completion: str, fence: FenceRule) -> Reading:
    return Reading(completion, (), (), fenced=False) if fence is FenceRule.NONE else read_completion(completion)


def _read(completion: str, wanted: Wanted) -> str | None:
    required = wanted.fence is FenceRule.REQUIRED
    return read_program(completion, LANGUAGES[wanted.language], fence_required=required)


def _runner(slot: Slot, built: Built, wanted: Wanted) -> Runner:
    def run_one(stdin: bytes, budget: Budget) -> Run:
        return run(slot, built, Start(stdin, wanted.arguments), wanted.limits, budget)

    return run_one
