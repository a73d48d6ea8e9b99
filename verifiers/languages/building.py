"""Compiling programs in a candidate's jail, once for equal content, and offering what passes its self-test alone.

A compiler that reads a hostile source is as hostile as the source: what it gives back is bytes, which are run in a jail
and nowhere else.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Lock

from assay.errors import InfraFault
from assay.outcomes import Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits, Usage
from assay.verifiers.artifacts import Artifacts
from assay.verifiers.compiling import NotBegun
from assay.verifiers.languages.builder_program import NOT_INSTALLED
from assay.verifiers.languages.ends import Absent, read_end
from assay.verifiers.languages.java_source import Names
from assay.verifiers.languages.launcher_program import pack_program
from assay.verifiers.languages.offering import Offer, read_version, refuse, said_of
from assay.verifiers.languages.sources import FLAVOUR, Source, artifact_key, compile_source, with_room
from assay.verifiers.languages.table import SELF_TEST_INPUT, Language
from assay.verifiers.spending import Budget
from assay.verifiers.stdio import Run, run_case

_LAUNCHER = "assay.verifiers.languages.launcher_program"
BUILD_LIMITS = Limits(wall_s=60, cpu_s=60, memory_mb=2048, disk_mb=1024, processes=256, files=8192)
"""Bounds of one compilation where a task sets none."""
_SELF_TEST_LIMITS = Limits(wall_s=20, cpu_s=20, memory_mb=512)


@dataclass(frozen=True)
class Start:
    """How a program is started: what it reads, its arguments, whose jail it runs in."""

    stdin: bytes = b""
    arguments: tuple[str, ...] = ()
    role: Role = Role.CANDIDATE
    lends_folder: bool = False
    """Whether its folder is lent with its word (`folders`)."""
    brings_files: bool = False
    """Whether the files beside it are the completion's own, and none of the task's."""


@dataclass(frozen=True)
class Built:
    """A program that can be run: its language, its files and what its parts are called."""

    language: Language
    files: Mapping[str, bytes]
    names: Names
    wall_s: float = 0.0
    """What the compiler took; nothing where the artifact was known."""


@dataclass(frozen=True)
class Refused:
    """Why a source is no program: COMPILE_ERROR, or the limit that its compiler ran into."""

    outcome: Outcome
    message: str
    usage: Usage = field(default_factory=Usage)
    wall_s: float = 0.0
    """What the compiler took."""

    @property
    def ran(self) -> Run:
        """What running it comes to: what its compiler said stands where the program's errors would."""
        said = self.message.encode("utf-8", "replace")
        return Run(self.outcome, self.message, b"", said, None, self.usage, refused=(self.outcome, self.message))


@dataclass
class Builder:
    """Compiles in slots, remembers by content; whoever assembles a worker makes one. Thread-safe."""

    artifacts: Artifacts = field(default_factory=Artifacts)
    _offered: dict[tuple[object, ...], Offer] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def build(self, slot: Slot, source: Source, limits: Limits = BUILD_LIMITS) -> Built | Refused:
        """Return a source as a program.

        Raises InfraFault where the language is not to be had, or this machine cannot start its compiler; Inconclusive
        if the machine was too busy.
        """
        version = self.check_offered(slot, source.language)
        try:
            return self._build(slot, source, limits, version)
        except NotBegun as error:
            if str(error).endswith(NOT_INSTALLED):
                self._forget(source.language)
            raise

    def check_offered(self, slot: Slot, language: Language) -> str:
        """Return the language's version, which it tells before its self-test, once for each kind of jail.

        Raises InfraFault unless both succeed. What failed is run again the next time, unless something is not
        installed: nothing else need last.
        """
        key = (language.name, slot.description, *sorted(slot.origin.items()))
        with self._lock:
            known = self._offered.get(key)
        if known is None:
            known = self._look(slot, language)
            if known.lasts:
                with self._lock:
                    self._offered[key] = known
        if known.refusal:
            raise InfraFault(known.refusal)
        return known.version

    def known(self) -> dict[str, Offer]:
        """Return what is known so far, by the names of languages; nothing is run."""
        with self._lock:
            return {str(name): offer for (name, *_), offer in self._offered.items()}

    def _forget(self, language: Language) -> None:
        """Look at a language again that was to be had, and is no longer."""
        with self._lock:
            for key in [key for key in self._offered if key[0] == language.name]:
                del self._offered[key]

    def _look(self, slot: Slot, language: Language) -> Offer:
        try:
            probed = _run_known(slot, Built(replace(language, run=language.probe), {}, Names(language.file_name)), b"")
            version = read_version(probed)
            if probed.outcome is not Outcome.PASSED or not version:
                return refuse(language, f"its version: {said_of(probed)!r}", lasts=False)
            built = self._build(slot, Source(language, language.self_test), BUILD_LIMITS, version)
            if isinstance(built, Refused):
                return refuse(language, built.message[:300], lasts=False)
            ran = _run_known(slot, built, SELF_TEST_INPUT.encode())
        except Absent as error:
            return refuse(language, str(error))
        except NotBegun as error:
            return refuse(language, str(error), lasts=str(error).endswith(NOT_INSTALLED))
        if ran.outcome is not Outcome.PASSED or ran.stdout != SELF_TEST_INPUT.encode():
            return refuse(language, f"its self-test gave {said_of(ran)!r}", lasts=False)
        return Offer(version)

    def _build(self, slot: Slot, source: Source, limits: Limits, version: str) -> Built | Refused:
        language, names = source.language, source.names
        if not language.build:
            return self._settled(slot, source, limits, version)
        key = artifact_key(slot, source, version)
        compiled = self.artifacts.get(key)
        started = time.monotonic()
        if compiled is None:
            compiled = compile_source(slot, source, limits)
            self.artifacts.put(key, compiled)
        wall_s = time.monotonic() - started
        if compiled.artifact is None:
            return Refused(compiled.outcome or Outcome.COMPILE_ERROR, compiled.message, compiled.usage, wall_s)
        (artifact,) = language.command((language.artifact,), names)
        kept = {**source.files, artifact: compiled.artifact.data}
        return Built(language, kept, names, wall_s)

    def _settled(self, slot: Slot, source: Source, limits: Limits, version: str) -> Built:
        """Return a source that is run as it is, with what tells its kind beside it, where that is asked for.

        A task's own file of that name stays. Where nothing is told, the runtime takes the source for what it likes.
        """
        language, settled = source.language, {}
        if language.settle and language.settled_in not in source.files and re.search(language.unsettled, source.text):
            settling = replace(language, build=(language.settle,), artifact=language.settled_in)
            built = self._build(slot, replace(source, language=settling), limits, version)
            settled = {} if isinstance(built, Refused) else dict(built.files)
        return Built(language, {**source.laid, **settled}, source.names)


def _run_known(slot: Slot, built: Built, stdin: bytes) -> Run:
    """Run a program of ours. Raises as `run` does."""
    return run(slot, built, Start(stdin), _SELF_TEST_LIMITS, Budget(_SELF_TEST_LIMITS))


def run(slot: Slot, built: Built, started: Start, limits: Limits, budget: Budget) -> Run:
    """Run a program to its end, in the jail of its role.

    Raises InfraFault where what runs it is gone, Inconclusive if the machine was too busy, SandboxFault if a jail
    broke.
    """
    return read_end(run_case(slot, launch_of(built, started, limits), budget), built.language)


def launch_of(built: Built, started: Start, limits: Limits) -> Launch:
    """Return what starts a program, in the jail of its role.

    What is laid out for it, and what its runtime takes by itself, it may have beside what the task allows it.
    """
    language = built.language
    processes = max(limits.processes, language.least_processes)
    files = {**built.files, **{name: text.encode() for name, text in language.beside.items()}}
    allowed = with_room(limits, files).model_copy(update={"processes": processes})
    heap_mb = max(limits.memory_mb, language.least_heap_mb)
    line = (*language.command(language.run, built.names, heap_mb), *started.arguments)
    stack_mb = limits.memory_mb + language.runtime_mb
    payload = pack_program(
        line,
        files,
        language.environment,
        stack_mb=stack_mb,
        lends_folder=started.lends_folder,
        brings_files=started.brings_files,
    )
    return Launch(
        started.role,
        _LAUNCHER,
        payload,
        allowed,
        FLAVOUR,
        stdin=started.stdin,
        is_captured=True,
        becomes=True,
        runtime_mb=language.runtime_mb,
    )
