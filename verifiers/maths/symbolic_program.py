"""The jailed program that decides by computer algebra what digits leave open, or reads one text by math-verify.

Where the extra `math` is not installed it can be started all the same, and says so.
"""

import importlib
from typing import Any  # Any: msgpack values

from assay.verifiers.maths import asking

_NEEDED = ("sympy", "mpmath", "latex2sympy2_extended")
_FREQUENT = (r"\frac{d}{dx} x^{2} + \sqrt{2} \sin(x)", r"\int_{0}^{1} \frac{dx}{x} e^{x}", r"(2 + 3) \cdot y - 4.5 / 7")


def warm() -> None:
    """Import what every process needs, and let the caches of its parser fill with what is frequent."""
    if not asking.are_installed(_NEEDED):
        return
    importlib.import_module("assay.verifiers.maths.algebra")
    asking.versions()
    for text in _FREQUENT:
        _answer(asking.ask_text(text))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Answer one question on `fds[0]`: findings on pairs, whether values can be dealt with, or what a text says."""
    asking.answer_on(fds[0], lambda: _answer(payload))
    return 0


def _answer(payload: bytes) -> Any:
    if not asking.are_installed(_NEEDED):
        return asking.MISSING
    kind, asked = asking.read_question(payload)
    if kind == "text":
        return _read(asked)
    # Here, not at the top: without the extra this module must be importable, to say so. The warm interpreter has it.
    from assay.verifiers.maths.algebra import can_simplify, prove
    from assay.verifiers.maths.packing import unpack

    if kind == "alone":
        return all(can_simplify(unpack(value)) for value, _ in asked)
    return [str(prove(unpack(gold), unpack(answer), tolerance)) for gold, answer, tolerance in asked]


def _read(text: str) -> Any:
    from assay.verifiers.maths.foreign import Unknown, read_foreign  # see above
    from assay.verifiers.maths.packing import pack

    try:
        return pack(read_foreign(text))
    except Unknown:
        return asking.FAILED
