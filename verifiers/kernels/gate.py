"""What the static gates share: how a kernel is refused.

A gate says what a compiled kernel must be before anything of it is loaded. It holds for what a file says of itself. It
is no barrier against native code, which runs in a jail of its own whatever a gate has found; in the device-only tier it
keeps state and host calls out of kernels.
"""

from collections.abc import Iterable

from assay.outcomes import Outcome
from assay.verifiers.kernels.elf import BadElf

_MOST_NAMED = 8


class GateRefused(Exception):
    """The kernel is not let through; `outcome` is COMPILE_ERROR unless no honest source becomes that."""

    def __init__(self, message: str, outcome: Outcome = Outcome.VIOLATION) -> None:
        super().__init__(message)
        self.outcome = outcome


def unreadable(error: BadElf) -> GateRefused:
    """Return the refusal of a file that is not what it should be."""
    return GateRefused(f"the compiled kernel cannot be read: {error}", Outcome.COMPILE_ERROR)


def named(names: Iterable[str]) -> str:
    """Return some of these names, for a message."""
    shown = [repr(name[:100]) for name in names]
    more = f" and {len(shown) - _MOST_NAMED} more" if len(shown) > _MOST_NAMED else ""
    return ", ".join(shown[:_MOST_NAMED]) + more
