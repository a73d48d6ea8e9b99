"""From a completion to what runs its program: a fork of a warm interpreter, or a program that was built."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Slot
from assay.schema import Limits
from assay.verifiers.extraction import Reading, read_completion
from assay.verifiers.languages.building import BUILD_LIMITS, Builder, Refused, Start, launch_of
from assay.verifiers.languages.ends import read_end
from assay.verifiers.languages.reading import read_program
from assay.verifiers.languages.sources import Source
from assay.verifiers.languages.table import LANGUAGES, PYTHON
from assay.verifiers.python_task import FenceRule
from assay.verifiers.spending import Budget
from assay.verifiers.split.assembly import Sources
from assay.verifiers.split.loading import pack_sources
from assay.verifiers.stdio import Run, Runner, python_launch, run_case
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
    driver: str = ""
    """What is put behind the source; not for Python."""
    linked: tuple[str, ...] = ()
    """Names of those files that are compiled with the source."""
    lends_folder: bool = False
    """Whether the launch lends the program's folder (`folders`)."""
    brings_files: bool = False
    """Whether the files are the completion's own, and none of the task's."""


@dataclass(frozen=True)
class Ready:
    """What runs a program, and what was spent to have it."""

    run: Runner
    compile_s: float = 0.0
    """Wall seconds of the compiler."""
    is_compiled: bool = False
    """Whether the language has a compiler, even if this source was compiled before."""
    is_refused: bool = False
    """Whether there is no program: then `run` runs nothing, and says why."""
    launch: Launch | None = None
    """What starts the program, but for what it reads; None where there is none."""
    beside: Callable[[Mapping[str, bytes]], Launch] | None = None
    """Returns what starts it with more files beside it, where the launch lends its folder."""
    read: Callable[[Run], Run] = lambda ran: ran
    """Says what an end of it means."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """What compiled or runs it, by the name of the language; nothing for a warm interpreter."""


def choose_runner(slot: Slot, builder: Builder, completion: str, wanted: Wanted) -> Ready:
    """Return what runs the completion's program on an input, or says why there is none.

    Raises InfraFault where the language is not to be had, Inconclusive if the machine was too busy.
    """
    if wanted.language == PYTHON and not wanted.files and not wanted.arguments and not wanted.lends_folder:
        sources = Sources(_reading(completion, wanted.fence), fence_required=wanted.fence is FenceRule.REQUIRED)
        payload = pack_sources(sources, "__main__", wanted.forbid)
        return _ready(slot, python_launch(payload, wanted.limits, surroundings_for((sources.reading.text,))))
    language = LANGUAGES[wanted.language]
    source = completion if wanted.fence is FenceRule.NONE else _read(completion, wanted)
    if source is None:
        return _refusing(Refused(Outcome.NO_ANSWER, f"the completion holds no program in {wanted.language}"))
    read = Source(language, source + wanted.driver, wanted.files, linked=wanted.linked)
    versions = {language.name: builder.check_offered(slot, language)}
    built = builder.build(slot, read, wanted.build_limits)
    if isinstance(built, Refused):
        return replace(_refusing(built), versions=versions)

    def start_with(more: Mapping[str, bytes]) -> Launch:
        start = Start(arguments=wanted.arguments, lends_folder=wanted.lends_folder, brings_files=wanted.brings_files)
        return launch_of(replace(built, files={**built.files, **more}), start, wanted.limits)

    ready = _ready(slot, start_with({}), partial(read_end, language=built.language))
    beside = start_with if wanted.lends_folder else None
    spent = replace(ready, compile_s=built.wall_s, is_compiled=bool(language.build))
    return replace(spent, beside=beside, versions=versions)


def _ready(slot: Slot, launch: Launch, read: Callable[[Run], Run] = lambda ran: ran) -> Ready:
    def run(stdin: bytes, budget: Budget) -> Run:
        return read(run_case(slot, replace(launch, stdin=stdin), budget))

    return Ready(run, launch=launch, read=read)


def _refusing(refused: Refused) -> Ready:
    return Ready(lambda _stdin, _budget: refused.ran, refused.wall_s, is_refused=True)


def _reading(completion: str, fence: FenceRule) -> Reading:
    return Reading(completion, (), (), fenced=False) if fence is FenceRule.NONE else read_completion(completion)


def _read(completion: str, wanted: Wanted) -> str | None:
    required = wanted.fence is FenceRule.REQUIRED
    return read_program(completion, LANGUAGES[wanted.language], fence_required=required)
