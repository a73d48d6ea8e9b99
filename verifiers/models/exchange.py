"""One HTTP exchange with a model endpoint, without its timing: what is sent, what is accepted, what is worth a retry.

Whatever an endpoint sends is hostile: its size is bounded while it is read, and none of it stands in a message.
"""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any  # Any: an answer is unparsed JSON

import httpx

from assay.canonical import dump_line
from assay.verifiers.models.endpoints import Access
from assay.verifiers.models.interface import Reply, Request
from assay.verifiers.rules.literal import read_json

MOST_BYTES = 2_000_000
"""The longest answer that is read, as it comes."""

_PASSING = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})


class Refusal(Exception):
    """An endpoint gave no reply; `is_passing` says whether another try may, `after_s` when it asks for one."""

    def __init__(self, reason: str, *, is_passing: bool = True, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.is_passing = is_passing
        self.after_s = after_s


def headers(access: Access) -> dict[str, str]:
    """Return the headers of a request; compression is refused, because what it hides cannot be bounded."""
    known = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
    if access.key is not None:
        known["Authorization"] = f"Bearer {access.key.get_secret_value()}"
    return known


def body(access: Access, request: Request) -> bytes:
    """Return the document of a request. Lone surrogates, which a completion may hold, are escaped like the rest."""
    messages = [{"role": "system", "content": request.system}] if request.system else []
    messages.append({"role": "user", "content": request.user})
    return dump_line({**access.endpoint.fields(), "messages": messages}).encode("ascii")


async def receive(response: httpx.Response) -> bytes:
    """Return the document of an answer. Raises Refusal for one that is no success, encoded or too large."""
    status = response.status_code
    if status != HTTPStatus.OK:
        is_passing = status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR
        after_s = read_retry_after(response.headers.get("Retry-After", "")) if is_passing else None
        raise Refusal(f"status {status}", is_passing=is_passing, after_s=after_s)
    if response.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise Refusal("its answer is compressed, although that was refused", is_passing=False)
    data = bytearray()
    async for part in response.aiter_bytes():
        data += part
        if len(data) > MOST_BYTES:
            raise Refusal(f"its answer is longer than {MOST_BYTES} bytes", is_passing=False)
    return bytes(data)


def read_reply(data: bytes, access: Access) -> Reply:
    """Return the first choice's text, without the key if the endpoint has echoed it. Raises Refusal."""
    try:
        document = read_json(data.decode("utf-8"))
    except ValueError:  # not UTF-8, not JSON, nested too deeply, or with a number of thousands of digits
        raise Refusal("its answer is no JSON") from None
    choice = _first(document.get("choices") if isinstance(document, dict) else None)
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise Refusal("its answer holds no text")
    if access.key is not None:
        text = text.replace(access.key.get_secret_value(), "[key]")
    return Reply(text, is_cut=choice.get("finish_reason") == "length")


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
