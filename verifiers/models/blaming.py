"""Whose fault it is that a question gets no reply: the endpoint's, or the text's that a completion has a say in.

A null reward counts as no attempt, so no text may be able to earn one; and an outage may not cost anybody a reward. An
endpoint that answers another question just before and just after it fails at this one, however often that is tried, is
well: then the text is why.
"""

from dataclasses import dataclass
from enum import StrEnum

from assay.verifiers.models.interface import Busy, Late, Line, Reply, Request, TextRefused, Unanswered

REFUSED = "refused"
"""The flag of an attempt whose text an endpoint refuses that answers others."""
UNANSWERED = "unanswered"
"""The flag of an attempt at whose text an endpoint fails that answers others."""

_ROUNDS = {TextRefused: 2, Late: 2, Busy: 3, Unanswered: 3}
"""How often an endpoint must have no reply to a question, and each time one to another, by what the last fault is."""


class OnUnreadable(StrEnum):
    """What an attempt is worth whose text an endpoint gives no reply to that can be read, while it answers others."""

    INFRA_ERROR = "infra_error"
    """Nothing is known: the outcome is `infra_error`, the reward null; but not for a text that is refused."""
    LOWEST = "lowest"
    """What a wrong answer, or a plan that cannot be run, is worth; with the flag `unanswered` or `undecided`."""


class Blamed(Exception):
    """The endpoint has no reply to this text and answers another; the message says how, `flag` what kind it is."""

    def __init__(self, message: str, flag: str) -> None:
        super().__init__(message)
        self.flag = flag


@dataclass(frozen=True)
class Pays:
    """For what a text pays beside being refused."""

    failures: bool
    """For an endpoint that fails at it."""
    lateness: bool
    """For one that does not answer it in time or says that it is busy, as it may to any text."""


def ask(line: Line, name: str, request: Request, control: Request, pays: Pays) -> Reply:
    """Return the reply. Raises Blamed where only what sets `request` apart from `control` can be why there is none.

    That is: again and again there is none to `request`, and one to `control` each time thereafter; twice where it is
    refused, or comes too late, since that takes long, and three times otherwise. Raises EndpointFault otherwise, and
    where the text does not pay for such a fault.
    """
    try:
        return line.ask(name, request)
    except Unanswered as error:
        fault: Unanswered = error
    rounds = 1
    while _may_pay(fault, pays):
        line.probe(name, control)
        if rounds >= _ROUNDS[type(fault)]:
            flag = REFUSED if isinstance(fault, TextRefused) else UNANSWERED
            raise Blamed(f"{fault}, though it answers other texts", flag) from fault
        rounds += 1
        try:
            return line.again(name, request)
        except Unanswered as error:
            fault = error
    raise fault


def _may_pay(fault: Unanswered, pays: Pays) -> bool:
    if isinstance(fault, TextRefused):
        return True
    return pays.lateness if isinstance(fault, Late | Busy) else pays.failures
