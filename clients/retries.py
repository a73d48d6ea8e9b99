"""When a client tries again, and after how long: decisions without I/O, shared by both clients."""

import logging
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from assay.clients.refusals import refusal, retry_after_s
from assay.errors import AssayError, ServiceUnavailable

log = logging.getLogger(__name__)

_OUT_OF_ORDER = frozenset({502, 503, 504})
_RETRIED_STATUSES = _OUT_OF_ORDER | {429}
_MOST_TOLD = 100  # texts: a service that counts in them must not fill a log


@dataclass(frozen=True)
class RetryPolicy:
    """How patient a client is: pauses double from `first_s` to `longest_s`, for `patience_s` in all.

    A pause that the service asks for comes on top, however long; one that would end after `patience_s` is not begun.
    """

    first_s: float = 0.2
    longest_s: float = 10.0
    patience_s: float = 300.0

    def pause_s(self, failures: int, waited_s: float, at_least_s: float, luck: float) -> float | None:
        """Return how long to wait after the `failures`-th failure in a row, or None to give up.

        `luck` is a random number in [0, 1): clients that failed together must not come back together.
        """
        ceiling = min(self.longest_s, self.first_s * 2 ** min(failures - 1, 30))
        pause = at_least_s + ceiling * (0.5 + luck / 2)
        return pause if waited_s + pause <= self.patience_s else None


class Outage:
    """Warns once when a service cannot be reached, and again only after it has answered meanwhile.

    Answers that only ask for another try are told too, each text once: somebody waits for what they say.
    """

    def __init__(self, url: str, patience_s: float) -> None:
        self._url = url
        self._patience_s = patience_s
        self._is_known = False
        self._told: set[str] = set()

    def begin(self, error: Exception) -> str:
        """The service could not be reached; say where and why in one line."""
        reason = str(error) or type(error).__name__  # httpx has no text for some
        if not self._is_known:
            self._warn(f"cannot reach {self._url}: {reason}")
        self._is_known = True
        return f"{self._url}: {reason}"

    def hear(self, status: int, body: bytes) -> None:
        """The service has answered."""
        self._is_known = False
        if status not in _OUT_OF_ORDER:
            return
        reason = str(refusal(status, body, None))
        if reason not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(reason)
            self._warn(f"{self._url}: {reason}")

    def _warn(self, text: str) -> None:
        if self._patience_s > 0:
            log.warning("%s; trying for %g s", text, self._patience_s)


class Refused(Exception):
    """A stream was not begun: the answer is no success. Between a client's stream and what follows it alone."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status = status
        self.headers = headers
        self.body = body


class Tries:
    """The tries of one call: takes each failure, says how long to pause, and raises when patience is over."""

    def __init__(
        self,
        policy: RetryPolicy,
        *,
        clock: Callable[[], float] = time.monotonic,
        luck: Callable[[], float] = random.random,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._policy = policy
        self._clock = clock
        self._luck = luck
        self._now = now
        self._failures = 0
        self._since = clock()

    def succeed(self) -> None:
        """Forget earlier failures: the call made progress."""
        self._failures = 0
        self._since = self._clock()

    def after_answer(self, status: int, headers: Mapping[str, str], body: bytes) -> float:
        """Return the pause after an answer that is no success. Raises its refusal once that is final."""
        retry_after = headers.get("Retry-After")
        fault = refusal(status, body, retry_after)
        if status not in _RETRIED_STATUSES:
            raise fault
        return self._pause(fault, retry_after_s(retry_after, self._now()))

    def after_error(self, what: str) -> float:
        """Return the pause after a connection failed or ended early. Raises ServiceUnavailable in the end."""
        return self._pause(ServiceUnavailable(what), 0.0)

    def _pause(self, fault: AssayError, at_least_s: float) -> float:
        self._failures += 1
        pause = self._policy.pause_s(self._failures, self._clock() - self._since, at_least_s, self._luck())
        if pause is None:
            raise fault
        return pause
