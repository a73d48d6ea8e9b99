"""What an answer that is no success means: a typed error, and how long the service asks to wait."""

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any  # Any: a problem document is JSON from elsewhere

import httpx

from assay.errors import (
    AssayError,
    InvalidRequest,
    NotFound,
    QueueFull,
    RequestError,
    ServiceUnavailable,
    TooLarge,
    Unauthorized,
    UnsupportedMedia,
)

FAULTS = (httpx.HTTPError, httpx.StreamError)
"""All that httpx raises while it sends, receives and decodes."""

_KINDS: Mapping[int, type[RequestError]] = {
    kind.status: kind for kind in (Unauthorized, NotFound, TooLarge, UnsupportedMedia, InvalidRequest)
}


def refusal(status_code: int, body: bytes, retry_after: str | None) -> AssayError:
    """Return the exception for an answer that is no success, with the problem's detail, path and fix."""
    problem = _problem(body)
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP status {status_code}")
    if status_code == 429:
        return QueueFull(detail, retry_after_s=math.ceil(retry_after_s(retry_after, datetime.now(UTC))) or 1)
    if 400 <= status_code < 500:
        kind = _KINDS.get(status_code, RequestError)
        return kind(detail, path=str(problem.get("path") or ""), fix=str(problem.get("fix") or ""))
    return ServiceUnavailable(f"the service answered {status_code}: {detail}")


def retry_after_s(header: str | None, now: datetime) -> float:
    """Return the seconds that a Retry-After header asks for, by number or by date; 0.0 if it is none."""
    try:
        value = float(header or 0)
    except ValueError:
        value = _seconds_until(header or "", now)
    return max(value, 0.0) if math.isfinite(value) else 0.0


def _seconds_until(date: str, now: datetime) -> float:
    try:
        moment = parsedate_to_datetime(date)
    except (ValueError, OverflowError):  # a year or a zone that no date has
        return 0.0
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - now).total_seconds()


def _problem(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
