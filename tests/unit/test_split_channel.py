"""Frames over a socket whose other end may be hostile."""

import socket
import threading
from collections.abc import Iterator

import pytest

from assay.verifiers.split.channel import Channel, ChannelClosed, FrameTooLarge

Pair = tuple[Channel, Channel]


@pytest.fixture
def pair() -> Iterator[Pair]:
    left, right = socket.socketpair()
    yield Channel(left, cap_bytes=1_000_000), Channel(right, cap_bytes=1_000_000)
    left.close()
    right.close()


def test_frames_arrive_whole_and_in_order(pair: Pair) -> None:
    """Frames of any size come out as they went in, one by one."""
    bodies = [b"", b"a", b"b" * 300_000, b"c"]
    sender = threading.Thread(target=lambda: [pair[0].send(body) for body in bodies])

    sender.start()
    received = [pair[1].receive() for _ in bodies]
    sender.join()

    assert received == bodies


def test_an_announced_size_over_the_cap_is_refused_before_reading(pair: Pair) -> None:
    """A length over the cap is FrameTooLarge although none of the body was sent."""
    pair[0].sock.sendall((1_000_001).to_bytes(4, "big"))

    with pytest.raises(FrameTooLarge):
        pair[1].receive()


def test_a_body_over_the_cap_is_not_sent(pair: Pair) -> None:
    """Sending too large a body raises FrameTooLarge and leaves the stream intact."""
    with pytest.raises(FrameTooLarge):
        pair[0].send(b"x" * 1_000_001)
    pair[0].send(b"next")

    assert pair[1].receive() == b"next"


def test_a_closed_peer_is_told_apart_from_silence(pair: Pair) -> None:
    """Receiving from a closed peer is ChannelClosed."""
    pair[0].close()

    with pytest.raises(ChannelClosed):
        pair[1].receive()


def test_a_peer_that_closes_within_a_frame_is_closed(pair: Pair) -> None:
    """Half a frame and an end is ChannelClosed, not a short frame."""
    pair[0].sock.sendall((10).to_bytes(4, "big") + b"half")
    pair[0].close()

    with pytest.raises(ChannelClosed):
        pair[1].receive()


def test_two_ends_that_send_at_once_do_not_lock(pair: Pair) -> None:
    """Both ends may send more than the socket holds at the same time."""
    body = b"x" * 900_000
    received: list[bytes] = []

    def exchange(channel: Channel) -> None:
        channel.send(body)
        received.append(channel.receive())

    other = threading.Thread(target=exchange, args=(pair[1],))
    other.start()
    exchange(pair[0])
    other.join()

    assert received == [body, body]


def test_the_wait_may_give_up() -> None:
    """What the caller's wait function raises ends a receive that would block, also within a frame."""
    left, right = socket.socketpair()

    def give_up(_events: int) -> None:
        raise TimeoutError

    channel = Channel(left, wait=give_up)
    right.sendall(b"\0\0")

    with pytest.raises(TimeoutError):
        channel.receive()
    left.close()
    right.close()
