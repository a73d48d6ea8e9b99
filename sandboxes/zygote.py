"""The warm interpreter: imports what attempts need once, moves into the jail's file system, then forks hosts.

Started by a worker as `python -P -s -m assay.sandboxes.zygote FD`. It has one thread, an empty environment and no
secret: whatever is in its memory, a candidate may find. It runs nothing of a task or completion itself. It and its
hosts end when their sockets do, that is with the worker, however that ends (a parent-death signal would not do: it
fires when the *thread* that started the process ends).
"""

import gc
import importlib
import os
import signal
import socket
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any  # fork hooks are callables of any kind

from assay.levels import Level
from assay.sandboxes import rootfs, seccomp, syscalls, wire
from assay.sandboxes.child import Confinement
from assay.sandboxes.entering import USER_ID
from assay.sandboxes.fence import plan_fence
from assay.sandboxes.host import host_main
from assay.sandboxes.pages import heap_in_large_pages
from assay.sandboxes.procfs import children_of
from assay.sandboxes.syscalls import Namespace

_HOST_NAMESPACES = Namespace.USER | Namespace.PID | Namespace.MOUNT | Namespace.IPC | Namespace.UTS | Namespace.NET
FIRST_HOST_UID = 100_000
"""Outside user ids of hosts when the worker is root: two each, from here upwards."""


def main(arguments: Sequence[str]) -> int:
    """Serve the control socket whose descriptor comes first; a folder for attempts to write in may follow."""
    control = socket.socket(fileno=int(arguments[0]))
    received = wire.receive(control)
    if received is None:
        return 0
    (_, modules, level), _ = received
    try:
        confinement = _prepare(modules, Level(level), *arguments[1:])
    except Exception as error:  # noqa: BLE001 - process entry point: the worker must learn why
        wire.send(control, wire.failed(error, f"{type(error).__name__}: {error}"))
        return 1
    wire.send(control, ["ready"])
    _serve(control, confinement)
    return 0


def _prepare(modules: Sequence[str], level: Level, work_folder: str = "") -> Confinement:
    warm, hooks = import_warm(modules)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _forget_main()
    gc.collect()
    gc.freeze()
    heap_in_large_pages()
    if level is Level.INSECURE:
        return Confinement(None, hooks)
    names = [
        *(module.__name__ for module in warm),
        *(name for name in sys.modules if name.startswith("assay")),
    ]
    if level is Level.LANDLOCK:
        syscalls.prctl(syscalls.PR_SET_CHILD_SUBREAPER, 1)  # for what a host that was killed leaves behind
        fence = plan_fence(names, work_folder)
        filters = seccomp.fenced_filters_for_this_machine(own_user=fence.first_user is not None)
        return Confinement(filters, hooks, fence=fence)
    filters = seccomp.filters_for_this_machine()
    uid, gid = os.getuid(), os.getgid()
    if uid != 0:
        syscalls.unshare(Namespace.USER | Namespace.MOUNT)
        _write_maps("self", f"{uid} {uid} 1", f"{gid} {gid} 1")
    else:
        syscalls.unshare(Namespace.MOUNT)
    return Confinement(filters, hooks, rootfs.enter_new_root(rootfs.interpreter_folders(names)))


def import_warm(modules: Sequence[str]) -> tuple[list[types.ModuleType], tuple[Mapping[str, Any], ...]]:
    """Import and warm `modules`; return them and the fork hooks that they tried to register.

    `threading` and `random` would have every fork of ours touch some 150 pages (0.4 ms) to repair what a fork of a
    process with one thread does not break. Children register the hooks for their own forks.
    """
    hooks: list[Mapping[str, Any]] = []
    register = os.register_at_fork
    os.register_at_fork = lambda **asked: hooks.append(asked)
    try:
        warm = [importlib.import_module(name) for name in modules]
        for module in warm:
            if hasattr(module, "warm"):
                module.warm()
    finally:
        os.register_at_fork = register
    return warm, tuple(hooks)


def _serve(control: socket.socket, confinement: Confinement) -> None:
    hosts: set[int] = set()
    while (received := wire.receive(control)) is not None:
        (kind, *fields), descriptors = received
        if kind == "retire":
            control.close()
            _outlive_hosts()
            return
        (number,), (host_control,) = fields, descriptors
        if confinement.fence is not None:
            _end_strays(hosts)
        try:
            pid = _fork_host(host_control, confinement, number)
            hosts.add(pid)
            wire.send(control, ["forked", pid])
        except OSError as error:
            wire.send(control, wire.failed(error, str(error)))
        os.close(host_control)
        _reap(hosts)


def _fork_host(control_fd: int, confinement: Confinement, number: int) -> int:
    """Clone a host and, where it has a user namespace, write its maps before it goes on."""
    isolated = confinement.filters is not None and confinement.fence is None
    go_read, go_write = os.pipe()

    def body() -> int:
        os.close(go_write)
        if os.read(go_read, 1) != b"g":
            return 1
        return host_main(control_fd, confinement)

    try:
        pid = syscalls.clone(_HOST_NAMESPACES if isolated else Namespace(0), body)
        if isolated:
            _write_maps(str(pid), *_host_maps(number))
        os.write(go_write, b"g")
    finally:
        os.close(go_read)
        os.close(go_write)
    return pid


def _host_maps(number: int) -> tuple[str, str]:
    """User and group map of host `number`: root gives host and children ids of their own, a user has but one."""
    if os.getuid() != 0:
        return f"{USER_ID} {os.getuid()} 1", f"{USER_ID} {os.getgid()} 1"
    outside = FIRST_HOST_UID + 2 * number
    text = f"0 {outside} 1\n{USER_ID} {outside + 1} 1"
    return text, text


def _write_maps(process: str, uid_map: str, gid_map: str) -> None:
    for name, text in (("setgroups", "deny"), ("uid_map", uid_map), ("gid_map", gid_map)):
        with open(f"/proc/{process}/{name}", "w") as file:
            file.write(text)


def _forget_main() -> None:
    """Give candidates an empty `__main__` and no trace of how the interpreter was started."""
    sys.modules["__main__"] = types.ModuleType("__main__")
    sys.path[:] = [entry for entry in sys.path if entry]


def _outlive_hosts() -> None:
    """Fork no more, but stay until the last host has ended: it would end with this process."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _reap(hosts: set[int]) -> None:
    """Collect hosts that have ended, so that none stays a zombie."""
    try:
        while pid := os.waitpid(-1, os.WNOHANG)[0]:
            hosts.discard(pid)
    except ChildProcessError:
        return


def _end_strays(hosts: set[int]) -> None:
    """Kill what hosts that were killed left running: it has become ours, and so does what it leaves in its turn."""
    _reap(hosts)
    while strays := set(children_of(os.getpid())) - hosts:
        for pid in strays:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
