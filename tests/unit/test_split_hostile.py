"""Peers that do not keep to the protocol: the oracle loses the candidate, and nothing else."""

import os
import random
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any  # messages hold anything

import msgpack
import pytest
from split_pair import Patience, end, load, start_program

from assay.verifiers.split.channel import Channel, ChannelClosed
from assay.verifiers.split.remote import Candidate, CandidateGone
from assay.verifiers.split.switchboard import Line
from assay.verifiers.split.wire import Ask, Code, Say

__all__ = ["load"]

LOADED = msgpack.packb([Say.LOADED, ["f"], "solution", None])
FUNCTION = msgpack.packb(msgpack.ExtType(Code.FUNCTION, msgpack.packb([0, "f", False])))


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """An oracle has one thread, whatever tests before left running here: with more it asks for lines first."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)


@contextmanager
def peer(answer: Callable[[Channel, list[Any]], None], folder: Path, report: bytes = LOADED) -> Iterator[Candidate]:
    """An oracle's view of a peer that says it has loaded `f`, and then answers as it likes."""

    def program(link: socket.socket) -> int:
        channel = Channel(link)
        try:
            channel.send(report)
            while True:
                message = msgpack.unpackb(channel.receive(), strict_map_key=False)
                if message[0] == Ask.GET:
                    channel.send(msgpack.packb([Say.VALUE, FUNCTION]))
                else:
                    answer(channel, message)
        except ChannelClosed:
            return 0

    subject = Candidate(Patience(2.0))
    link, pid = start_program(program, folder)
    try:
        subject.connect(link)
        yield subject
    finally:
        subject.close()
        end(link, pid)


def _say(*parts: Any) -> bytes:
    return bytes(msgpack.packb(list(parts)))


def _value(value: Any) -> bytes:
    return bytes(msgpack.packb(value))


def _object(handle: Any, cls: Any, plain: Any = None) -> bytes:
    return _value(msgpack.ExtType(Code.OBJECT, _value([handle, cls, plain])))


MESSAGES = {
    "an empty frame": b"",
    "no msgpack": b"\xc1\xc1",
    "no list": _value(5),
    "an empty list": _value([]),
    "an unknown kind": _say(7, b""),
    "a second load report": LOADED,
    "a value without one": _say(Say.VALUE),
    "a value that is no bytes": _say(Say.VALUE, 5),
    "a value that is none": _say(Say.VALUE, b"\xc1"),
    "an error that is none": _say(Say.ERROR, b"\xc1"),
    "joint without changes": _say(Say.VALUE, _value(5), True),
    "changes of nothing": _say(Say.VALUE, _value([1, [[99, []]]]), True),
    "changes of an unknown form": _say(Say.VALUE, _value([1, [5]]), True),
    "changed plain values of an unknown form": _say(Say.VALUE, _value(1), False, b"", b"", b"\x05"),
    "a map of keys with one hash": _say(Say.VALUE, _value(5), False, {(2**61 - 1) * number: 0 for number in range(3)}),
    "a callback without arguments": _say(Say.CALLBACK, "call"),
    "a callback of an unknown object": _say(Say.CALLBACK, "call", 99, _value([[], {}])),
    "a callback of a negative object": _say(Say.CALLBACK, "call", -1, _value([[], {}])),
    "a callback of no object": _say(Say.CALLBACK, "call", "x", _value([[], {}])),
    "a callback with bad arguments": _say(Say.CALLBACK, "call", 0, b"\xc1"),
    "a callback with wrong arguments": _say(Say.CALLBACK, "call", 0, _value(5)),
    "an unknown operation": _say(Say.CALLBACK, "os.system", 0, _value([[], {}])),
    "an operation without a name": _say(Say.CALLBACK, 5, 0, _value([[], {}])),
    "a handle of text": _say(Say.VALUE, _object("x", 0)),
    "a handle of half a form": _say(Say.VALUE, _value(msgpack.ExtType(Code.OBJECT, _value([1])))),
    "a class that is a function": _say(Say.VALUE, _object(5, 0)),
    "an oracle's handle that does not exist": _say(Say.VALUE, _value(msgpack.ExtType(Code.ORACLE, _value(99)))),
    "a library callable": _say(Say.VALUE, _value(msgpack.ExtType(Code.LIBRARY, _value("os:system")))),
    "a missing class of the prompt": _say(Say.VALUE, _value(msgpack.ExtType(Code.PROMPT_CLASS, _value("X")))),
    "a fault of an unknown class": _say(
        Say.ERROR, _value(msgpack.ExtType(Code.FAULT, _value([None, ["os:system", "print"], [], "", {}, None])))
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES.values(), ids=list(MESSAGES))
def test_a_malformed_answer_ends_the_candidate(tmp_path: Path, message: bytes) -> None:
    """Whatever is not an answer raises CandidateGone, at once and ever after."""
    with peer(lambda channel, _: channel.send(message), tmp_path) as subject:
        f = subject.get("f")

        with pytest.raises(CandidateGone):
            f(lambda: None)

        assert subject.gone is not None
        with pytest.raises(CandidateGone):
            f()


ITSELF = msgpack.ExtType(Code.CLASS, _value(9))
CLASSES = {
    "nothing": None,
    "a short one": ["C", "C", "m"],
    "a null in the name": ["a\0b", "C", "m", "object", [], [], [], [], False, [], None],
    "a root that is a function": ["C", "C", "m", "print", [], [], [], [], False, [], None],
    "a root that is no exception": ["C", "C", "m", "slice", [], [], [], [], False, [], None],
    "parents that are none": ["C", "C", "m", "object", [5], [], [], [], False, [], None],
    "itself as a parent": ["C", "C", "m", "object", [ITSELF], [], [], [], False, [], None],
    "fields that are keywords": ["C", "C", "m", "object", [], [], [], ["class"], True, [], None],
    "another plain value": ["C", "C", "m", "int", [], [], [], [], False, [], None],
}


@pytest.mark.parametrize("claim", CLASSES.values(), ids=list(CLASSES))
def test_a_malformed_class_ends_the_candidate(tmp_path: Path, claim: Any) -> None:
    """Descriptions of classes are checked; one that contains itself does not go on for ever."""

    def answer(channel: Channel, message: list[Any]) -> None:
        is_class = message[0] == Ask.DESCRIBE
        channel.send(_say(Say.VALUE, _value(claim) if is_class else _object(5, 9, "plain")))

    with peer(answer, tmp_path) as subject, pytest.raises(CandidateGone):
        subject.get("f")()


def test_special_methods_come_from_a_closed_list(tmp_path: Path) -> None:
    """A class cannot give its stand-in methods that Python or numpy would consult on their own."""
    special = ["__class__", "__getattribute__", "__del__", "__array__", "__instancecheck__", "__reduce__", "__len__"]
    claim = ["C", "C", "m", "object", [], special, [], [], False, [], None]

    def answer(channel: Channel, message: list[Any]) -> None:
        channel.send(_say(Say.VALUE, _value(claim) if message[0] == Ask.DESCRIBE else _object(5, 9)))

    with peer(answer, tmp_path) as subject:
        found = type(subject.get("f")())

        assert set(special) & set(vars(found)) == {"__len__"}


@pytest.mark.parametrize("report", [b"", _value([]), _value([Say.LOADED]), _say(Say.LOADED, [5], "m", None),
                                    _say(Say.LOADED, ["f"], "m", ["x"]), _say(Say.VALUE, _value(1))])  # fmt: skip
def test_a_malformed_load_report_ends_the_candidate(tmp_path: Path, report: bytes) -> None:
    """The first message must be a load report."""
    with pytest.raises(CandidateGone), peer(lambda *_: None, tmp_path, report):
        pass


def test_half_a_frame_does_not_stop_the_clock(tmp_path: Path) -> None:
    """A peer that sends part of an answer and waits is out of time like any other."""

    def answer(channel: Channel, _: list[Any]) -> None:
        channel.sock.sendall((100).to_bytes(4, "big") + b"half")
        channel.receive()

    clock_s = 2.0
    with peer(answer, tmp_path) as subject:
        f = subject.get("f")
        started = time.monotonic()

        with pytest.raises(CandidateGone, match="timeout"):
            f()

        assert time.monotonic() - started < clock_s + 60


def test_a_peer_that_does_not_read_does_not_stop_the_clock(tmp_path: Path) -> None:
    """Sending to a peer that never reads is bounded by the same clock."""

    def answer(*_: Any) -> None:
        threading.Event().wait()

    with peer(answer, tmp_path) as subject:
        f = subject.get("f")

        with pytest.raises(CandidateGone, match="timeout"):
            list(subject.call_many("f", [((["x" * 1_000_000],), {})] * 5))

        assert f.__name__ == "f"


def test_an_announced_gigabyte_is_refused(tmp_path: Path) -> None:
    """An answer over the cap ends the candidate before it is read."""

    def answer(channel: Channel, _: list[Any]) -> None:
        channel.sock.sendall((1 << 30).to_bytes(4, "big"))

    with peer(answer, tmp_path) as subject, pytest.raises(CandidateGone, match="too large"):
        subject.get("f")()


def test_endless_callbacks_are_bounded(tmp_path: Path) -> None:
    """A peer that calls back for ever, each time within the last, gets RecursionErrors and no crash."""

    def answer(channel: Channel, _: list[Any]) -> None:
        channel.send(_say(Say.CALLBACK, "call", 1, _value([[], {}])))

    with peer(answer, tmp_path) as subject:
        f = subject.get("f")

        def again() -> Any:
            return f(again)

        with pytest.raises((CandidateGone, RecursionError)):
            f(again)


@pytest.mark.parametrize("seed", range(30))
def test_random_conversations_end_the_candidate_or_give_plain_answers(tmp_path: Path, seed: int) -> None:
    """Damaged answers and callbacks raise CandidateGone or an Exception of the test's; nothing else comes out."""
    dice = random.Random(seed)
    bodies = [_object(5, 9), _object(6, 9, [1]), _value([1, {"a": (1, 2)}]), FUNCTION, _value(None),
              _value(msgpack.ExtType(Code.FAULT, _value([None, ["ValueError", "ValueError"], ["x"], "x", {}, None]))),
              _value(["C", "C", "m", "object", [], ["__len__", "__eq__"], ["go"], [], False, [], None])]  # fmt: skip

    def damage(data: bytes) -> bytes:
        changed = bytearray(data)
        if changed and dice.random() < 0.5:
            changed[dice.randrange(len(changed))] = dice.randrange(256)
        return bytes(changed)

    def answer(channel: Channel, _: list[Any]) -> None:
        kind = dice.choice([Say.VALUE, Say.VALUE, Say.ERROR, Say.CALLBACK])
        if kind == Say.CALLBACK:
            operation = dice.choice(["call", "getattr", "iter", "len", "setattr", "radd", "await"])
            channel.send(damage(_say(kind, operation, dice.randrange(3), _value([[dice.choice(["x", 1])], {}]))))
        else:
            channel.send(damage(_say(kind, damage(dice.choice(bodies)), *([True] if dice.random() < 0.2 else []))))

    with peer(answer, tmp_path) as subject:
        try:
            f = subject.get("f")
            for _ in range(20):
                try:
                    result = f([1, [2]], {"k": {3}}, lambda *_: 1)
                    len(result)
                    result == f()  # noqa: B015 - must not blow up
                except Exception:  # noqa: BLE001 - errors of the candidate's are the test's to see
                    continue
        except CandidateGone:
            pass


def test_a_late_signal_does_not_end_the_conversation() -> None:
    """A signal handler of the completion's that raises while the next question is awaited changes nothing."""
    left, right = socket.socketpair()

    def handle(*_: Any) -> None:
        right.sendall((2).to_bytes(4, "big") + _value([Ask.LINES]))
        raise TimeoutError("late")

    before = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.01)

    message = Line(Channel(left)).receive()

    signal.signal(signal.SIGALRM, before)
    left.close()
    right.close()
    assert message == [Ask.LINES]


def test_descriptors_sent_along_are_not_taken(tmp_path: Path) -> None:
    """File descriptors that a candidate attaches to its answers do not arrive in the oracle."""

    def answer(channel: Channel, _: list[Any]) -> None:
        body = _say(Say.VALUE, _value(1))
        socket.send_fds(channel.sock, [len(body).to_bytes(4, "big") + body], [os.open("/dev/null", os.O_RDONLY)])

    with peer(answer, tmp_path) as subject:
        f = subject.get("f")
        before = len(os.listdir("/proc/self/fd"))

        assert f() == 1

        assert len(os.listdir("/proc/self/fd")) == before
