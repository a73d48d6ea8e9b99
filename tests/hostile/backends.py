"""The backends that the suite attacks. A new backend is one more entry in `BACKENDS`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

ORDINARY_USER = 47_115
"""A user id that owns nothing."""

_LOCKS = "the interpreter's files are shared read-only, and the kernel lets readers lock them"
_BUFFERS = "memory of the kernel's own belongs to no process, and an ordinary user's jails have no control group"
_LOOKS = "the host looks every 50 ms: what is done between two looks is done, and ended by the next"
_LOOKED_AT = ("disk in many files", "disk in deleted files", "inodes", "inodes by links", "deep folders")
"""What only the host's looks end where an attempt has no file system of its own."""
_COUNTED = ("processes", "threads", "a fork bomb")
"""And where it has no user id of its own."""
_HOPPER = "a child that never stays the same process"  # meanwhile it may be more processes than it is allowed
_SEEN = {
    "the size of a secret file": "Landlock governs no stat: that a path exists, its size, owner and times are seen",
    "whether a process's number is in use": "there is one table of processes; nothing else of others is to be had",
}


@dataclass(frozen=True)
class Backend:
    """One way to isolate, and how the suite opens it."""

    name: str
    opener: str
    """`module:function`; the function takes Settings and returns a Pool."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings that choose this backend."""
    needs_root: bool = False
    uid: int | None = None
    """The user id that the worker takes on; None keeps that of the tests."""
    apart: bool = True
    """Whether jails live in namespaces below the worker's: if not (an engine starts them), nor do their neighbours."""
    not_stopped: Mapping[str, str] = field(default_factory=dict)
    """Attacks that get through, each with the reason why that is so; a test fails if one does not get through."""
    sometimes: Mapping[str, str] = field(default_factory=dict)
    """Attacks that get through now and then, each with the reason."""
    open_way: bool = False
    """Whether the interpreter's folders are to be made open to other users, in this worker's namespaces alone."""
    hidden_too: bool = True
    """Whether attacks run hidden as well: not where jails, or their one filter, are those of a backend before."""
    killed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Outcomes by which attacks may end here, beside those that end them everywhere; each died by SIGKILL."""
    neighbour: str = "jail"
    """The word in ASSAY_REQUIRE that makes the tests fail, not skip, where this backend is missing."""

    def missing(self) -> str | None:
        """Say why this backend cannot be attacked here, or None; what only opening it shows is told by its pool."""
        if self.needs_root and os.getuid() != 0:
            return f"{self.name} needs root"
        return None


def _backends() -> tuple[Backend, ...]:
    """As root the suite drops to an ordinary user for some backends; an ordinary user cannot have those of root."""
    opener, buffers, root = "assay.sandboxes.backends:open_pool", "memory in socket buffers", os.getuid() == 0
    user = ORDINARY_USER if root else None
    known = {"a lock on a shared file": _LOCKS}
    unaccounted = {**known, buffers: _BUFFERS}
    killed = ("runtime_error", "memory_exceeded")
    fenced = {"sandbox": "landlock", "least_confinement": "landlock"}
    return (
        Backend("local-root", opener, needs_root=True, not_stopped=known),
        Backend("local-user", opener, uid=user, not_stopped=unaccounted),
        Backend(
            "docker", opener, {"sandbox": "docker"}, apart=False, not_stopped=unaccounted, hidden_too=False,
            neighbour="docker",
        ),
        Backend(
            "landlock-root", opener, fenced, needs_root=True, open_way=True, not_stopped={**known, **_SEEN},
            sometimes=dict.fromkeys(_LOOKED_AT, _LOOKS), killed=dict.fromkeys(_LOOKED_AT, killed),
            hidden_too=False, neighbour="landlock",
        ),
        Backend(
            "landlock-user", opener, fenced, uid=user, not_stopped={**unaccounted, **_SEEN},
            sometimes=dict.fromkeys((*_LOOKED_AT, *_COUNTED), _LOOKS),
            killed=dict.fromkeys((*_LOOKED_AT, *_COUNTED, _HOPPER), killed), hidden_too=False, neighbour="landlock",
        ),
    )  # fmt: skip


BACKENDS = _backends()
