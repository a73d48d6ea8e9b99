"""The words of the conversation between oracle and candidate.

A message is one msgpack array in one frame. The oracle asks (`Ask`), the candidate answers (`Say`); while the
oracle waits for an answer the candidate may call back, and while the candidate waits for the answer to that, the
oracle may ask again. So at any time exactly one side is awaited, and no message needs a number, except in
pipelined calls, whose answers come in the order of the questions.
"""

from enum import IntEnum
from typing import Any  # messages hold anything

LEAF_TYPES = frozenset({type(None), bool, int, float, str, bytes})
"""Types that msgpack carries as they are (integers beyond 64 bits as an extension)."""

PLAIN_BASES: dict[str, type] = {
    base.__name__: base for base in (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)
}
"""Builtin types whose subclasses cross with a plain value."""

MUTABLE_BASES = frozenset({"list", "dict", "set", "bytearray"})


class ProtocolError(Exception):
    """The peer sent something that is not part of the protocol."""


class Ask(IntEnum):
    """What the oracle asks. Fields follow; `bin` marks an encoded value."""

    CALL = 1
    """handle, bin [args, kwargs], copy back? -> value"""
    METHOD = 2
    """handle, name, bin [args, kwargs] -> value of calling that attribute"""
    SPECIAL = 3
    """operation name, bin [args] -> value; the operations are those of `assay.verifiers.split.operations`"""
    GET = 4
    """name -> value of that module global"""
    SET = 5
    """name, bin value -> None"""
    DESCRIBE = 6
    """handle of a class -> its description; handle of a function -> its description"""
    NEXT = 7
    """handle of an iterator, most items -> [items, state] (see `Iteration`)"""
    START = 8
    """handle of an awaitable -> number of the task that now runs it on the candidate's loop"""
    PUMP = 9
    """seconds, bin finished oracle awaitables -> [done tasks, wanted oracle awaitables, those wanted no longer]"""
    CANCEL = 10
    """task number -> None"""
    FIELDS = 11
    """handle -> [fields that take part in a dataclass's comparison]"""
    PLAIN = 12
    """handle -> plain value of a builtin subclass"""
    LINES = 13
    """-> None; then one byte with a descriptor follows, over which further lines will be passed in the same way"""
    AMEND = 14
    """bin [owner or None for the module, attribute], bin changes of the containers in its value -> None"""


class Say(IntEnum):
    """What the candidate says; VALUE and ERROR are also how the oracle answers a callback."""

    VALUE = 101
    """bin value; then, where there is any: joint?, stdout, stderr, bin changed plain values.

    If *joint* is true the value is `[result, changes of the arguments]`."""
    ERROR = 102
    """bin exception; then the same"""
    CALLBACK = 103
    """operation name, handle of an oracle object, bin [args, kwargs]; the oracle answers VALUE or ERROR"""
    LOADED = 104
    """names, module name, error or None: the load report, first and once"""


class Iteration(IntEnum):
    """How a batch of items ended."""

    MORE = 0
    ENDED = 1
    FAILED = 2


class Code(IntEnum):
    """Extension codes of values."""

    TUPLE = 1
    SET = 2
    FROZENSET = 3
    INTEGER = 4
    COMPLEX = 5
    SINGLETON = 6
    STDLIB = 7
    NAMED = 8
    ARRAY = 10
    SCALAR = 11
    FRAME = 12
    SYMBOLIC = 13
    NETWORK = 14
    GRAPH = 16
    NODE = 17
    KNOWN = 18
    OBJECT = 32
    """A candidate's object: handle, handle of its class, plain value or None."""
    CLASS = 33
    """A candidate's class: handle."""
    FUNCTION = 34
    """A candidate's function: handle, name, is it a coroutine function."""
    METHOD = 35
    """A bound method of a candidate's object: object, name; only ever sent by the oracle."""
    FAULT = 36
    """A candidate's exception: handle or None, class, args, text, attributes, cause."""
    PROMPT_CLASS = 37
    """A class the prompt defines, by name."""
    ORACLE = 38
    """An oracle's object. Towards the candidate: handle, its class, and what is special about it; back: handle."""
    LIBRARY = 39
    """A callable of an importable library, by name; only ever sent by the oracle."""


FIRST_PORT_CODE = 32


def load_report(message: list[Any]) -> tuple[frozenset[str], str, tuple[str, str] | None]:
    """Return the names, the module's name and (outcome, message) of a failed load. Raises ProtocolError."""
    match message:
        case [Say.LOADED, list() as names, str() as module, error] if all(type(name) is str for name in names):
            match error:
                case None:
                    return frozenset(names), module, None
                case [str() as outcome, str() as told]:
                    return frozenset(names), module, (outcome, told)
    raise ProtocolError("a malformed load report")
