"""Compiling kernels in the jail, once for equal content.

A compiler that reads a hostile source is as hostile as the source: it runs as a candidate does, alone in a jail without
network, and what comes back is bytes. Jobs in different slots run side by side.
"""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any  # Any: msgpack values

import msgpack

from assay.errors import InfraFault
from assay.outcomes import LIMIT_HITS, Outcome
from assay.sandboxes.interface import Child, Launch, Role, Slot
from assay.schema import Limits
from assay.verifiers.artifacts import Artifact, Artifacts, Compiled
from assay.verifiers.compile_job import DEPENDENCY_BYTES
from assay.verifiers.compiling import BESIDE_BYTES, ask_compiler
from assay.verifiers.kernels import compile_program
from assay.verifiers.kernels.diagnostics import clean, foreign_files
from assay.verifiers.kernels.toolchain import (
    GLUE_NAMES,
    Commands,
    FlagRefused,
    Language,
    Toolchain,
    check_arch,
    check_flags,
    plan,
)
from assay.verifiers.kernels.triton_program import NO_TRITON

FLAVOUR = "kernel"
"""The warm interpreter that has the programs of this lane."""
_PROCESSES, _FILES = 64, 256
_PROBE_LIMITS = Limits(wall_s=60, cpu_s=30, memory_mb=512, processes=32)
_TEXTS = ("gcc", "nvcc", "cuda_root", "processor", "triton", "python")
_MOST_TEXT = 400
_NO_ANSWER = "the compiler ended without an answer"


@dataclass(frozen=True)
class CompileLimits:
    """Bounds of one compile job; MB = 2^20 bytes."""

    wall_s: float = 30.0
    cpu_s: float = 60.0
    memory_mb: int = 2048
    disk_mb: int = 128
    """Files between the steps, and the artifact."""
    source_bytes: int = 262_144
    artifact_bytes: int = 16_777_216

    def of_child(self) -> Limits:
        """Return what the jail enforces."""
        return Limits(
            wall_s=self.wall_s,
            cpu_s=self.cpu_s,
            memory_mb=self.memory_mb,
            disk_mb=self.disk_mb,
            processes=_PROCESSES,
            files=_FILES,
        )


@dataclass(frozen=True)
class Job:
    """A source to be compiled: `flags` and `arch` are the task's."""

    language: Language
    source: str
    arch: str
    flags: tuple[str, ...] = ()
    limits: CompileLimits = CompileLimits()
    glue: str = ""
    """What of ours lies beside it. For C, and for CUDA with host code: source that is compiled apart and linked to it,
    which makes every native kernel's call look the same. For Triton: what it is to become, as JSON."""

    @property
    def is_native(self) -> bool:
        """Whether it becomes a shared object that our code calls."""
        return bool(self.glue) and not self.language.is_python


@dataclass
class Compiler:
    """Compiles in slots; whoever assembles a worker makes one. Thread-safe."""

    artifacts: Artifacts = field(default_factory=Artifacts)
    _toolchains: dict[tuple[tuple[str, str], ...], Toolchain] = field(default_factory=dict)

    def toolchain(self, slot: Slot) -> Toolchain:
        """Return what the slot's jails compile with; asked once for each kind of jail. Raises InfraFault."""
        key = (("level", slot.description), *sorted(slot.origin.items()))
        if key not in self._toolchains:
            self._toolchains[key] = _probe(slot)
        return self._toolchains[key]

    def compile(self, job: Job, slot: Slot) -> Compiled:
        """Return the artifact, or why there is none.

        Raises InfraFault where no compiler for it is installed, Inconclusive if the machine was too busy.
        """
        refused = _refusal(job)
        if refused is not None:
            return _failed(refused)
        toolchain = self.toolchain(slot)
        if not toolchain.version(job.language):
            raise InfraFault(_missing(job.language))
        key = job_key(job, toolchain)
        known = self.artifacts.get(key)
        if known is not None:
            return known
        compiled = _run(job, _plan(job, toolchain), toolchain, slot)
        self.artifacts.put(key, compiled)
        return compiled


def job_key(job: Job, toolchain: Toolchain) -> str:
    """Name everything that an artifact depends on: source, command lines, the tools and the processor they are for."""
    commands = _plan(job, toolchain)
    named = [
        job.source, job.glue, str(job.language), commands.lines, sorted(commands.environment.items()),
        job.limits.artifact_bytes,
        toolchain.gcc, toolchain.nvcc, toolchain.processor if job.language is Language.C else "",
        toolchain.triton if job.language is Language.TRITON else "",
    ]  # fmt: skip
    return hashlib.sha256(msgpack.packb(named, unicode_errors="surrogatepass")).hexdigest()


def _plan(job: Job, toolchain: Toolchain) -> Commands:
    return plan(job.language, job.arch, job.flags, toolchain, is_native=job.is_native)


def _refusal(job: Job) -> str | None:
    """Say why this job is not even tried."""
    size = len(job.source.encode("utf-8", "surrogatepass"))
    if size > job.limits.source_bytes:
        return f"the source has {size} bytes; at most {job.limits.source_bytes} are compiled"
    try:
        check_arch(job.language, job.arch)
        check_flags(job.language, job.flags)
    except FlagRefused as error:
        return str(error)
    return None


def _missing(language: Language) -> str:
    if language is Language.C:
        return "no gcc where attempts run; install it there (`apt-get install gcc libc6-dev`)"
    if language is Language.TRITON:
        return NO_TRITON
    return (
        "no nvcc where attempts run; install the CUDA toolkit and gcc there, and name its folder in ASSAY_CUDA_ROOT "
        "if it is not /usr/local/cuda"
    )


def _probe(slot: Slot) -> Toolchain:
    child, told = _ask(slot, [compile_program.Question.PROBE], _PROBE_LIMITS, BESIDE_BYTES)
    if child.cut_by is not None or not isinstance(told, dict):
        raise InfraFault("the compilers where attempts run could not be looked for; `assay doctor` names them")
    return Toolchain(*(str(told.get(name, ""))[:_MOST_TEXT] for name in _TEXTS))


def _run(job: Job, commands: Commands, toolchain: Toolchain, slot: Slot) -> Compiled:
    files = {commands.source_name: job.source.encode("utf-8", "surrogatepass")}
    if job.glue:
        files[GLUE_NAMES[job.language]] = job.glue.encode()
    asked = {
        "files": files,
        "lines": commands.lines,
        "environment": dict(commands.environment),
        "artifact_name": commands.artifact_name,
        "artifact_bytes": job.limits.artifact_bytes,
        "dependency_names": commands.dependency_names,
    }
    most_bytes = job.limits.artifact_bytes + BESIDE_BYTES
    child, answer = _ask(slot, [compile_program.Question.COMPILE, asked], job.limits.of_child(), most_bytes)
    if child.cut_by in LIMIT_HITS:
        return Compiled(None, child.cut_by, _limit_words(child.cut_by, job.limits), child.usage)
    return replace(_read(answer, job, toolchain), usage=child.usage)


def _failed(message: str) -> Compiled:
    return Compiled(None, Outcome.COMPILE_ERROR, message)


def _limit_words(outcome: Outcome, limits: CompileLimits) -> str:
    if outcome is Outcome.MEMORY_EXCEEDED:
        return f"the compiler used more than {limits.memory_mb} MB"
    return f"the compiler did not end within {limits.wall_s:g} s and {limits.cpu_s:g} s of processor time"


def _read(answer: Any, job: Job, toolchain: Toolchain) -> Compiled:
    """Take an answer for what it is worth: it comes from where the source was read."""
    match answer:
        case [int(code), bytes(head), bytes(tail), int(left_out), list(dependencies), None | bytes() as artifact]:
            words = clean(head, tail, left_out, toolchain.header_folders)
        case _:
            return _failed(_NO_ANSWER)
    if any(isinstance(text, bytes) and len(text) > DEPENDENCY_BYTES for text in dependencies):
        return _failed("the source includes too many files")
    strange = foreign_files([text for text in dependencies if isinstance(text, bytes)], toolchain.header_folders)
    if strange:
        return _failed(f"the source reads {strange[0]!r}, which is no header of the compiler")
    if code != 0 or artifact is None:
        return _failed(words or f"the compiler ended with status {code}")
    if len(artifact) > job.limits.artifact_bytes:
        return _failed(f"the compiled kernel has more than {job.limits.artifact_bytes} bytes")
    return Compiled(Artifact(artifact, hashlib.sha256(artifact).hexdigest()), message=words)


def _ask(slot: Slot, question: list[object], limits: Limits, most_bytes: int) -> tuple[Child, Any]:
    """Run the jailed program to its end; return it with its answer."""
    payload = bytes(msgpack.packb(question))
    launch = Launch(Role.CANDIDATE, compile_program.__name__, payload, limits, FLAVOUR, network=False)
    return ask_compiler(slot, launch, most_bytes)
