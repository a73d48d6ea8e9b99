"""What enforces each field of `limits` at each confinement level, and the refusal of what a level cannot enforce.

`assay doctor --limits` prints this table and docs/sandbox.md holds it. A level that cannot enforce a field refuses
tasks that set it; the default of such a field promises nothing there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from assay.errors import TaskFault
from assay.levels import Level
from assay.schema import Limits


@dataclass(frozen=True)
class Enforced:
    """A limit that holds: what enforces it, and the outcome of who passes it."""

    by: str
    outcome: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"{self.by}: {self.outcome}"


@dataclass(frozen=True)
class Refused:
    """A limit that would not hold, so that tasks may not set it."""

    reason: str

    def __str__(self) -> str:
        """Say it in one line."""
        return f"refused where a task sets it: {self.reason}"


Entry = Enforced | Refused

_OWN_ERROR = "the program's own error"
_REST = "the remaining tests count as not passed"
_LOOKS = "the host's looks at the process tree (every 50 ms)"
_GROUP = "and, where control groups can be made, the kernel"
_CLOCK = "the supervisor's monotonic clock; time spent ready to run but without a core does not count"

_ANYWHERE: Mapping[str, Entry] = {
    "wall_s": Enforced(_CLOCK, "`timeout`"),
    "cpu_s": Enforced(_LOOKS, "`timeout`"),
    "memory_mb": Enforced(f"{_LOOKS}, shared pages counted once", "`memory_exceeded`"),
    "output_bytes": Enforced("the supervisor, which drains both streams while they are written", "`output_exceeded`"),
    "attempt_wall_s": Enforced("the verifier, which kills the running test", f"`timeout`; {_REST}"),
    "max_limit_hits": Enforced("the verifier", _REST),
    "stop_on_fail": Enforced("the verifier", _REST),
}

_IN_NAMESPACES: Mapping[str, Entry] = {
    **_ANYWHERE,
    "cpu_s": Enforced(f"{_LOOKS} {_GROUP}'s account of the jail", "`timeout`"),
    "memory_mb": Enforced(f"{_LOOKS}, shared pages counted once, {_GROUP}", "`memory_exceeded`"),
    "processes": Enforced("`RLIMIT_NPROC` in the jail's user namespace", _OWN_ERROR),
    "disk_mb": Enforced("the size of the child's tmpfs; `RLIMIT_FSIZE`", _OWN_ERROR),
    "files": Enforced("the inodes of the child's tmpfs", _OWN_ERROR),
}

_IN_CONTAINERS: Mapping[str, Entry] = {
    **_IN_NAMESPACES,
    "cpu_s": _ANYWHERE["cpu_s"],
    "memory_mb": Enforced(
        f"{_LOOKS}, shared pages counted once; behind them the container's own limit, after which attempts start over",
        "`memory_exceeded`",
    ),
}

_BEHIND_A_FENCE: Mapping[str, Entry] = {
    **_ANYWHERE,
    "processes": Enforced(
        "`RLIMIT_NPROC` of a user id that is the child's alone, or, where the worker is not root, the host's looks",
        f"{_OWN_ERROR}, or its end: `runtime_error`",
    ),
    "disk_mb": Enforced(
        "the host's looks at the attempt's folder; `RLIMIT_FSIZE` for single files", "its end: `runtime_error`"
    ),
    "files": Enforced("the host's looks at the attempt's folder", "its end: `runtime_error`"),
}

_WITHOUT: Mapping[str, Entry] = {
    **_ANYWHERE,
    "processes": Refused("it shares its user id with the worker's other processes"),
    "disk_mb": Refused("it has no file system of its own, only single files are bounded"),
    "files": Refused("it has no file system of its own"),
}

_UNDER_GVISOR: Mapping[str, Entry] = {
    **_IN_CONTAINERS,
    "processes": Refused("not shown to hold under gVisor"),
    "files": Refused("gVisor's tmpfs counts no inodes (google/gvisor#13172)"),
}

TABLE: Mapping[str, Mapping[str, Entry]] = {
    Level.INSECURE: _WITHOUT,
    Level.LANDLOCK: _BEHIND_A_FENCE,
    Level.NAMESPACES: _IN_NAMESPACES,
    Level.DOCKER: _IN_CONTAINERS,
    Level.DOCKER_RUNSC: _UNDER_GVISOR,
}
"""Every field of `limits` at every `Level`."""


def check_enforceable(limits: Limits, level: str) -> None:
    """Raise TaskFault, naming field and level, if the task sets a limit that the level cannot enforce.

    Nothing is known of levels outside the table (those of fakes), and nothing refused.
    """
    for name, entry in TABLE.get(level, {}).items():
        if isinstance(entry, Refused) and name in limits.model_fields_set:
            raise TaskFault(
                f"limits.{name} cannot be enforced at the confinement level {level}: {entry.reason}; "
                "leave it out, or use a stronger level"
            )


def rows() -> Iterator[tuple[str, tuple[Level, ...], Entry]]:
    """Yield field, levels and entry, field by field; levels at which a field fares alike share a row."""
    for name in Limits.model_fields:
        alike: dict[Entry, list[Level]] = {}
        for level in Level:
            alike.setdefault(TABLE[level][name], []).append(level)
        for entry, levels in alike.items():
            yield name, tuple(levels), entry


def describe(level: Level) -> list[str]:
    """Return the table of one level as lines of text."""
    return [f"{name:<15} {TABLE[level][name]}".replace("`", "") for name in Limits.model_fields]
