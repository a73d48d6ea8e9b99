"""One HTTP exchange with a model endpoint, without its timing: what is sent, what is accepted, what is worth a retry.

Whatever an endpoint sends is hostile: its size is bounded while it is read, and none of it stands in a message.
"""

import re
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from http import HTTPStatus
from typing import Any  # Any: an answer is unparsed JSON

import httpx

from assay.canonical import dump_line
from assay.verifiers.models.endpoints import Access
from assay.verifiers.models.interface import Reply, Request
from assay.verifiers.rules.literal import read_json

MOST_BYTES = 2_000_000
"""The longest answer that is read, as it comes."""
MOST_PARTS = 20_000
"""The most parts that an answer is read in: each costs as much as many bytes."""

_STATUSES = range(HTTPStatus.BAD_REQUEST, 600)
_HALF_SIGN = re.compile("[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]")
_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
_BUSY = _PASSING | {HTTPStatus.SERVICE_UNAVAILABLE}
_BROKEN_OFF = frozenset({"error", "abort", "aborted", "cancelled", "canceled"})
"""Values of `finish_reason` by which servers and gateways say that they have failed at a reply, or given it up."""


class Cause(Enum):
    """What may be why an endpoint gave no reply."""

    ENDPOINT = auto()
    """The endpoint alone: it is not there, whatever it is told."""
    BUSY = auto()
    """It is busy, or so it answers what it was told."""
    REFUSED = auto()
    """It refuses what it was told, or everything."""
    FAILED = auto()
    """It failed at what it was told, or fails at everything."""
    LATE = auto()
    """It took too long over what it was told, or takes too long over everything."""


class Refusal(Exception):
    """An endpoint gave no reply; `is_passing` says whether another try may, `after_s` when it asks for one."""

    def __init__(
        self, reason: str, cause: Cause = Cause.FAILED, *, is_passing: bool = True, after_s: float | None = None
    ) -> None:
        super().__init__(reason)
        self.cause = cause
        self.is_passing = is_passing
        self.after_s = after_s


def headers(access: Access) -> dict[str, str]:
    """Return the headers of a request; compression is refused, because what it hides cannot be bounded."""
    known = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    if access.key is not None:
        known["Authorization"] = f"Bearer {access.key.get_secret_value()}"
    return known


def body(access: Access, request: Request) -> bytes:
    """Return the document of a request. Of lone surrogates, which many endpoints refuse, each is sent as U+FFFD."""
    said = (("system", request.system), ("user", request.user))
    messages = [
        {"role": role, "content": _HALF_SIGN.sub("\ufffd", text)} for role, text in said if text or role == "user"
    ]
    return dump_line({**access.endpoint.fields(), "messages": messages}).encode("ascii")


async def receive(response: httpx.Response) -> bytes:
    """Return the document of an answer. Raises Refusal for one that is no success, encoded or too large."""
    status = response.status_code
    if status != HTTPStatus.OK:
        raise _refusal(f"status {status}", status, response.headers.get("Retry-After", ""))
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refusal("its answer is compressed, although that was refused", is_passing=False)
    data = bytearray()
    parts = 0
    async for part in response.aiter_bytes():
        data += part
        parts += 1
        if parts > MOST_PARTS:
            raise Refusal(f"its answer comes in more than {MOST_PARTS} parts", is_passing=False)
        if len(data) > MOST_BYTES:
            raise Refusal(f"its answer is longer than {MOST_BYTES} bytes", is_passing=False)
    return bytes(data)


def _refusal(reason: str, status: int, retry_after: str = "") -> Refusal:
    is_passing = status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    after_s = read_retry_after(retry_after) if is_passing else None
    return Refusal(reason, _cause_of(status), is_passing=is_passing, after_s=after_s)


def _cause_of(status: int) -> Cause:
    if status in _BUSY:
        return Cause.BUSY
    if status == HTTPStatus.GATEWAY_TIMEOUT:
        return Cause.LATE
    is_refusal = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Cause.REFUSED if is_refusal else Cause.FAILED


def read_reply(data: bytes, access: Access) -> Reply:
    """Return the first choice's text, without the key if the endpoint has echoed it. Raises Refusal.

    A choice that has ended without a text (a filter, a model that thought until its end) is one that says nothing; one
    that was broken off, or that comes with an error, is no reply, however much of a text it has.
    """
    try:
        document = read_json(data.decode("utf-8"))
    except ValueError:  # not UTF-8, not JSON, nested too deeply, or with a number of thousands of digits
        raise Refusal("its answer is no JSON") from None
    if not isinstance(document, dict):
        raise Refusal("its answer holds no choice")
    _refuse_error(document.get("error"))
    choice = _first(document.get("choices"))
    _refuse_error(choice.get("error"))
    message = choice.get("message")
    end = choice.get("finish_reason")
    if isinstance(end, str) and end.lower() in _BROKEN_OFF:
        raise Refusal("its reply was broken off by a fault of its own")
    text = message.get("content") if isinstance(message, dict) else None
    if isinstance(message, dict) and text is None and isinstance(end, str) and end:
        text = ""
    if not isinstance(text, str):
        raise Refusal("its answer holds no text")
    if access.key is not None:
        text = text.replace(access.key.get_secret_value(), "[key]")
    return Reply(text, is_cut=end == "length")


def read_retry_after(text: str, clock: Callable[[], float] = time.time) -> float | None:
    """Return the seconds that a `Retry-After` header asks for, at least 0; None where it is neither form."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - clock())
    except (ValueError, OverflowError, TypeError):
        return None


def _first(choices: Any) -> dict[str, Any]:
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Refusal("its answer holds no choice")
    return choices[0]


def _refuse_error(error: Any) -> None:
    """Raise Refusal for an error that comes in an answer with the status 200, as gateways send those of others."""
    if not error:
        return
    code = error.get("code") if isinstance(error, dict) else None
    if isinstance(code, int) and code in _STATUSES:
        raise _refusal(f"an error with the code {code} in its answer", code)
    raise Refusal("an error in its answer")
