"""What compiling came to, and a memory of it by content."""

from dataclasses import dataclass, field, replace

from assay.outcomes import Outcome
from assay.schema import Usage
from assay.verifiers.remembered import Remembered

_LEAST_BYTES = 1000
"""What one takes beside its artifact and its words."""


@dataclass(frozen=True)
class Artifact:
    """What a compiler made: a program, a cubin or a shared object; and its SHA-256 in hexadecimal digits."""

    data: bytes
    sha256: str


@dataclass(frozen=True)
class Compiled:
    """What came of a job: an artifact, or an outcome with the words for it."""

    artifact: Artifact | None
    outcome: Outcome | None = None
    """None with an artifact; else COMPILE_ERROR, or the limit that the compiler ran into."""
    message: str = ""
    """Diagnostics; also warnings that came with an artifact."""
    usage: Usage = field(default_factory=Usage)
    cached: bool = False


class Artifacts:
    """The artifacts of jobs by content, the last used of them, in at most `capacity_bytes`. Thread-safe."""

    def __init__(self, capacity_bytes: int = 256 * 2**20) -> None:
        self._capacity_bytes = capacity_bytes
        self._kept = Remembered[Compiled](capacity_bytes // _LEAST_BYTES + 1, capacity_bytes)

    def get(self, key: str) -> Compiled | None:
        """Return what was kept under that key, marked as cached."""
        found = self._kept.get(key)
        return None if found is None else replace(found, cached=True)

    def put(self, key: str, compiled: Compiled) -> None:
        """Keep what was compiled, unless it alone is too large, and let go of what was not used for longest.

        Failures are not kept: a machine out of memory, processes or files makes some that say nothing of the source.
        """
        size_bytes = _size_of(compiled)
        if compiled.artifact is not None and size_bytes <= self._capacity_bytes:
            self._kept.put(key, compiled, size_bytes)


def _size_of(compiled: Compiled) -> int:
    return _LEAST_BYTES + 4 * len(compiled.message) + (len(compiled.artifact.data) if compiled.artifact else 0)
