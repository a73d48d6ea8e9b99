"""The jailed program that compares values to many digits: it decides most of what the worker cannot, and is light.

Where mpmath is not installed it can be started all the same, and says so.
"""

import importlib
from functools import cache
from types import ModuleType
from typing import Any  # Any: msgpack values

from assay.verifiers.maths import asking

_NEEDED = ("mpmath",)
_CONSTANTS: tuple[Any, ...] = (
    ["c", "pi"],
    ["c", "e"],
    *(["f", name, ["n", "0x3", "0x2", None]] for name in ("sin", "cos", "ln", "sinh", "atan")),
    ["^", ["c", "e"], ["c", "pi"]],
    ["f", "root", ["n", "0x2", "0x1", None], ["n", "0x2", "0x1", None]],
    ["^", ["s", "x"], ["n", "0x1", "0x2", None]],
    ["*", ["c", "i"], ["+", ["c", "pi"], ["s", "x"]]],
)
_AHEAD_DIGITS = 400
_USUAL_DIGITS = 150


def warm() -> None:
    """Import what every process needs, and do once what each would repeat: digits of constants, first of all."""
    if not asking.are_installed(_NEEDED):
        return
    asking.versions()
    point: asking.Point = {"x": 0.4}
    for digits in (_AHEAD_DIGITS, _USUAL_DIGITS):
        same = [asking.Comparison(value, value, 0.0, digits, [point], True, True) for value in _CONSTANTS]
        _answer(asking.ask_digits(same))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Answer one question on `fds[0]`: a list of findings, or whether values can be evaluated."""
    asking.answer_on(fds[0], lambda: _answer(payload))
    return 0


def _answer(payload: bytes) -> Any:
    if not asking.are_installed(_NEEDED):
        return asking.MISSING
    kind, asked = asking.read_question(payload)
    probes = _probes()
    if kind == "alone":
        return all(probes.can_evaluate(value, points) for value, points in asked)
    return [str(probes.find(asking.Comparison(*comparison))) for comparison in asked]


@cache
def _probes() -> ModuleType:
    """Return the module that evaluates. Without mpmath this one must be importable, to say so."""
    return importlib.import_module("assay.verifiers.maths.probes")
