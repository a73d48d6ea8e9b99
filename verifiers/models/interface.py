"""What verifiers see of model endpoints: a line on which one attempt asks them, by the names an operator gave."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field

from assay.errors import EndpointFault

EndpointName = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
"""How an operator names an endpoint, and a task with it."""


class Unanswered(EndpointFault):
    """An endpoint gives no reply to a question, however often it is asked: perhaps for what the question says.

    It may as well give none to any question; `blaming.ask` tells which.
    """


class TextRefused(Unanswered):
    """It says that it will not answer this: too long for its model, caught by a filter."""


class Late(Unanswered):
    """It does not answer in time."""


class Busy(Unanswered):
    """It says that it is busy, or will not be asked so often: or so much, since some refuse long texts like that."""


@dataclass(frozen=True)
class Request:
    """What a model is told: both texts go as they are; neither is ever part of the other."""

    user: str
    system: str = ""


@dataclass(frozen=True)
class Reply:
    """What a model said; `is_cut` says that it was ended by a limit on its length."""

    text: str
    is_cut: bool = False


class Line(Protocol):
    """Asks endpoints for one attempt, one question at a time, within one budget of seconds."""

    def describe(self, names: tuple[str, ...]) -> Mapping[str, str]:
        """Return the model behind each endpoint. Raises EndpointFault naming those that are not configured here."""
        ...

    def ask(self, name: str, request: Request) -> Reply:
        """Return an endpoint's reply. Raises EndpointFault if there is none within the budget, or after `cancel`.

        It is Unanswered where what the question says may be why.
        """
        ...

    def again(self, name: str, request: Request) -> Reply:
        """As `ask`, for the question asked last: with as much time as it had, which does not come off the budget."""
        ...

    def probe(self, name: str, request: Request) -> Reply:
        """As `ask`, but tried once, within the endpoint's own time, and off the budget: to tell whether it is well."""
        ...

    def cancel(self) -> None:
        """End the question under way, from any thread, and answer none from now on. Idempotent."""
        ...


class Models(Protocol):
    """The endpoints of one process."""

    def line(self, budget_s: float) -> Line:
        """Return a line for one attempt, whose questions may take `budget_s` seconds altogether.

        Time spent waiting for an endpoint that is busy with other attempts does not count.
        """
        ...

    def close(self) -> None:
        """End all questions, connections and threads. Idempotent."""
        ...


class NoModels:
    """Implements `Models` where no endpoint is configured; it is its own line."""

    def line(self, budget_s: float) -> Line:
        """Return a line that nobody answers."""
        del budget_s
        return self

    def describe(self, names: tuple[str, ...]) -> Mapping[str, str]:
        """Raise EndpointFault."""
        raise unknown(names, ())

    def ask(self, name: str, request: Request) -> Reply:
        """Raise EndpointFault."""
        del request
        raise unknown((name,), ())

    def again(self, name: str, request: Request) -> Reply:
        """Raise EndpointFault."""
        return self.ask(name, request)

    def probe(self, name: str, request: Request) -> Reply:
        """Raise EndpointFault."""
        return self.ask(name, request)

    def cancel(self) -> None:
        """There is nothing to end."""

    def close(self) -> None:
        """There is nothing to end."""


def unknown(names: tuple[str, ...], known: tuple[str, ...]) -> EndpointFault:
    """Return the fault of tasks that name endpoints which the operator has not configured."""
    listed = f"it knows {', '.join(known)}" if known else "it knows none: set ASSAY_MODELS"
    return EndpointFault(f"this worker has no model endpoint {', '.join(map(repr, names))}; {listed}")
