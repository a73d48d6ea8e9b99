"""What a simulator is: names, defaults and bounds of a controller's parameters, and a run that tells an error.

A package brings one by the entry point group `assay.simulators`: the entry is a class or function that is called
without arguments and returns a Simulator. It is found and imported in a jailed process, never in the service or the
worker.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol  # Any: the fields of a task mean something to its simulator alone

GROUP = "assay.simulators"
"""The entry point group."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of the controller: what it is unless it is given, and what it may be."""

    default: float
    low: float
    high: float
    """A number outside `low` to `high` is refused: the attempt counts as failed, and is not run."""
    unit: str = ""
    about: str = ""
    aliases: tuple[str, ...] = ()
    """Other names that mean it: they set it, but earn only half of what the name earns."""


@dataclass(frozen=True)
class SimulatedRun:
    """What became of one run: an error, or the reason why there is none."""

    rmse: float | None
    """The error against the task's goal, positive and finite; None if the run failed."""
    crashed: str = ""
    """Why it failed, if it did, through the parameters: it left the track, never finished, …"""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Further numbers of the run, shown in the result: its duration, its mean speed, …"""


class Simulator(Protocol):
    """Drives with given parameters.

    Nothing that `run` does is kept: each call has a process of its own, which may write and use no more than the task's
    limits allow. It must be deterministic.
    """

    @property
    def name(self) -> str:
        """What a task's `simulator` says; equal to the name of the entry point."""
        ...

    @property
    def version(self) -> str:
        """Changes whenever the same parameters could drive otherwise; stands in the `versions` of results."""
        ...

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """The known parameters by name; at most 100."""
        ...

    def run(self, parameters: Mapping[str, float], fields: Mapping[str, Any], seed: int) -> SimulatedRun:
        """Drive once. `parameters` has every known one, within its bounds; `fields` are the task's own.

        Failures through the parameters are told by `crashed`. Raises `assay.errors.TaskFault` where the fields are no
        good; any other exception is the simulator's own fault, and makes the attempt `infra_error`.
        """
        ...
