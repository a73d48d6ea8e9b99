"""Sources and what a compiler makes of one, in its jail.

What it gives back is bytes and words, from where the source was read: they are taken for what they are worth.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any  # Any: msgpack values

import msgpack

from assay.outcomes import LIMIT_HITS, Outcome
from assay.sandboxes.interface import Launch, Role, Slot
from assay.schema import Limits, Usage
from assay.verifiers.artifacts import Artifact, Compiled
from assay.verifiers.compiling import BESIDE_BYTES, ask_compiler
from assay.verifiers.languages.java_source import Names
from assay.verifiers.languages.table import Language
from assay.verifiers.scoring import end_of

FLAVOUR = "languages"
"""The warm interpreter that has the programs of this folder."""
_BUILDER = "assay.verifiers.languages.builder_program"
MOST_ARTIFACT_BYTES = 64 << 20
"""A worker holds a program while it runs, and those of all its slots at once."""
_PAGE_BYTES = 4096  # of a file system in memory: a file takes whole ones
_PAGES_A_MB = 256


@dataclass(frozen=True)
class Source:
    """A source in a language, with the files that lie beside it; `role` says whose jail it belongs in."""

    language: Language
    text: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    role: Role = Role.CANDIDATE
    linked: tuple[str, ...] = ()
    """Names of those files that are compiled with it."""

    @cached_property
    def names(self) -> Names:
        """What its parts are called."""
        return self.language.names(self.text)

    @property
    def laid(self) -> dict[str, bytes]:
        """Every file."""
        return {**self.files, self.names.source: self.text.encode("utf-8", "surrogatepass")}


def with_room(limits: Limits, files: Mapping[str, bytes]) -> Limits:
    """Allow the files that are laid out for a program beside what it may write itself."""
    folders = {folder for name in files for folder in PurePosixPath(name).parents}
    pages = sum(-(-len(data) // _PAGE_BYTES) for data in files.values())
    return limits.model_copy(
        update={
            "disk_mb": limits.disk_mb - (-pages // _PAGES_A_MB),
            "files": limits.files + len(files) + len(folders),
        }
    )


def artifact_key(slot: Slot, source: Source, version: str) -> str:
    """Name everything that an artifact depends on: where it is compiled, by which version, how, and from what."""
    language = source.language
    place = [slot.description, sorted(slot.origin.items()), str(source.role)]
    how = [language.name, version, language.build, language.older, sorted(language.environment.items()), source.linked]
    what = [source.names.source, sorted(source.laid.items())]
    return hashlib.sha256(bytes(msgpack.packb([place, how, *what]))).hexdigest()


def compile_source(slot: Slot, source: Source, limits: Limits) -> Compiled:
    """Return what compiling gives, in the first edition of the language that takes the source, else in the newest."""
    newest = _compile(slot, source, limits)
    for lines in source.language.older if newest.outcome is Outcome.COMPILE_ERROR else ():
        compiled = _compile(slot, replace(source, language=replace(source.language, build=lines)), limits)
        if compiled.artifact is not None:
            return compiled
    return newest


def _compile(slot: Slot, source: Source, limits: Limits) -> Compiled:
    language = source.language
    (artifact,) = language.command((language.artifact,), source.names)
    most_bytes = min(limits.disk_mb << 20, MOST_ARTIFACT_BYTES)
    job = {
        "files": source.laid,
        "lines": [language.command(line, source.names, linked=source.linked) for line in language.build],
        "environment": dict(language.environment),
        "artifact_name": artifact,
        "artifact_bytes": most_bytes,
        "dependency_names": [],
    }
    allowed = with_room(limits, source.laid)
    laying_mb = 2 * (allowed.disk_mb - limits.disk_mb)  # they lie there and, meanwhile, in what lays them out
    allowed = allowed.model_copy(update={"memory_mb": limits.memory_mb + laying_mb})
    launch = Launch(source.role, _BUILDER, bytes(msgpack.packb(job)), allowed, FLAVOUR, network=False)
    child, answer = ask_compiler(slot, launch, most_bytes + BESIDE_BYTES)
    if child.cut_by in LIMIT_HITS and child.exit is not None:
        outcome, message = end_of(child.exit, child.cut_by, limits)
        return Compiled(None, outcome, f"the compiler {message}", child.usage)
    return _read(answer, most_bytes, child.usage)


def _read(answer: Any, most_bytes: int, usage: Usage) -> Compiled:
    """Take an answer for what it is worth: it comes from where the source was read."""
    match answer:
        case [int(code), bytes(head), bytes(tail), int(left_out), list(), None | bytes() as artifact]:
            words = _words(head, tail, left_out)
        case _:
            return Compiled(None, Outcome.COMPILE_ERROR, "the compiler ended without an answer", usage)
    if artifact is not None and len(artifact) > most_bytes:
        too_large = f"the compiled program is larger than {most_bytes >> 20} MB"
        return Compiled(None, Outcome.COMPILE_ERROR, too_large, usage)
    if code != 0 or artifact is None:
        return Compiled(None, Outcome.COMPILE_ERROR, words or f"the compiler ended with status {code}", usage)
    return Compiled(Artifact(artifact, hashlib.sha256(artifact).hexdigest()), message=words, usage=usage)


def _words(head: bytes, tail: bytes, left_out: int) -> str:
    gap = f"\n[... {left_out} bytes left out ...]\n".encode() if left_out > 0 else b""
    return (head + gap + tail).decode("utf-8", "replace").strip()
