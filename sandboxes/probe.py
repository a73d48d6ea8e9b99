"""What isolation this host offers, without running anything untrusted: the facts behind `assay doctor`."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

from assay.errors import AssayError
from assay.sandboxes import cgroup, seccomp, syscalls
from assay.sandboxes.backends import open_pool
from assay.sandboxes.syscalls import Namespace
from assay.settings import Settings


@dataclass(frozen=True)
class Finding:
    """One fact: `ok` None means "nice to have, absent". `fix` says how to get what is missing."""

    name: str
    ok: bool | None
    detail: str
    fix: str = ""


def probe(settings: Settings) -> tuple[Finding, ...]:
    """Look at this host; the last finding says whether a jail could really be made and closed."""
    return (_machine(), *_namespaces(), _filter(), _memory_groups(), _jail(settings))


def _machine() -> Finding:
    name = f"{platform.system()} {platform.release()} {platform.machine()}"
    ok = platform.system() == "Linux" and syscalls.supported_machine()
    return Finding("kernel", ok, name, "" if ok else "run on Linux on x86-64 or AArch64")


def _namespaces() -> list[Finding]:
    wanted = Namespace.MOUNT | Namespace.PID | Namespace.NET | Namespace.IPC | Namespace.UTS
    user = Namespace.USER | wanted
    who = "root" if os.getuid() == 0 else "an ordinary user"
    if _can_clone(user):
        return [Finding("namespaces", True, f"user, mount, pid, net, ipc and uts as {who}")]
    return [Finding("namespaces", False, f"cannot make them as {who}", _namespace_fix())]


def _namespace_fix() -> str:
    switches = (
        ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1"),
        ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
         "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor profile that allows userns"),
        ("/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000"),
    )  # fmt: skip
    for path, bad, fix in switches:
        if Path(path).is_file() and Path(path).read_text().strip() == bad:
            return fix
    return "in a container, allow unshare, clone, mount and pivot_root in its seccomp profile; or run as root"


def _can_clone(flags: Namespace) -> bool:
    try:
        pid = syscalls.clone(flags, lambda: 0)
    except OSError:
        return False
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def _filter() -> Finding:
    known = platform.machine() in seccomp.MACHINES
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    ok = known and actions.is_file() and "kill_process" in actions.read_text()
    return Finding(
        "seccomp",
        ok,
        "filters with kill_process" if ok else "not available",
        "" if ok else "Linux 4.14 or newer",
    )


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
        open_pool(settings.model_copy(update={"slots": 1, "insecure": False})).close()
    except AssayError as error:
        return Finding("jail", False, str(error), "see the findings above")
    return Finding("jail", True, "made, closed and checked from the inside")
