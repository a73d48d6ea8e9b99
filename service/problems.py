"""Refusals as problem documents (RFC 9457): stable types, what is wrong, where, and what to do."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from pydantic_core import ErrorDetails

from assay.canonical import dump_line
from assay.errors import AssayError, InvalidRequest, QueueFull, RequestError, plain
from assay.spelling import nearest, shown
from assay.verifiers.refusals import json_path, remedy

MEDIA_TYPE = "application/problem+json"
_TWICE = "/v1/v1"
_SLUGS = {404: "not-found", 405: "method-not-allowed", 415: "unsupported-media"}


@dataclass(frozen=True)
class Problem:
    """One problem document and its headers."""

    slug: str
    status: int
    detail: str
    path: str = ""
    fix: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self) -> str:
        """Return the document as JSON."""
        document: dict[str, object] = {
            "type": f"urn:assay:problem:{self.slug}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.path:
            document["path"] = self.path
        if self.fix:
            document["fix"] = self.fix
        return dump_line(document)


def of_error(error: AssayError) -> Problem:
    """Return the problem that tells a caller of `error`; what is not the caller's fault is a 503."""
    if not isinstance(error, RequestError):
        return Problem("unavailable", 503, str(error), fix="try again", headers={"Retry-After": "1"})
    headers = {}
    if isinstance(error, QueueFull):
        headers["Retry-After"] = str(error.retry_after_s)
    if error.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return Problem(error.slug, error.status, error.detail, error.path, error.fix, headers)


def of_validation(errors: Sequence[ErrorDetails]) -> Problem:
    """Return the problem for a request that is not of the form that its route declares: the first thing wrong."""
    first = errors[0]
    path = json_path("", first["loc"][1:])
    return of_error(InvalidRequest(plain(first["msg"]), path=path, fix=remedy(first)))


def of_status(status: int, detail: str) -> Problem:
    """Return the problem for a bare HTTP status."""
    return Problem(_SLUGS.get(status, "invalid-request"), status, detail)


def of_unknown_path(path: str, known: Iterable[str]) -> Problem:
    """Return the problem for a path that nothing answers; it names the one of the `known` that was probably meant."""
    bare = path.rstrip("/") or "/"
    fix = "see docs/service.md for the paths there are"
    if bare.startswith(_TWICE):
        fix = "a client is given the service's address without /v1, which it adds itself"
    elif (meant := nearest(bare, known)) is not None:
        fix = f"did you mean {meant}?"
    return Problem(_SLUGS[HTTPStatus.NOT_FOUND], HTTPStatus.NOT_FOUND, f"there is no path {shown(path)}", fix=fix)


def internal() -> Problem:
    """Return the problem for a fault of ours that nobody foresaw; the log knows more."""
    return Problem("internal", 500, "the service failed; its log says how", fix="try again")
