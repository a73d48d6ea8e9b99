"""Compiling programs in a candidate's jail, once for equal content, and offering what passes its self-test alone.

A compiler that reads a hostile source is as hostile as the source: what it gives back is bytes, which are run in a jail
and nowhere else.
"""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any  # Any: msgpack values

import msgpack

from assay.errors import InfraFault
from assay.outcomes import LIMIT_HITS, Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits, Usage
from assay.verifiers.kernels.artifacts import Artifact, Artifacts, Compiled
from assay.verifiers.languages.launcher_program import pack_program
from assay.verifiers.languages.table import SELF_TEST_INPUT, Language
from assay.verifiers.processes import listen
from assay.verifiers.scoring import Trace, end_of
from assay.verifiers.spending import Budget
from assay.verifiers.stdio import Run, run_case

FLAVOUR = "languages"
"""The warm interpreter that has the programs of this folder."""
_BUILDER = "assay.verifiers.languages.builder_program"
_LAUNCHER = "assay.verifiers.languages.launcher_program"
_BESIDE_BYTES = 1_000_000
"""What an answer may hold beside the artifact."""
BUILD_LIMITS = Limits(wall_s=60, cpu_s=60, memory_mb=2048, disk_mb=1024, processes=256, files=8192)
"""Bounds of one compilation where a task sets none."""
_SELF_TEST_LIMITS = Limits(wall_s=20, cpu_s=20, memory_mb=512)


@dataclass(frozen=True)
class Source:
    """A source in a language, with the files that lie beside it; `role` says whose jail it belongs in."""

    language: Language
    text: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    role: Role = Role.CANDIDATE

    @property
    def name(self) -> str:
        """The name of the file that it lies in."""
        return self.language.source_name(self.text)

    @property
    def laid(self) -> dict[str, bytes]:
        """Every file."""
        return {**self.files, self.name: self.text.encode("utf-8", "surrogatepass")}


@dataclass(frozen=True)
class Start:
    """How a program is started: what it reads, its arguments, whose jail it runs in."""

    stdin: bytes = b""
    arguments: tuple[str, ...] = ()
    role: Role = Role.CANDIDATE


@dataclass(frozen=True)
class Built:
    """A program that can be run: its language, its files and its command line's source name."""

    language: Language
    files: Mapping[str, bytes]
    source_name: str
    diagnostics: str = ""
    """What the compiler said of it: warnings."""
    usage: Usage = field(default_factory=Usage)
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
    def trace(self) -> Trace:
        """What the compiler left: its diagnostics stand where the program's errors would."""
        return Trace(stderr=self.message.encode("utf-8", "replace"), usage=self.usage)


@dataclass
class Builder:
    """Compiles in slots, remembers by content; whoever assembles a worker makes one. Thread-safe."""

    artifacts: Artifacts = field(default_factory=Artifacts)
    _offered: dict[tuple[object, ...], str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def build(self, slot: Slot, source: Source, limits: Limits = BUILD_LIMITS) -> Built | Refused:
        """Return a source as a program.

        Raises InfraFault where the language is not to be had, Inconclusive if the machine was too busy.
        """
        self.check_offered(slot, source.language)
        return self._build(slot, source, limits)

    def check_offered(self, slot: Slot, language: Language) -> None:
        """Run the language's self-test once for each kind of jail. Raises InfraFault unless it passes."""
        key = (language.name, slot.description, *sorted(slot.origin.items()))
        with self._lock:
            known = self._offered.get(key)
        if known is None:
            known = self._self_test(slot, language)
            with self._lock:
                self._offered[key] = known
        if known:
            raise InfraFault(known)

    def _self_test(self, slot: Slot, language: Language) -> str:
        """Return why the language cannot be had; empty if it can."""
        refusal = f"{language.name} is not to be had where attempts run"
        built = self._build(slot, Source(language, language.self_test), BUILD_LIMITS)
        if isinstance(built, Refused):
            return f"{refusal} ({built.message[:300]}); {language.install}"
        try:
            ran = run(slot, built, Start(SELF_TEST_INPUT.encode()), _SELF_TEST_LIMITS, Budget(_SELF_TEST_LIMITS))
        except InfraFault as error:
            return f"{refusal} ({error}); {language.install}"
        if ran.outcome is not Outcome.PASSED or ran.stdout != SELF_TEST_INPUT.encode():
            said = ran.message or ran.stdout[:100].decode("utf-8", "replace")
            return f"{refusal} (its self-test gave {said[:300]!r}); {language.install}"
        return ""

    def _build(self, slot: Slot, source: Source, limits: Limits) -> Built | Refused:
        language, name = source.language, source.name
        if not language.build:
            return Built(language, source.laid, name)
        key = _key(slot, source)
        compiled = self.artifacts.get(key)
        started = time.monotonic()
        if compiled is None:
            compiled = _compile(slot, source, limits)
            if compiled.outcome in (None, Outcome.COMPILE_ERROR):
                self.artifacts.put(key, compiled)
        wall_s = time.monotonic() - started
        if compiled.artifact is None:
            return Refused(compiled.outcome or Outcome.COMPILE_ERROR, compiled.message, compiled.usage, wall_s)
        (artifact,) = language.command((language.artifact,), name)
        kept = {**source.files, artifact: compiled.artifact.data}
        return Built(language, kept, name, compiled.message, compiled.usage, wall_s)


def run(slot: Slot, built: Built, started: Start, limits: Limits, budget: Budget) -> Run:
    """Run a program to its end, in the jail of its role.

    Raises InfraFault where what runs it is gone, Inconclusive if the machine was too busy, SandboxFault if a jail
    broke.
    """
    language = built.language
    allowed = _with_runtime(limits, language)
    line = (*language.command(language.run, built.source_name, limits.memory_mb), *started.arguments)
    payload = pack_program(line, built.files, language.environment, stack_mb=limits.memory_mb)
    launch = Launch(started.role, _LAUNCHER, payload, allowed, FLAVOUR, (), started.stdin)
    return _told(run_case(slot, launch, budget), built)


def _with_runtime(limits: Limits, language: Language) -> Limits:
    """Allow what the runtime takes by itself beside what the task allows the program."""
    return limits.model_copy(
        update={
            "memory_mb": limits.memory_mb + language.runtime_mb,
            "processes": max(limits.processes, language.least_processes),
        }
    )


def _told(ran: Run, built: Built) -> Run:
    """Name an end for want of memory, which some runtimes tell in their own words."""
    if ran.refused is not None and ran.refused[0] is Outcome.INFRA_ERROR:
        raise InfraFault(ran.refused[1])
    if ran.outcome is Outcome.RUNTIME_ERROR and any(words in ran.stderr for words in built.language.out_of_memory):
        return Run(Outcome.MEMORY_EXCEEDED, "out of memory", ran.stdout, ran.stderr, ran.exit_code, ran.usage)
    return ran


def _key(slot: Slot, source: Source) -> str:
    """Name everything that an artifact depends on: where it is compiled, how, and from what."""
    language = source.language
    place = [slot.description, sorted(slot.origin.items()), str(source.role)]
    how = [language.name, language.build, sorted(language.environment.items())]
    return hashlib.sha256(bytes(msgpack.packb([place, how, source.name, sorted(source.laid.items())]))).hexdigest()


def _compile(slot: Slot, source: Source, limits: Limits) -> Compiled:
    language = source.language
    (artifact,) = language.command((language.artifact,), source.name)
    most_bytes = limits.disk_mb << 20
    job = {
        "files": source.laid,
        "lines": [language.command(line, source.name) for line in language.build],
        "environment": dict(language.environment),
        "artifact_name": artifact,
        "artifact_bytes": most_bytes,
        "dependency_names": [],
    }
    launch = Launch(source.role, _BUILDER, bytes(msgpack.packb(job)), limits, FLAVOUR, network=False)
    child, said = listen(slot, launch, most_bytes + _BESIDE_BYTES, "compiling")
    if child.cut_by in LIMIT_HITS and child.exit is not None:
        outcome, message = end_of(child.exit, child.cut_by, limits)
        return Compiled(None, outcome, f"the compiler {message}", child.usage)
    return _read(_unpacked(said), most_bytes, child.usage)


def _read(answer: Any, most_bytes: int, usage: Usage) -> Compiled:
    """Take an answer for what it is worth: it comes from where the source was read."""
    match answer:
        case [int(code), bytes(head), bytes(tail), int(left_out), list(), None | bytes() as artifact]:
            words = _words(head, tail, left_out)
        case _:
            return Compiled(None, Outcome.COMPILE_ERROR, "the compiler ended without an answer", usage)
    if code != 0 or artifact is None or len(artifact) > most_bytes:
        return Compiled(None, Outcome.COMPILE_ERROR, words or f"the compiler ended with status {code}", usage)
    return Compiled(Artifact(artifact, hashlib.sha256(artifact).hexdigest()), message=words, usage=usage)


def _words(head: bytes, tail: bytes, left_out: int) -> str:
    gap = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out > 0 else b""
    return (head + gap + tail).decode("utf-8", "replace").strip()


def _unpacked(said: bytes) -> Any:
    try:
        return msgpack.unpackb(said, strict_map_key=True)
    except (ValueError, TypeError, RecursionError, msgpack.exceptions.UnpackException):
        return None
