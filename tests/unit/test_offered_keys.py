"""The key that a caller sends."""

import pytest
from starlette.requests import Request

from assay.service.offered_keys import offered_key


def _request(**headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "headers": raw})


@pytest.mark.parametrize(
    ("headers", "key"),
    [
        ({}, ""),
        ({"authorization": "Bearer one"}, "one"),
        ({"authorization": "bearer  one "}, "one"),
        ({"x_auth_token": "two"}, "two"),
        ({"authorization": "Basic abc", "x_auth_token": "two"}, "two"),
        ({"authorization": "Bearer one", "x_auth_token": "two"}, "one"),
    ],
)
def test_a_key_is_where_its_client_puts_it(headers: dict[str, str], key: str) -> None:
    assert offered_key(_request(**headers)) == key
