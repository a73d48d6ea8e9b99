"""The words on the wire: Task, Attempt, Batch options and Result.

Fields that only one verifier reads live in that verifier's own task model (a subclass of `TaskBase`);
`assay.verifiers.registry` joins them into one union discriminated by `verifier`.
"""

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Self  # Any: `metadata` is opaque and returned as sent

from pydantic import AfterValidator, AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from assay.canonical import content_hash
from assay.details import Details
from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.spelling import shown
from assay.standing import Standing
from assay.strictness import ToTheLetter

_MOST_REQUIRED, _LONGEST_REQUIRED = 100, 200
KEPT_BYTES = 4096
"""What results keep of each captured stream where a task says nothing else, half of it from the head."""


class Wire(ToTheLetter):
    """Base of everything parsed from a caller: frozen, unknown fields refused, JSON's types kept apart."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class Scoring(StrEnum):
    """How per-test outcomes become a reward."""

    SHARE = "share"
    """Tests passed divided by tests (weights ignored)."""
    ALL = "all"
    """1.0 if every test passed, else 0.0."""
    WEIGHTED = "weighted"
    """Sum of the weights of passed tests divided by the sum of all weights."""


class Limits(Wire):
    """Resource limits; MB = 2^20 bytes. The first seven hold per test, the last three per attempt.

    Defaults are those of most verifiers; where one has its own, they hold for each limit that a task does not give.
    """

    wall_s: float = Field(10.0, gt=0, le=3600)
    """Wall-clock seconds of run time per test; queueing, start-up and crossings do not count."""
    cpu_s: float = Field(10.0, gt=0, le=3600)
    """CPU seconds per test, whole process tree."""
    memory_mb: int = Field(512, ge=1, le=1_048_576)
    """Resident memory of the whole tree."""
    processes: int = Field(64, ge=1, le=65_536)
    """Processes and threads alive at once."""
    output_bytes: int = Field(1_000_000, ge=0, le=1_000_000_000)
    """Bytes written to standard output and error together."""
    disk_mb: int = Field(64, ge=1, le=1_048_576)
    """Bytes of files the attempt may leave in its temporary file system."""
    files: int = Field(256, ge=16, le=1_000_000)
    """Files and folders in the temporary file system."""
    attempt_wall_s: float = Field(60.0, gt=0, le=86_400)
    """Wall-clock seconds for all tests of the attempt together; where it is judged in parts, each has its share."""
    max_limit_hits: int = Field(3, ge=1, le=10_000)
    """After this many tests cut by a limit the rest count as not passed; refused where there are no tests."""
    stop_on_fail: bool = False
    """Stop at the first test that does not pass; the rest count as not passed; refused where there are no tests."""

    def over(self, others: "Limits") -> "Limits":
        """Return these where they were given, and the others where they were not."""
        given = self.model_dump(include=self.model_fields_set)
        return Limits.model_construct(_fields_set=set(given), **{**others.model_dump(), **given})


class TaskBase(Wire):
    """Fields every task has, whatever its verifier."""

    id: str = Field(min_length=1, max_length=512)
    """Names the task; attempts refer to it."""
    verifier: str = "python"
    """Who judges it; decides which other fields there are."""
    limits: Limits = Limits()
    """What an attempt may use; refused where no completion starts a process or asks a model (`math`: some do)."""
    gold: str | None = Field(None, validation_alias=AliasChoices("gold", "canonical_solution"))
    """A completion known to be right; run once per task content and remembered. If it fails: `task_error`."""
    requires: tuple[str, ...] = ()
    """Modules a worker must have before it may take the task."""
    scoring: Scoring = Scoring.SHARE
    """How tests become a reward, where there are tests."""
    pass_threshold: float | None = Field(None, allow_inf_nan=False)
    """Reward at or above which the outcome is `passed`; default: full marks. Above the lowest reward of the task."""
    metadata: dict[str, Any] = Field(default_factory=dict)
    """The caller's own; handed back with every result."""

    @field_validator("limits")
    @classmethod
    def _lay_over_defaults(cls, given: Limits) -> Limits:
        """Keep the verifier's own default of each limit that the task does not give."""
        default: Limits = cls.model_fields["limits"].default
        return given.over(default)

    @field_validator("requires")
    @classmethod
    def _check_required(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        """Refuse what cannot stand in logs and in labels of metrics, which tell what attempts wait for."""
        if len(names) > _MOST_REQUIRED:
            raise ValueError(f"{len(names)} modules are more than {_MOST_REQUIRED}")
        for name in names:
            if not name.isprintable() or not 0 < len(name) <= _LONGEST_REQUIRED:
                raise ValueError(f"{shown(name)} is no name of 1 to {_LONGEST_REQUIRED} printable characters")
        return names

    def runs_something(self) -> bool:
        """Whether judging it starts processes, which `limits` bound."""
        return True

    def runs_tests(self) -> bool:
        """Whether it may have several tests, which `max_limit_hits` and `stop_on_fail` cut short."""
        return True

    def kept_limits(self) -> frozenset[str]:
        """Name the limits that judging it keeps, where it runs something; it refuses others."""
        return frozenset(Limits.model_fields)

    def limits_beneath(self, outer: Limits) -> Limits:
        """Return its limits as a part of a task that has `outer`: those where they were given and it keeps them."""
        given = outer.model_dump(include=outer.model_fields_set & self.kept_limits())
        return Limits.model_validate(given).over(self.limits)

    def is_timed(self) -> bool:
        """Whether its verdict hangs on measured times: equal work is then measured again, never remembered."""
        return False

    def uses_device(self) -> bool:
        """Whether it waits for a device that one attempt at a time has: few of a worker's slots are for such."""
        return False

    def kept_output_bytes(self) -> int:
        """How much of each captured stream its results keep."""
        return KEPT_BYTES

    def asks_models(self) -> bool:
        """Whether judging it asks model endpoints first, for as long as `limits.attempt_wall_s` allows."""
        return False

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy, which has worked out nothing yet: what is kept here may not be so of its fields."""
        copied = super().model_copy(update=update, deep=deep)
        for name in copied.__dict__.keys() - type(copied).model_fields.keys():
            del copied.__dict__[name]
        return copied

    def content_hash(self) -> str:
        """Name this task's content: all that its verdict may depend on.

        `id` and `metadata` do not take part, unless its verifier hands them to code that may read them.
        """
        return self._content_hash

    @cached_property
    def _content_hash(self) -> str:  # once per task: it is asked for once per attempt
        return content_hash(self.model_dump(mode="json", exclude={"id", "metadata"}))


def check_equal(known: TaskBase, task: TaskBase, *, path: str) -> None:
    """Raise InvalidRequest unless two tasks of one id are one task: equal content, however written, and metadata."""
    if known.content_hash() != task.content_hash():
        what, instead = "content", "give each task its own id"
    elif known.metadata != task.metadata:
        what, instead = "metadata", "give each task its own id, or put what differs into the attempts' metadata"
    else:
        return
    raise InvalidRequest(f"another task with the id {task.id!r} has other {what}", path=f"{path}.id", fix=instead)


def _label(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class Attempt(Wire):
    """One completion offered for one task."""

    task_id: str = Field(validation_alias=AliasChoices("task_id", "id"), min_length=1)
    completion: str
    attempt: Annotated[str | None, BeforeValidator(_label)] = None
    """Label; default: the index among the task's attempts in this batch."""
    group: str | None = None
    """Attempts compared with each other; default: the task id."""
    policy_version: Annotated[str | None, BeforeValidator(_label)] = None
    truncated: bool = False
    """The completion was cut by a length limit; copied to the result's flags."""
    metadata: dict[str, Any] = Field(default_factory=dict)


class BatchOptions(Wire):
    """How a batch is handled."""

    priority: int = Field(0, ge=-10, le=10)
    """Higher runs earlier."""
    deadline_s: float | None = Field(None, gt=0)
    """Attempts not started this many seconds after acceptance are `cancelled`."""
    cache: bool = True
    """Whether equal work may be answered from the result of equal work."""
    mask_truncated: bool = False
    """Give truncated attempts a null reward."""
    keep_output: bool = False
    """Keep captured output of passed attempts too."""
    profile: str | None = None
    """The named preset of tasks that name none themselves; refused where a task's verifier does not have it."""


class TestResult(Wire):
    """What became of one test of one attempt."""

    __test__ = False  # not a pytest class

    outcome: Outcome
    name: str | None = None
    message: str = ""


def _with_one_zero(value: float) -> float:
    return value + 0.0  # which makes 0.0 of -0.0, and of nothing else


Amount = Annotated[float, AfterValidator(_with_one_zero)]
"""A reward or a term; never -0.0, which a weight of 0 makes of a negative term, and which reads as a sign."""


class Step(Wire):
    """One step-level reward, where a verifier gives them."""

    name: str
    outcome: Outcome
    reward: Amount | None
    span: tuple[int, int] | None = None


class Usage(Wire):
    """What the candidate's process tree used; memory is its peak in MB (2^20 bytes).

    A program in another language than Python that ended before it was looked at (about 30 ms) used at most that: where
    it took less than what started it, some 15 MB, memory is that.
    """

    cpu_s: float = 0.0
    memory_mb: float = 0.0


class Timing(Wire):
    """Wall seconds spent waiting for a slot and running."""

    queued_s: float = 0.0
    run_s: float = 0.0


class Verdict(BaseModel):
    """What a verifier returns for one attempt: raw terms and an outcome, before policy is applied."""

    model_config = ConfigDict(frozen=True)

    outcome: Outcome
    reward: Amount | None
    tests: tuple[TestResult, ...] = ()
    terms: Mapping[str, Amount] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    message: str = ""
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    usage: Usage = Usage()
    flags: tuple[str, ...] = ()
    versions: Mapping[str, str] = Field(default_factory=dict)
    """Libraries that it depends on, for the `versions` of its result."""
    details: Details | None = None
    """What was measured beside it, for its result."""
    standing: Standing | None = None
    """What the second pass over the attempt's group needs, where the task has group terms."""
    waited_s: float = 0.0
    """How long of its run it waited for a device that others had: for its result, that is time in the queue."""


class Result(BaseModel):
    """One line of results.jsonl; field order is the canonical key order."""

    model_config = ConfigDict(frozen=True)

    batch_id: str
    seq: int
    index: int
    task_id: str
    attempt: str
    group: str
    outcome: Outcome
    reward: Amount | None
    passed: tuple[int, ...]
    """0 or 1 per test."""
    tests: tuple[TestResult, ...]
    terms: Mapping[str, Amount]
    steps: tuple[Step, ...]
    message: str
    stdout: str
    stderr: str
    exit_code: int | None
    usage: Usage
    timing: Timing
    verifier: str
    versions: Mapping[str, str]
    sandbox: str
    cached: bool
    flags: tuple[str, ...]
    details: Details | None = None
    """What a kernel's timing and its compiled form were, the first one's of several; null where there was none."""
    metadata: Mapping[str, Any]
