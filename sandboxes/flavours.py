"""What each flavour's warm interpreter has imported.

Programs of verifiers are named here as modules: they are imported in the warm interpreter, never in the worker.
"""

from assay.sandboxes.interface import Role

# Every module here makes every fork dearer, so these are what most attempts use anyway.
_STANDARD = (
    "bisect", "collections", "copy", "datetime", "functools", "heapq", "itertools", "json", "math", "operator",
    "random", "re", "string", "typing", "assay.sandboxes.selfcheck", "assay.verifiers.stdio_program",
)  # fmt: skip
_WITH_CANDIDATES = (*_STANDARD, "assay.verifiers.split.candidate")
_FLAVOURS: dict[str, tuple[str, ...]] = {
    "bare": _WITH_CANDIDATES,
    "programs": _STANDARD,
    "numeric": (*_WITH_CANDIDATES, "numpy", "numpy.testing"),
    "pytest": (*_WITH_CANDIDATES, "assay.verifiers.split.pytest_style", "assay.verifiers.split.shared"),
    "digits": ("assay.sandboxes.selfcheck", "assay.verifiers.maths.digits_program"),
    "kernel": (
        "assay.sandboxes.selfcheck",
        "assay.sandboxes.devices.runner_program",
        "assay.verifiers.kernels.compile_program",
    ),
    "languages": (
        "assay.sandboxes.selfcheck",
        "assay.verifiers.languages.builder_program",
        "assay.verifiers.languages.collector_program",
        "assay.verifiers.languages.launcher_program",
    ),
    "torch": ("assay.sandboxes.selfcheck", "assay.verifiers.kernels.module_program"),
    "math": ("assay.sandboxes.selfcheck", "assay.verifiers.maths.symbolic_program"),
    "environments": (
        "assay.sandboxes.selfcheck",
        "assay.verifiers.environment.actions_program",
        "assay.verifiers.environment.policy_program",
    ),
    "solvers": (*_STANDARD, "assay.verifiers.optimisation.solver_program", "assay.verifiers.optimisation.warm_solvers"),
    "modelling": (
        *_STANDARD,
        "assay.verifiers.optimisation.solver_program",
        "assay.verifiers.optimisation.warm_modelling",
    ),
    "highs": ("assay.sandboxes.selfcheck", "assay.verifiers.optimisation.optimum_program"),
    "sqlite": ("assay.sandboxes.selfcheck", "assay.verifiers.sql.sqlite_program"),
    "simulator": ("assay.sandboxes.selfcheck", "assay.verifiers.simulator.program"),
    "duckdb": ("assay.sandboxes.selfcheck", "assay.verifiers.sql.duckdb_program"),
}
_WITHOUT_TESTS = frozenset({
    "digits", "duckdb", "environments", "highs", "kernel", "languages", "math", "modelling", "programs", "simulator",
    "solvers", "sqlite", "torch",
})  # fmt: skip
_ORACLES = (
    "assay.verifiers.split.oracle", "assay.verifiers.split.resident", "assay.verifiers.checker_program",
    "assay.verifiers.program.verify_program",
)  # fmt: skip

NAMES = tuple(_FLAVOURS)
"""Every flavour."""


def modules_of(role: Role, flavour: str) -> tuple[str, ...]:
    """Return what the warm interpreter of that role and flavour imports."""
    oracles = _ORACLES if role is Role.ORACLE and flavour not in _WITHOUT_TESTS else ()
    return (*_FLAVOURS[flavour], *oracles)
