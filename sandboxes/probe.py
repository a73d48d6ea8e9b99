"""What isolation this host offers, without running anything untrusted: the facts behind `assay doctor`."""

import os
import platform
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.extras import install_extras
from assay.levels import Level
from assay.sandboxes import cgroup, seccomp, syscalls
from assay.sandboxes.backends import open_pool
from assay.sandboxes.containers.engine import connect
from assay.sandboxes.landlock import SCOPED_SIGNALS
from assay.sandboxes.syscalls import Namespace
from assay.settings import Settings


@dataclass(frozen=True)
class Finding:
    """One fact: `ok` None means "nice to have, absent". `fix` says how to get what is missing."""

    name: str
    ok: bool | None
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Facts:
    """What this host says of itself; settings of the kernel are their files' text, None where there is no such file."""

    system: str
    release: str
    machine: str
    is_root: bool = False
    namespaces_made: bool = False
    """Whether a process could be started in new namespaces of every kind."""
    userns_clone: str | None = None
    apparmor_userns: str | None = None
    most_userns: str | None = None
    has_filter: bool = False
    """Whether a system-call filter is already around this process, as in a container."""
    filter_actions: str | None = None
    landlock: int = 0
    engine_answers: bool = False


def probe(settings: Settings) -> tuple[Finding, ...]:
    """Look at this host; the last finding says whether a jail could really be made and closed."""
    facts = read_facts()
    found = interpret(facts, settings)
    if facts.system != "Linux":
        return found
    return (*found, _memory_groups(), _jail(settings))


def read_facts() -> Facts:
    """Read what this host says of itself; works on every system."""
    system, release, machine = platform.system(), platform.release(), platform.machine()
    if system != "Linux" or not syscalls.supported_machine():
        return Facts(system, release, machine)
    return Facts(
        system,
        release,
        machine,
        is_root=os.getuid() == 0,
        namespaces_made=_can_clone(),
        userns_clone=_read("/proc/sys/kernel/unprivileged_userns_clone"),
        apparmor_userns=_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        most_userns=_read("/proc/sys/user/max_user_namespaces"),
        has_filter="Seccomp:\t2" in (_read("/proc/self/status") or ""),
        filter_actions=_read("/proc/sys/kernel/seccomp/actions_avail"),
        landlock=syscalls.landlock_version(),
        engine_answers=_engine_answers(),
    )


def interpret(facts: Facts, settings: Settings) -> tuple[Finding, ...]:
    """Say what the facts mean for attempts here, and how to get what is missing."""
    kernel = _kernel(facts)
    if not kernel.ok:
        return (kernel,)
    return (kernel, _namespaces(facts), _filter(facts), _engine(facts), _landlock(facts), _least(settings))


def _kernel(facts: Facts) -> Finding:
    name = f"{facts.system} {facts.release} {facts.machine}"
    if facts.system != "Linux":
        return Finding(
            "kernel",
            False,
            f"{name}: attempts need a Linux kernel",
            "run the workers in Docker: `docker compose up` starts API, Redis and workers in Linux containers, "
            "and `assay score --url` sends them attempts from here",
        )
    if facts.release.endswith("-Microsoft"):  # WSL 2 writes it in lower case
        return Finding("kernel", False, f"{name}: WSL 1 has no namespaces", "wsl --set-version DISTRIBUTION 2")
    if facts.machine not in seccomp.MACHINES:
        return Finding("kernel", False, name, f"run on {' or '.join(seccomp.MACHINES)}")
    return Finding("kernel", True, name)


def _namespaces(facts: Facts) -> Finding:
    who = "root" if facts.is_root else "an ordinary user"
    if facts.namespaces_made:
        return Finding("namespaces", True, f"user, mount, pid, net, ipc and uts as {who}")
    instead = "; the Docker backend answers, and `ASSAY_SANDBOX=auto` takes it" if facts.engine_answers else ""
    cause, fix = _obstacle(facts)
    ok = None if facts.engine_answers else False
    return Finding("namespaces", ok, f"cannot make them as {who}: {cause}{instead}", fix)


def _obstacle(facts: Facts) -> tuple[str, str]:
    """Return why namespaces cannot be made, and what to do about it."""
    other_ways = "or start a Docker engine (ASSAY_SANDBOX=docker), or run the worker as root"
    if facts.most_userns == "0":
        return "user.max_user_namespaces is 0", f"sudo sysctl user.max_user_namespaces=10000, {other_ways}"
    if not facts.is_root and facts.userns_clone == "0":
        cause = "kernel.unprivileged_userns_clone is 0"
        return cause, f"sudo sysctl kernel.unprivileged_userns_clone=1, {other_ways}"
    if not facts.is_root and facts.apparmor_userns == "1":
        return (
            "AppArmor forbids it to unconfined programs (kernel.apparmor_restrict_unprivileged_userns is 1)",
            f"install the profile deploy/apparmor/assay, which says how, {other_ways}",
        )
    if facts.has_filter:
        return (
            "a system-call filter around this process forbids it, as Docker's default one does",
            "start the container with the profile sandboxes/containers/seccomp.json "
            "(--security-opt seccomp=FILE, as docker-compose.yml does), or give it CAP_SYS_ADMIN; where neither is to "
            "be had, ASSAY_SANDBOX=landlock with ASSAY_LEAST_CONFINEMENT=landlock is weaker, but needs neither",
        )
    return "the kernel refuses", "use a kernel with user, mount, pid, net, ipc and uts namespaces, " + other_ways


def _filter(facts: Facts) -> Finding:
    if "kill_process" in (facts.filter_actions or ""):
        return Finding("seccomp", True, "filters with kill_process")
    return Finding("seccomp", False, "not available", "Linux 4.14 or newer")


def _engine(facts: Facts) -> Finding:
    detail = "an engine answers" if facts.engine_answers else "no engine answers"
    return Finding(
        "docker", facts.engine_answers or None, detail, f"start one; for its Python package, {install_extras('docker')}"
    )


def _landlock(facts: Facts) -> Finding:
    if facts.landlock == 0:
        return Finding("landlock", None, "not offered", "Linux 5.13 or newer with `landlock` in its `lsm=` list")
    ordinary = facts.landlock >= SCOPED_SIGNALS
    detail = f"version {facts.landlock}: {'root and ordinary users' if ordinary else 'root only'}"
    return Finding("landlock", True, detail)


def _least(settings: Settings) -> Finding:
    return Finding("least confinement", True, f"{settings.least_confinement} (ASSAY_LEAST_CONFINEMENT)")


def _can_clone() -> bool:
    everything = Namespace.USER | Namespace.MOUNT | Namespace.PID | Namespace.NET | Namespace.IPC | Namespace.UTS
    try:
        pid = syscalls.clone(everything, lambda: 0)
    except OSError:
        return False
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _engine_answers() -> bool:
    try:
        with closing(connect()) as engine:
            engine.facts()
    except AssayError:
        return False
    return True


def _read(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def _memory_groups() -> Finding:
    controllers = cgroup.find_controllers()
    if controllers.memory is None:
        return Finding(
            "memory groups", None, "none may be made here: memory is sampled every 50 ms instead",
            "run as root, or delegate the memory controller to this user",
        )  # fmt: skip
    return Finding("memory groups", True, f"cgroup v{controllers.version}")


def _jail(settings: Settings) -> Finding:
    try:
        with closing(open_pool(settings.model_copy(update={"slots": 1, "insecure": False}))) as pool:
            return made(pool.level, pool.origin)
    except AssayError as error:
        return Finding("jail", False, str(error), "see the findings above")


def made(level: Level, origin: Mapping[str, str]) -> Finding:
    """Say at which level a worker would run here, and whose Python would judge."""
    judge = f"the image's Python {origin['python']}" if "python" in origin else "this machine's Python"
    return Finding("jail", True, f"made at level {level} and checked from the inside; {judge} judges completions")
