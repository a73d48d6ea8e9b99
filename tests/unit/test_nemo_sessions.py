"""Whose a session of NeMo-Skills is."""

from starlette.requests import Request

from assay.service.compat.nemo_skills import token_of


def _request(**headers: str) -> Request:
    sent = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": sent})


def test_sessions_of_one_name_are_different_ones_under_different_keys() -> None:
    """In whichever header the key comes; the same key finds its session again, also where it comes in the other."""
    callers = [_request(), _request(authorization="Bearer one"), _request(x_auth_token="two")]
    otherwise = [_request(), _request(x_auth_token="one"), _request(authorization="bearer two ")]

    tokens = [token_of(one, "session") for one in callers]

    assert len(set(tokens)) == len(callers)
    assert tokens == [token_of(one, "session") for one in otherwise]
    assert token_of(callers[0], "other") not in tokens
