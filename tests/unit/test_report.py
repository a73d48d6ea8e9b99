"""Reports of the oracle on their way to the supervisor."""

import socket

import msgpack
import pytest

from assay.outcomes import Outcome
from assay.verifiers.split.report import (
    Answer,
    Collected,
    Done,
    Ended,
    Extra,
    Fault,
    Finished,
    Fresh,
    Garbled,
    Gone,
    Inbox,
    Loaded,
    NeedsShared,
    Over,
    Prepared,
    Report,
    Started,
    Stop,
    TaskBroken,
    decode,
    encode,
    frame,
)


@pytest.mark.parametrize(
    "report",
    [
        Fault("f"), TaskBroken("x \ud83d"), NeedsShared("y"), Prepared(3), Prepared(None), Loaded("", ""),
        Collected(("a", "b")), Started(1), Finished(2, Outcome.FAILED, "m", False), Gone(-1, "r"), Over(1.5), Done(),
        Extra(0.5), Ended("t"), Fresh(4), Stop(),
    ],
)  # fmt: skip
def test_reports_and_answers_survive_the_way(report: Report | Answer) -> None:
    """Decoding gives what was encoded."""
    assert decode(encode(report, b"n"), b"n") == report


def test_messages_are_capped() -> None:
    """A report never grows with what a test printed."""
    report = decode(encode(TaskBroken("x" * 10_000), b""), b"")

    assert report == TaskBroken("x" * 2000)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"\xc1", b"\x93", msgpack.packb([b"n"]), msgpack.packb([b"n", "done", 1]), msgpack.packb({"a": 1}),
        msgpack.packb([b"n", "finished", 0, "splendid", "", True]), msgpack.packb([b"n", "started", "0"]),
        msgpack.packb([b"n", 5]), msgpack.packb([b"other", "done"]), msgpack.packb(["n", "done"]), b"\xff" * 50,
    ],
)  # fmt: skip
def test_anything_else_is_garbled(body: bytes) -> None:
    """Wrong shapes, unknown words and a wrong nonce are refused."""
    with pytest.raises(Garbled):
        decode(body, b"n")


def test_a_map_whose_keys_are_no_texts_is_garbled() -> None:
    """Whoever sends it chose them, perhaps all of one hash: they must not be hashed, even to be refused."""
    keys = [1, 1.0, msgpack.Timestamp(1, 2)]

    for key in keys:
        with pytest.raises(Garbled, match="not a report"):
            decode(msgpack.packb([b"", "broken", {key: "x"}]), b"")


def test_the_inbox_waits_for_the_rest_of_a_frame() -> None:
    """A frame that comes in two pieces is yielded once, whole."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        inbox = Inbox(ours)
        whole = frame(b"abc") + frame(b"de")
        theirs.sendall(whole[:5])
        first = list(inbox.take())
        theirs.sendall(whole[5:])

        assert (first, list(inbox.take()), list(inbox.take())) == ([], [b"abc", b"de"], [])


def test_the_inbox_notices_the_end() -> None:
    """After the peer has closed, what it had sent is still yielded."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            theirs.sendall(frame(b"x"))
        inbox = Inbox(ours)

        assert (list(inbox.take()), inbox.closed) == ([b"x"], True)


def test_the_inbox_refuses_a_large_frame_by_its_header() -> None:
    """A length over the cap is refused before its body is waited for."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\xff\xff\xff\xff")

        with pytest.raises(Garbled):
            list(Inbox(ours).take())
