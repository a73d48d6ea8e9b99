"""The file system a jail sees: the interpreter and its libraries, read-only, a few devices, and nothing of the host's.

The warm interpreter moves itself in here before it starts its first host, so no jailed process was ever able to
open a path outside.
"""

import glob
import os
import site
import sys
from collections.abc import Iterable

from assay.sandboxes import syscalls
from assay.sandboxes.syscalls import MountFlag
from assay.toolkit import cuda_root

SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache")
"""What programs need of a system, beside the interpreter."""
_JAVA_SETTINGS = "/etc/java-*-openjdk"  # where Debian keeps what a JVM reads when it starts
DEVICES = ("null", "zero", "full", "random", "urandom")
"""The devices that attempts get, all of them harmless."""
_FILES = {
    "etc/passwd": "root:x:0:0:root:/nonexistent:/usr/sbin/nologin\nuser:x:1000:1000:user:/tmp:/bin/sh\n",
    "etc/group": "root:x:0:\nuser:x:1000:\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "etc/hostname": "jail\n",
}
_LINKS = {
    "dev/shm": "/tmp",
    "dev/fd": "/proc/self/fd",
    "dev/stdin": "/proc/self/fd/0",
    "dev/stdout": "/proc/self/fd/1",
    "dev/stderr": "/proc/self/fd/2",
    "var/tmp": "/tmp",
}


def interpreter_folders(modules: Iterable[str]) -> tuple[str, ...]:
    """Folders (outermost only) that the interpreter, the packages in `modules` and compilers need at run time."""
    wanted = {os.path.realpath(cuda_root(os.environ))}
    wanted |= {sys.prefix, sys.base_prefix, sys.exec_prefix, os.path.dirname(os.path.realpath(sys.executable))}
    wanted.update(site.getsitepackages())
    wanted.update(entry for entry in sys.path if os.path.isabs(entry))
    for name in modules:
        found = getattr(sys.modules.get(name), "__file__", None)
        if found:
            wanted.add(os.path.dirname(os.path.abspath(found)))
    folders = sorted({os.path.abspath(folder) for folder in wanted if os.path.isdir(folder)}, key=len)
    outermost: list[str] = []
    for folder in folders:
        if not any(folder == outer or folder.startswith(outer + "/") for outer in (*outermost, *SYSTEM)):
            outermost.append(folder)
    return tuple(outermost)


def enter_new_root(folders: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Build the jail's root in this process's own mount namespace and make it `/`. The host's tree is gone after it.

    Returns (source, target) pairs of folders that lie below /tmp: a child's own /tmp hides them, so it binds them anew.
    """
    syscalls.mount("none", "/", "", MountFlag.REC | MountFlag.PRIVATE)
    root = f"/tmp/assay-root-{os.urandom(8).hex()}"
    os.mkdir(root, 0o700)
    syscalls.mount("tmpfs", root, "tmpfs", MountFlag.NOSUID, "mode=755,size=1m")
    for path in (*SYSTEM, *sorted(glob.glob(_JAVA_SETTINGS)), *folders):
        _bind(root, path)
    hidden = tuple((f"/interpreter/{n}", path) for n, path in enumerate(folders) if path.startswith("/tmp/"))
    for source, path in hidden:
        os.makedirs(root + source)
        _bind_at(path, root + source, read_only=True)
    for name in DEVICES:
        _bind(root, f"/dev/{name}", read_only=False)
    for name in ("proc", "tmp", "old", "var"):
        os.makedirs(f"{root}/{name}", exist_ok=True)
    for name, text in _FILES.items():
        _write(f"{root}/{name}", text)
    for name, target in _LINKS.items():
        os.symlink(target, f"{root}/{name}")
    syscalls.mount("/proc", f"{root}/proc", "", MountFlag.BIND | MountFlag.REC)
    syscalls.pivot_root(root, f"{root}/old")
    os.chdir("/")
    os.rmdir(f"/old{root}")  # the empty folder made above; its mount lives only in this namespace
    syscalls.detach_mount("/old")
    os.rmdir("/old")
    flags = MountFlag.REMOUNT | MountFlag.BIND | MountFlag.RDONLY | MountFlag.NOSUID
    syscalls.mount("none", "/", "", flags)
    return hidden


def _bind(root: str, path: str, *, read_only: bool = True) -> None:
    """Show `path` at the same place below `root`; links are copied as links, what is absent is left out."""
    target = root + path
    if os.path.islink(path):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    elif os.path.exists(path):
        _write(target, "")
    else:
        return
    _bind_at(path, target, read_only=read_only)


def _bind_at(path: str, target: str, *, read_only: bool) -> None:
    syscalls.mount(path, target, "", MountFlag.BIND | MountFlag.REC)
    if read_only:
        flags = MountFlag.REMOUNT | MountFlag.BIND | MountFlag.RDONLY | MountFlag.NOSUID | MountFlag.NODEV
        syscalls.mount("none", target, "", flags)


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
