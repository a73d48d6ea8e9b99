"""What goes to and from the processes of `math`: questions and answers, one of each for a process."""

import gc
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple  # Any: msgpack values

import msgpack

from assay.verifiers.maths.nodes import Node
from assay.verifiers.maths.packing import pack

LIBRARIES = ("math-verify", "latex2sympy2-extended", "sympy", "mpmath")
"""Distributions whose versions a verdict may depend on."""
MISSING = "missing"
"""The answer where a library is not installed."""
FAILED = "failed"
"""The answer where the work ended in a fault of its own."""
MOST_BYTES = 60_000
"""Longer answers are not sent: nobody would read them."""

_DEEP = 5000

Point = Mapping[str, float]
"""Where symbols are."""


class Comparison(NamedTuple):
    """Two packed values whose digits are to be compared, and how."""

    gold: Any
    answer: Any
    tolerance: float
    digits: int
    points: list[Point]
    gold_varies: bool
    """Whether it has symbols."""
    answer_varies: bool


def ask_digits(comparisons: Iterable[Comparison]) -> bytes:
    """Return the payload that asks for a finding by digits on each comparison."""
    return bytes(msgpack.packb(["digits", list(comparisons)]))


def ask_pairs(pairs: Iterable[tuple[Node, Node, float]]) -> bytes:
    """Return the payload that asks for a finding by algebra on each gold and answer, within its tolerance."""
    asked = [[pack(gold), pack(answer), tolerance] for gold, answer, tolerance in pairs]
    return bytes(msgpack.packb(["pairs", asked]))


def ask_alone(values: Iterable[tuple[Node, list[Point]]]) -> bytes:
    """Return the payload that asks whether these values, each at its points, can be dealt with at all."""
    return bytes(msgpack.packb(["alone", [[pack(value), points] for value, points in values]]))


def ask_text(text: str) -> bytes:
    """Return the payload that asks what a text says."""
    return bytes(msgpack.packb(["text", text], unicode_errors="surrogatepass"))


@cache
def are_installed(modules: tuple[str, ...]) -> bool:
    """Whether all of these modules are here."""
    return all(importlib.util.find_spec(name) is not None for name in modules)


@cache
def versions() -> dict[str, str]:
    """Return the versions of the libraries that are installed here."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def read_question(payload: bytes) -> tuple[str, Any]:
    """Return the kind of a question and what it is about: rows of packed values, or a text."""
    kind, asked = msgpack.unpackb(payload, unicode_errors="surrogatepass")
    return kind, asked


def answer_on(fd: int, answer: Callable[[], Any]) -> None:
    """Work out the answer and send it, with the versions of the libraries."""
    gc.disable()  # a collection would touch every page that is shared with the warm interpreter
    sys.setrecursionlimit(_DEEP)
    said = msgpack.packb([answer(), versions()])
    os.write(fd, said if len(said) <= MOST_BYTES else msgpack.packb([FAILED, versions()]))  # a socket takes it whole
