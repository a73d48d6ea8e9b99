"""What a jailed run tells the worker: one message, checked before anything in it is believed."""

from collections.abc import Mapping
from numbers import Real
from typing import Annotated, Literal

import msgpack
from pydantic import ConfigDict, Field, ValidationError

from assay.strictness import ToTheLetter
from assay.verifiers.simulator.interface import Parameter, SimulatedRun
from assay.verifiers.simulator.task import MOST_RMSE

MOST_BYTES = 60_000
"""Longer messages are not sent: nobody would read them."""

_TEXT = 1000
_Name = Annotated[str, Field(min_length=1, max_length=64)]
_Text = Annotated[str, Field(max_length=_TEXT)]
_Number = Annotated[float, Field(allow_inf_nan=False)]


class Report(ToTheLetter):
    """One message. `kind` says what the process came to, `message` why."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["ran", "missing", "task", "fault"]
    """`ran`: there is a run; `missing`: no such simulator; `task`: the fields are no good; `fault`: the simulator's."""
    message: _Text = ""
    rmse: Annotated[float, Field(gt=0.0, le=MOST_RMSE, allow_inf_nan=False)] | None = None
    crashed: _Text = ""
    metrics: dict[_Name, _Number] = Field(default_factory=dict, max_length=100)
    parameters: dict[_Name, tuple[_Number, _Number, _Number, _Text, tuple[_Name, ...]]] = Field(
        default_factory=dict, max_length=100
    )
    """Default, bounds, unit and aliases by name."""
    versions: dict[_Name, _Text] = Field(default_factory=dict, max_length=20)

    @property
    def known(self) -> Mapping[str, Parameter]:
        """The simulator's parameters."""
        return {
            name: Parameter(default, low, high, unit, aliases=aliases)
            for name, (default, low, high, unit, aliases) in self.parameters.items()
        }


def told(kind: Literal["missing", "task", "fault"], message: str) -> bytes:
    """Return the message of a process that has no run to tell of."""
    return bytes(msgpack.packb({"kind": kind, "message": message[:_TEXT]}, unicode_errors="replace"))


def told_run(run: SimulatedRun, known: Mapping[str, Parameter], versions: Mapping[str, str]) -> bytes:
    """Return the message of a run. Raises ValueError for one that nobody would believe."""
    if not isinstance(run, SimulatedRun) or (run.rmse is None) != bool(run.crashed):
        raise ValueError("a run has an rmse, or says why it crashed, and not both")
    report = Report(
        kind="ran",
        rmse=None if run.rmse is None else _number(run.rmse),
        crashed=run.crashed[:_TEXT],
        metrics={name: _number(value) for name, value in run.metrics.items()},
        parameters={name: (one.default, one.low, one.high, one.unit, one.aliases) for name, one in known.items()},
        versions=dict(versions),
    )
    said = bytes(msgpack.packb(report.model_dump(), unicode_errors="replace"))
    if len(said) > MOST_BYTES:
        raise ValueError(f"a run is told in at most {MOST_BYTES} bytes, not in {len(said)}")
    return said


def _number(value: object) -> float:
    """Return any real number as a float. Raises ValueError for what is none, a boolean or a text say."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"a {type(value).__name__} is no number")
    return float(value)


def read_report(said: bytes) -> Report | None:
    """Return what was said, or None if it cannot be read."""
    try:
        return Report.model_validate(msgpack.unpackb(said))
    except (ValueError, TypeError, ValidationError):
        return None
