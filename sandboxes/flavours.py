"""What each flavour's warm interpreter has imported.

Programs of verifiers are named here as modules: they are imported in the warm interpreter, never in the worker.
"""

from assay.sandboxes.interface import Role

# Every module here makes every fork dearer, so these are what most attempts use anyway.
_STANDARD = (
    "bisect", "collections", "copy", "datetime", "functools", "heapq", "itertools", "json", "math", "operator",
    "random", "re", "string", "typing", "assay.sandboxes.selfcheck", "assay.verifiers.split.candidate",
    "assay.verifiers.stdio_program",
)  # fmt: skip
_FLAVOURS: dict[str, tuple[str, ...]] = {
    "bare": _STANDARD,
    "numeric": (*_STANDARD, "numpy", "numpy.testing"),
    "pytest": (*_STANDARD, "assay.verifiers.split.pytest_style", "assay.verifiers.split.shared"),
    "digits": ("assay.sandboxes.selfcheck", "assay.verifiers.maths.digits_program"),
    "kernel": (
        "assay.sandboxes.selfcheck",
        "assay.sandboxes.devices.runner_program",
        "assay.verifiers.kernels.compile_program",
    ),
    "math": ("assay.sandboxes.selfcheck", "assay.verifiers.maths.symbolic_program"),
}
_WITHOUT_TESTS = frozenset({"digits", "kernel", "math"})
_ORACLES = ("assay.verifiers.split.oracle", "assay.verifiers.split.resident", "assay.verifiers.checker_program")

NAMES = tuple(_FLAVOURS)
"""Every flavour."""


def modules_of(role: Role, flavour: str) -> tuple[str, ...]:
    """Return what the warm interpreter of that role and flavour imports."""
    oracles = _ORACLES if role is Role.ORACLE and flavour not in _WITHOUT_TESTS else ()
    return (*_FLAVOURS[flavour], *oracles)
