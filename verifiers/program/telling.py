"""What an oracle's program of one question tells its supervisor: that it is ready, and then one answer."""

import socket
from enum import StrEnum
from typing import Any  # Any: msgpack values

import msgpack

from assay.verifiers.split.report import frame

MOST_PRINTED = 4000
"""Characters that are kept of what the source prints."""


class Word(StrEnum):
    """What is told, each with its fields."""

    READY = "ready"
    """The task's source is set up; from here on it has a completion before it."""
    BROKEN = "broken"
    """It cannot be set up, whatever the completion: why."""
    FAILED = "failed"
    """It failed on this completion: why, and what it printed."""
    ANSWER = "answer"
    """What it printed, and what it found."""


def tell(channel: socket.socket, word: Word, *fields: Any) -> None:
    """Send one word with its fields; texts are cut to what a message may hold."""
    cut = [field[:MOST_PRINTED] if isinstance(field, str) else field for field in fields]
    channel.sendall(frame(bytes(msgpack.packb([word, *cut], unicode_errors="surrogatepass"))))
