"""Both ends of a short conversation, played in a warm interpreter before it forks.

A child pays for every object it touches first: a copied page, a specialised instruction, a filled cache. What the
first exchange of every attempt touches is touched here once for all of them. Nothing of it is kept.
"""

import socket
from contextlib import closing
from types import ModuleType
from typing import Any  # messages hold anything

from msgpack import ExtType, packb, unpackb

from assay.verifiers.split.channel import Channel
from assay.verifiers.split.echo import Echo
from assay.verifiers.split.remote import Candidate
from assay.verifiers.split.server import Server
from assay.verifiers.split.wire import Ask, Code, Say

_ROUNDS = 12  # the interpreter specialises code that has run eight times
_VALUES: tuple[Any, ...] = (1, "a", [1, 2], [[1], [2]], {"a": 1}, (1, 2), 1.5)


class _Always:
    """A clock that is never over."""

    budget_s = 60.0

    def over(self, waited_s: float) -> float:
        return waited_s


def rehearse_candidate() -> None:
    """Answer what an oracle usually asks."""
    ours, theirs = socket.socketpair()
    module = ModuleType("rehearsal")
    exec("def same(x):\n    return x\n", vars(module))
    with closing(ours), closing(theirs):
        server = Server(Channel(theirs), module, (), Echo())
        peer = Channel(ours)
        questions = [[Ask.GET, "same"]] + [[Ask.CALL, 0, _arguments(value), True] for value in _VALUES] * _ROUNDS
        for question in questions:
            peer.send(packb(question))
        ours.shutdown(socket.SHUT_WR)
        server.serve()


def rehearse_oracle() -> None:
    """Ask what a test usually asks."""
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        peer = Channel(theirs)
        function = packb(ExtType(Code.FUNCTION, packb([0, "same", False])))
        answers = [[Say.LOADED, ["same"], "rehearsal", None], [Say.VALUE, function]]
        answers += [[Say.VALUE, packb(5)] for _ in _VALUES * _ROUNDS]
        for answer in answers:
            peer.send(packb(answer))
        candidate = Candidate(_Always())
        candidate.connect(ours)
        same = candidate.get("same")
        for value in _VALUES * _ROUNDS:
            same(value)
        candidate.close()


def _arguments(value: Any) -> bytes:
    packed = packb([[value], {}], default=lambda item: ExtType(Code.TUPLE, packb(list(item))), strict_types=True)
    assert unpackb(packed)
    return bytes(packed)
