"""The oracle's way to its supervisor: reports go out, decisions come back."""

import socket
from collections.abc import Callable

from assay.verifiers.split.channel import Channel
from assay.verifiers.split.remote import CandidateGone
from assay.verifiers.split.report import Answer, Ended, Extra, Fresh, Gone, Over, Report, decode, encode


class Supervisor:
    """Implements `harness.Reporter`, and `remote.Clock` with `budget_s`, over the report channel.

    `take_over` is given the index to go on with and connects to the candidate whose link has been received.
    """

    def __init__(self, report: socket.socket, budget_s: float, nonce: bytes = b"") -> None:
        self.budget_s = budget_s
        self.take_over: Callable[[], bool] = lambda: False
        self._channel = Channel(report)
        self._nonce = nonce

    def tell(self, report: Report) -> None:
        """Send a report."""
        self._channel.send(encode(report, self._nonce))

    def over(self, waited_s: float) -> float:
        """Return the seconds granted. Raises CandidateGone if it was killed instead."""
        match self._ask(Over(waited_s)):
            case Extra(seconds):
                return seconds
            case Ended(reason):
                raise CandidateGone(reason)
            case _:
                raise CandidateGone("the supervisor ended the attempt")

    def replace_candidate(self, index: int, reason: str) -> int | None:
        """Say that the candidate is gone; return the test to go on with once there is a new one, or None to stop."""
        match self._ask(Gone(index, reason)):
            case Fresh(after) if self.take_over():
                return after
            case _:
                return None

    def _ask(self, report: Report) -> Answer:
        self.tell(report)
        answer = decode(self._channel.receive(), self._nonce)
        assert isinstance(answer, Answer)
        return answer
