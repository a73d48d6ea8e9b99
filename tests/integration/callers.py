"""Callers of a service by hand: what they send comes when they like, and ends when they hang up."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import httpx
from marked_processes import fresh_mark, marked
from waiting import wait_for


def connect(url: str) -> socket.socket:
    """Open a connection to a service."""
    parsed = httpx.URL(url)
    return socket.create_connection((parsed.host, parsed.port or 80), timeout=30)


def head(path: str, length: int) -> bytes:
    """Return the head of a call whose body has so many bytes."""
    return (
        f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


@contextmanager
def occupied(url: str, slots: int) -> Iterator[None]:
    """In the block all slots of a service are taken, by programs that sleep for as long as their callers stay."""
    mark = fresh_mark()
    code = f"import os\nos.execvp('sleep', ['sleep', '{mark}'])"
    body = json.dumps({"code": code, "language": "python", "run_timeout": 300}).encode()
    with ExitStack() as stack:
        for _ in range(slots):
            caller = stack.enter_context(closing(connect(url)))
            caller.sendall(head("/run_code", len(body)) + body)
        wait_for(lambda: len(marked(mark)) == slots)
        yield
    wait_for(lambda: not marked(mark))
