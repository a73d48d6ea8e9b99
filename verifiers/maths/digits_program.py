"""The jailed program that compares values to many digits: it decides most of what the worker cannot, and is light.

Where mpmath is not installed it can be started all the same, and says so.
"""

import importlib
from fractions import Fraction
from typing import Any  # Any: msgpack values

from assay.verifiers.maths import asking
from assay.verifiers.maths.building import ONE, add, number
from assay.verifiers.maths.nodes import Call, Constant, Function, Named, Power, Symbol

_NEEDED = ("mpmath",)


def warm() -> None:
    """Import what every process needs, and do once what each would repeat."""
    if not asking.are_installed(_NEEDED):
        return
    importlib.import_module("assay.verifiers.maths.probes")
    asking.versions()
    two = number(2)
    waves = add(*(Power(Call(name, (Symbol("x"),)), two) for name in (Function.SIN, Function.COS)))
    logarithm = Call(Function.LN, (Power(Constant(Named.E), Constant(Named.PI)),))
    root = Call(Function.ROOT, (two, two))
    pairs: asking.Pairs = [
        (root, Power(two, number(Fraction(1, 2))), 0.0),
        (ONE, waves, 0.0),
        (Constant(Named.PI), logarithm, 0.0),
    ]
    _answer(asking.ask_pairs(pairs))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Answer one question about pairs or values on `fds[0]`: a list of findings, or whether they can be evaluated."""
    asking.answer_on(fds[0], lambda: _answer(payload))
    return 0


def _answer(payload: bytes) -> Any:
    if not asking.are_installed(_NEEDED):
        return asking.MISSING
    # Here, not at the top: without mpmath this module must be importable, to say so. The warm interpreter has it.
    from assay.verifiers.maths.probes import can_evaluate, find

    kind, asked = asking.read_question(payload)
    if kind == "alone":
        return all(map(can_evaluate, asked))
    return [str(find(gold, answer, tolerance)) for gold, answer, tolerance in asked]
