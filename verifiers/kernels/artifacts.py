"""What compiling came to, and a memory of it by content."""

from collections import OrderedDict
from dataclasses import dataclass, field, replace
from threading import Lock

from assay.outcomes import Outcome
from assay.schema import Usage


@dataclass(frozen=True)
class Artifact:
    """A cubin or a shared object, and its SHA-256 in hexadecimal digits."""

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
    """The results of jobs by content, the last used of them, in at most `capacity_bytes`. Thread-safe."""

    def __init__(self, capacity_bytes: int = 256 * 2**20) -> None:
        self._capacity_bytes = capacity_bytes
        self._held: OrderedDict[str, Compiled] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def get(self, key: str) -> Compiled | None:
        """Return what was kept under that key, marked as cached."""
        with self._lock:
            found = self._held.get(key)
            if found is None:
                return None
            self._held.move_to_end(key)
            return replace(found, cached=True)

    def put(self, key: str, compiled: Compiled) -> None:
        """Keep it, and let go of what was not used for longest."""
        with self._lock:
            if key in self._held or _weight(compiled) > self._capacity_bytes:
                return
            self._held[key] = compiled
            self._bytes += _weight(compiled)
            while self._bytes > self._capacity_bytes:
                self._bytes -= _weight(self._held.popitem(last=False)[1])


def _weight(compiled: Compiled) -> int:
    return 1000 + 4 * len(compiled.message) + (len(compiled.artifact.data) if compiled.artifact else 0)
