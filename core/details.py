"""What was measured and read beside a verdict, as results carry it: of compute kernels, and files of `execute`.

Everything here is for reports and for asking why. No reward, and no outcome, is decided by it.
"""

from pydantic import BaseModel, ConfigDict, Field

MOST_NAMES = 64
"""Names of each kind that an artifact's record lists."""
LONGEST_NAME = 100
"""Characters of one."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class TimedShape(_Record):
    """What the rounds at one size came to. Times in seconds; intervals and noise as `docs/kernels.md` defines them.

    null: not known, or beyond every bound, as the end of an interval is with too few rounds.
    """

    index: int
    """Of the size among the task's public and then its hidden ones, from 0."""
    axes: dict[str, int] | None
    """Its extents; null for a hidden size, of which `is_hidden` tells."""
    is_hidden: bool
    """Whether it is one of the hidden sizes."""
    weight: float
    """Of its median in the geometric mean over the sizes, as the task gives it."""
    clock: str
    """The clock that scored: `wall`, `cpu` or `device`."""
    rounds: int = 0
    """How many counted; each calls candidate, reference and twin."""
    generations: int = 0
    """How many times fresh processes ran the rounds."""
    speedup: float | None = None
    """exp(median log(reference / candidate))."""
    low: float | None = None
    high: float | None = None
    """Ends of its bootstrap interval at 95 %."""
    safe_low: float | None = None
    safe_high: float | None = None
    """Ends of the interval that holds at all looks together."""
    is_significant: bool = False
    noise_floor: float | None = None
    """What the reference may differ from itself by, in log ratio."""
    twin_bias: float | None = None
    """Median log ratio of the reference and itself in the same rounds."""
    position_effects: tuple[float | None, ...] = ()
    """How much longer calls took in each place of a round than in the first, as shares."""
    reference_s: float | None = None
    candidate_s: float | None = None
    """Median times."""
    alone_s: float | None
    """What the reference took without the candidate, where it was slower beside it."""
    floor_s: float
    """What physics allows at best; 0 if that is not known."""
    warm_up_s: float
    timed_s: float
    """Seconds of all warm-up calls, and of all timed ones."""
    looks: int
    is_decided: bool
    """How often the interval was looked at, and whether it ended the rounds."""
    throttled: int
    """Rounds on a device that was slowed down."""
    mean_diff: float
    """Mean of the rounds' largest differences from the oracle."""


class FunctionRecord(_Record):
    """What one device function takes, as its cubin says; null where it does not say."""

    name: str
    registers: int | None
    """A thread."""
    shared_bytes: int
    """Static shared memory a block."""
    frame_bytes: int | None
    """Stack a thread."""
    max_threads: int | None
    """The most a block may have."""
    parameter_bytes: int | None
    """Of all its parameters together."""


class ArtifactRecord(_Record):
    """What the static gate read of the compiled candidate, and what its source names: telemetry, no barrier.

    Names are the candidate's own, each cut at 100 characters, and 64 of a kind at most.
    """

    form: str
    """`shared_object`, `cubin` or `module`."""
    sha256: str
    size_bytes: int
    mentions: tuple[str, ...] = ()
    """Kinds of calls that the source names outside of its comments (`stream`, `library`, ...)."""
    kernels: tuple[FunctionRecord, ...] = ()
    arch: str = ""
    """`sm_90` of a cubin."""
    global_bytes: int = 0
    constant_bytes: int = 0
    """Of variables in device memory, and of constants."""
    image_bytes: int = 0
    """What a shared object takes once it is loaded."""
    needed: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    exports: tuple[str, ...] = ()
    constructors: int = 0
    """Libraries and symbols of a shared object, and functions that run when it is loaded."""


class DeviceRecord(_Record):
    """What was timed on, and under which lease."""

    name: str
    """`cpu`, or `cuda:UUID`."""
    state: tuple[str, ...] = ()
    """What the device said of itself at the end: clocks, whether they were locked, MIG, temperature, driver."""
    lease: int | None = None
    """The fencing token of the lease: it grows with every holder of the device."""


class Details(_Record):
    """The record of one attempt: at a kernel, or files that a program left.

    Nothing in it tells an input, a seed, or the extents of a hidden size.
    """

    reference: str = ""
    """What the reference is called: library, layout, workspace, math mode."""
    artifact: ArtifactRecord | None = None
    """The candidate, if it was compiled and let past the gate."""
    device: DeviceRecord | None = None
    """null if nothing was run."""
    checked: int = 0
    """Calls whose outputs were checked and right."""
    shapes: tuple[TimedShape, ...] = ()
    """The timed sizes of a candidate that was right; none otherwise."""
    files: dict[str, str] = Field(default_factory=dict)
    """Of `execute`: those asked for that the program left, by their paths, in base64."""
