"""The tasks of `simulator`: what is driven, towards which goal; or errors that were measured elsewhere."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, Self  # Any: a plug-in's fields are its own

from pydantic import ConfigDict, Field, field_validator, model_validator

from assay.canonical import content_hash, dump_line
from assay.schema import Limits
from assay.verifiers.refusals import misplaced
from assay.verifiers.requirements import document_including
from assay.verifiers.rules.rule import Profile, RuleTask
from assay.verifiers.simulator.goal import Goal
from assay.verifiers.simulator.parameters import RACE_CAR

MOST_RMSE = 1e6
"""No error is larger."""
EXTRA = ("scipy", "osqp")
"""Modules that the race car needs, of the extra `simulator`."""

_CODE = "ForzaETH/LLMxRobot@4d896e7 train/rl_mpc_train.py, rl_decision_train.py; arXiv 2505.03238 eq. 3"
_AS_RELEASED = {"failure": "rmse", "partial_names": "any", "read": "whole"}
Coordinate = Annotated[float, Field(ge=-1000.0, le=1000.0, allow_inf_nan=False)]
HalfWidth = Annotated[float, Field(ge=0.3, le=5.0, allow_inf_nan=False)]
Rmse = Annotated[float, Field(ge=0.0, le=MOST_RMSE, allow_inf_nan=False)]


class Mode(StrEnum):
    """How a task is judged."""

    DECISION = "decision"
    MEASURED = "measured"
    RACE_CAR = "race_car"
    PLUG_IN = "plug_in"


_FAILURES = ("failure_rmse", *_AS_RELEASED)
_READ: Mapping[str, tuple[str, ...]] = {
    Mode.DECISION: ("adheres", "read"),
    Mode.MEASURED: ("baseline_rmse", "simulated_rmse", "known_parameters", *_FAILURES),
    Mode.RACE_CAR: ("simulator", "track", "goal", "seed", "budget_s", "noise", *_FAILURES),
    Mode.PLUG_IN: ("simulator", "fields", "seed", *_FAILURES),
}
"""The fields of ours that each mode reads."""
_TOLD: Mapping[str, str] = {
    Mode.DECISION: "for kind 'decision'",
    Mode.MEASURED: "where the errors are given (baseline_rmse, simulated_rmse): nothing is driven then",
    Mode.RACE_CAR: f"for the simulator {RACE_CAR!r}",
    Mode.PLUG_IN: f"for a simulator other than {RACE_CAR!r}: what it asks for stands in `fields`",
}
"""What a task is of whose mode a field is not."""


class SimulatorTask(RuleTask):
    """Parameters of a robot's controller, driven in simulation: reward = driving + format + extraction + names.

    The answer assigns `new_mpc_params = {...}`, a literal dictionary: it is parsed, never run. `driving` =
    clip((baseline - rmse) / baseline, -4, 4), where rmse is the error of a lap with these parameters against the task's
    goal, and baseline that of the same lap with the default ones; `format` is the share of the tag pairs reasoning and
    answer that stand exactly once; `extraction` 1 for a dictionary that is not empty; `names` the share of its names
    that are known (an alias, or a part of a known name: half). So rewards lie between -4 and 4; 3 is a lap no better
    than the default's; full marks are out of reach, so give a `pass_threshold`.

    A lap is failed, and `driving` is -4, if there is no dictionary, if a value is no finite number or out of its
    bounds, if `v_min` is above `v_max`, if the car leaves the track, spins or does not come around in time, and if it
    exhausts limits that the default parameters keep. What is not the parameters' doing is a null reward: an exception
    of a simulator, a jail that fails, a track that cannot be driven, defaults that fail. `docs/simulator.md` has the
    model, the parameters with their bounds, the tracks, and how other simulators plug in.

    The simulator runs in the oracle's jail and is given numbers only. The same lap is the same to the last bit on one
    machine. The baseline is driven once per task content, and stands in the terms of weight 0; the message names the
    default parameters. With `baseline_rmse` and `simulated_rmse` the errors were measured elsewhere, and nothing runs.

    Kind `decision` is the paper's other module: reward = `decision`, 1 if the word after `Adhering to Human:` is the
    right one of True and False, + `format`, the share of the tag pairs reasoning, explanation and answer.

    Sources: RobotxR1, arXiv 2505.03238; ForzaETH/LLMxRobot@4d896e7.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"id": "measured", "verifier": "simulator", "baseline_rmse": 0.8, "simulated_rmse": 0.2,
                 "pass_threshold": 3.5},
                {"id": "centre", "verifier": "simulator", "track": "oval", "goal": {"measure": "centerline"},
                 "pass_threshold": 3.5},
                {"id": "slow", "verifier": "simulator", "track": "bean", "goal": {"measure": "speed", "target": 1.83},
                 "seed": 7},
                {"id": "obeys", "verifier": "simulator", "kind": "decision", "adheres": False},
            ]
        }
    )  # fmt: skip
    PROFILES: ClassVar = (
        Profile(
            "robotxr1/hardened", {}, "this verifier",
            "the defaults: a failure is the lowest value whatever the baseline, an empty name earns nothing, "
            "drafts in the reasoning are not read",
        ),
        Profile(
            "robotxr1/paper", _AS_RELEASED, _CODE,
            "a failure counts as an error of 69, which large baselines make cheap; the paper leaves it open, and so "
            "this is the released code's value; what comes first counts, in the reasoning too",
        ),
        Profile(
            "robotxr1/code", _AS_RELEASED, _CODE,
            "the same; not reproduced: faults of the simulator count as the parameters', and a whole batch is judged "
            "by the measure of its first completion",
        ),
    )  # fmt: skip

    verifier: Literal["simulator"] = "simulator"
    kind: Literal["control", "decision"] = "control"
    """`control`: parameters are judged; `decision`: a True or False."""
    adheres: bool | None = None
    """For `decision`: whether the robot does what the human wants; required."""
    simulator: str = Field(RACE_CAR, pattern=r"^[a-z][a-z0-9_]*$", max_length=64)
    """`race_car`, or the name of an entry point of the group `assay.simulators`; then `requires` names its module."""
    track: Literal["oval", "circle", "bean"] | tuple[tuple[Coordinate, Coordinate, HalfWidth, HalfWidth], ...] = "oval"
    """For the race car: a built-in track, or 6 to 2,000 rows of x, y, left and right half width along the centre line,
    all in metres; the last row meets the first."""
    goal: Goal | None = None
    """For the race car: what the error is taken in; required."""
    seed: int = Field(0, ge=0, le=2**32 - 1)
    """Decides start, noise and disturbances."""
    budget_s: float = Field(45.0, ge=5.0, le=120.0)
    """For the race car: simulated seconds in which it must have come around."""
    noise: float = Field(1.0, ge=0.0, le=5.0)
    """For the race car: factor of what its sensors add and of what disturbs it."""
    fields: dict[str, Any] = Field(default_factory=dict, max_length=100)
    """For another simulator: whatever it asks for, passed on as it is."""
    baseline_rmse: float | None = Field(None, gt=0.0, le=MOST_RMSE, allow_inf_nan=False)
    """Error of the default parameters, where it was measured elsewhere."""
    simulated_rmse: Rmse | None = None
    """Error of the completion's parameters, measured elsewhere; `failure_rmse` or more: a failed run; null: the
    simulator failed, and the attempt is unscorable, unless it has no dictionary."""
    known_parameters: tuple[Annotated[str, Field(min_length=1, max_length=64)], ...] | None = Field(
        None, min_length=1, max_length=100
    )
    """Names of the controller's parameters, where the errors were measured elsewhere; default: the race car's."""
    failure_rmse: float = Field(69.0, gt=0.0, le=MOST_RMSE, allow_inf_nan=False)
    """The error that stands for a failed run."""
    failure: Literal["lowest", "rmse"] = "lowest"
    """What a failed run is worth: `lowest`: -4; `rmse`: what `failure_rmse` is."""
    partial_names: Literal["not_empty", "any"] = "not_empty"
    """Which parts of known names earn half: `any`: the empty name too."""
    read: Literal["answer", "whole"] = "answer"
    """Where dictionary and decision are looked for: `answer`: in the last block <answer>, or where there is none in all
    but reasoning (<think>, <thinking>, <reasoning>); `whole`: in the whole text. The first one there counts."""
    limits: Limits = Limits(wall_s=10.0, cpu_s=10.0, memory_mb=512, attempt_wall_s=20.0)
    """Of each run; default here: 10 s and 512 MB."""

    @field_validator("fields")
    @classmethod
    def _be_json(cls, fields: dict[str, Any]) -> dict[str, Any]:
        dump_line(fields)
        return fields

    @model_validator(mode="before")
    @classmethod
    def _require_the_extra(cls, document: Any) -> Any:
        """A race car needs its modules; a document that is wrong otherwise is left for others to refuse."""
        if not isinstance(document, Mapping) or _mode(document) is not Mode.RACE_CAR:
            return document
        return document_including(document, EXTRA)

    @model_validator(mode="after")
    def _fit_the_mode(self) -> Self:
        read = dict(_READ)
        if self.profile is not None and self.mode is Mode.DECISION:
            read[Mode.DECISION] = (*read[Mode.DECISION], *_AS_RELEASED)  # what a profile presets
        if self.mode is Mode.PLUG_IN and not self.requires:
            raise misplaced(
                ("simulator",),
                f"unknown simulator {self.simulator!r}",
                f"use {RACE_CAR}, or name in `requires` the module of the package that brings it",
            )
        self.refuse_fields_of_other_kinds(self.mode, read, _TOLD[self.mode])
        for place, what in self._missing():
            raise misplaced((place,), what, absent=True)
        if self.mode is Mode.RACE_CAR and not isinstance(self.track, str) and not 6 <= len(self.track) <= 2000:
            raise misplaced(("track",), f"a track has 6 to 2000 rows, and this one has {len(self.track)}")
        return self

    def _missing(self) -> Iterator[tuple[str, str]]:
        """Yield the fields that its mode needs and that are not there, with what they say."""
        match self.mode:
            case Mode.DECISION if self.adheres is None:
                yield "adheres", "required for kind 'decision': whether the robot does what the human wants"
            case Mode.MEASURED if self.baseline_rmse is None:
                yield "baseline_rmse", "required beside simulated_rmse: the error of the default parameters"
            case Mode.MEASURED if "simulated_rmse" not in self.model_fields_set:
                yield "simulated_rmse", "required beside baseline_rmse; null says that the simulator failed"
            case Mode.RACE_CAR if self.goal is None:
                yield "goal", "required: what the error is taken in; or else give baseline_rmse and simulated_rmse"

    @property
    def mode(self) -> Mode:
        """How it is judged."""
        return _mode({name: getattr(self, name) for name in ("kind", "baseline_rmse", "simulated_rmse", "simulator")})

    def runs_something(self) -> bool:
        """Whether a lap is driven."""
        return self.mode in (Mode.RACE_CAR, Mode.PLUG_IN)

    def simulated_fields(self) -> dict[str, Any]:
        """Return what its simulator is given of it, as plain values."""
        if self.mode is Mode.PLUG_IN:
            return self.fields
        return self.model_dump(mode="json", include={"track", "goal", "budget_s", "noise"})

    def baseline_key(self) -> str:
        """Name all that the lap of the default parameters depends on."""
        limits = self.limits.model_dump(mode="json")
        return content_hash([self.simulator, self.simulated_fields(), self.seed, limits])


def _mode(document: Mapping[str, Any]) -> Mode:
    if document.get("kind") == "decision":
        return Mode.DECISION
    if document.get("baseline_rmse") is not None or document.get("simulated_rmse") is not None:
        return Mode.MEASURED
    return Mode.RACE_CAR if document.get("simulator", RACE_CAR) == RACE_CAR else Mode.PLUG_IN
