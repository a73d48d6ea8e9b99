"""A worker at the level `landlock`, as root or as an ordinary user: `python landlocked.py UID PROGRAMS`, both JSON.

As root it first opens, in a mount namespace of its own, the way to the interpreter for other users.
"""

import ctypes
import json
import os
import sys
import sysconfig
from pathlib import Path

import assay
from assay.sandboxes import syscalls
from assay.sandboxes.backends import open_pool
from assay.sandboxes.pool import Pool
from assay.sandboxes.syscalls import MountFlag, Namespace
from assay.settings import Settings
from assay.verifiers.run import RunTask, RunVerifier


def main() -> int:
    """Run every program as an attempt in one slot, and print what became of each."""
    user, programs = json.loads(sys.argv[1]), json.loads(sys.argv[2])
    if os.getuid() == 0:
        _open_way()
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    pool = open_pool(Settings.model_validate({"slots": 1, "sandbox": "landlock", "least_confinement": "landlock"}))
    try:
        sys.stdout.write(json.dumps([_run(pool, source, limits) for source, limits in programs]))
    finally:
        pool.close()
    return 0


def _run(pool: Pool, source: str, limits: dict[str, int]) -> dict[str, str]:
    task = RunTask.model_validate({"id": "t", "verifier": "run", "limits": limits})
    with pool.slot() as slot:
        verdict = RunVerifier().judge(task, source, slot)
        level = slot.description
    return {"outcome": verdict.outcome, "stdout": verdict.stdout, "stderr": verdict.stderr, "level": level}


def _open_way() -> None:
    needed = {sys.prefix, sys.base_prefix, sysconfig.get_path("purelib"), *map(os.path.realpath, assay.__path__)}
    closed = {parent for path in needed for parent in Path(path).parents if not parent.stat().st_mode & 0o001}
    if not closed:
        return
    syscalls.unshare(Namespace.MOUNT)
    syscalls.mount("none", "/", "", MountFlag.REC | MountFlag.PRIVATE)
    for parent in sorted(closed):
        kept = [(path, os.open(path, os.O_PATH)) for path in needed if Path(path).is_relative_to(parent)]
        syscalls.mount("tmpfs", str(parent), "tmpfs", MountFlag(0), "mode=755")
        for path, fd in kept:
            os.makedirs(path, exist_ok=True)
            syscalls.mount(f"/proc/self/fd/{fd}", path, "", MountFlag.BIND | MountFlag.REC)


if __name__ == "__main__":
    ctypes.CDLL(None).prctl(1, 9)  # end with the test
    sys.exit(main())
