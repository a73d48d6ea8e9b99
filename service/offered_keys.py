"""The key that a caller sends, wherever its client puts it."""

from starlette.requests import Request

_JUDGE0_KEY = "x-auth-token"
"""Where clients of Judge0 send theirs."""


def offered_key(request: Request) -> str:
    """Return the bearer key of a request, else that of Judge0's clients, else an empty text."""
    scheme, _, key = request.headers.get("authorization", "").partition(" ")
    return (key if scheme.lower() == "bearer" else request.headers.get(_JUDGE0_KEY, "")).strip()
