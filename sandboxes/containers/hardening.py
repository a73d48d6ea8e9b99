"""How a container for jails is made: everything that is taken away from it, as options of the Docker SDK."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

SOCKET_FOLDER = "/run/assay"
"""Where the folder with the worker's socket is mounted, read-only."""
SOCKET_NAME = "worker"
_USER = "1000:1000"
_TMP = "rw,nosuid,nodev,noexec,size=16m,nr_inodes=4096,mode=1777"  # interpreters build their roots in it; jails have their own
_PIDS_BESIDE = 256
_PIDS_PER_SLOT = 1024
_MEMORY_SHARE = 0.9


@dataclass(frozen=True)
class Plan:
    """What differs between containers: the image's id, the folder of the socket, sizes and labels."""

    image: str
    runtime: str
    socket_folder: str
    slots: int
    cores: frozenset[int]
    engine_memory_bytes: int
    apparmor: str | None
    labels: Mapping[str, str]


def seccomp_profile() -> str:
    """Return the committed seccomp profile: an allow list that jails can be made under."""
    return (files("assay.sandboxes.containers") / "seccomp.json").read_text(encoding="utf-8")


def container_options(plan: Plan) -> dict[str, object]:
    """Return the options for `containers.create`; the mount and log objects are plain API documents."""
    memory_bytes = int(plan.engine_memory_bytes * _MEMORY_SHARE)
    return {
        "image": plan.image,
        "entrypoint": ["python", "-P", "-s", "-m", "assay.sandboxes.containers.keeper"],
        "command": [f"{SOCKET_FOLDER}/{SOCKET_NAME}"],
        "runtime": plan.runtime,
        "user": _USER,
        "working_dir": "/",
        "hostname": "jail",
        "labels": dict(plan.labels),
        "auto_remove": True,
        "network_mode": "none",
        "ipc_mode": "private",
        "read_only": True,
        "tmpfs": {"/tmp": _TMP},
        "volumes": {plan.socket_folder: {"bind": SOCKET_FOLDER, "mode": "ro"}},
        "cap_drop": ["ALL"],
        "security_opt": _security_options(plan),
        "pids_limit": _PIDS_BESIDE + _PIDS_PER_SLOT * plan.slots,
        "mem_limit": memory_bytes,
        "memswap_limit": memory_bytes,
        "cpuset_cpus": ",".join(str(core) for core in sorted(plan.cores)),
        "shm_size": 2**20,
    }


def _security_options(plan: Plan) -> list[str]:
    options = [
        "no-new-privileges:true",
        f"seccomp={seccomp_profile()}",
        # Docker masks parts of /proc by mounts; under those the kernel refuses the fresh /proc that each jail mounts
        # for its own processes. What they mask is for root alone, and no process in the container is or can become it.
        "systempaths=unconfined",
    ]
    if plan.apparmor is not None:
        options.append(f"apparmor={plan.apparmor}")
    return options


def usable_cores() -> frozenset[int]:
    """The cores that this worker may use, and so its containers."""
    return frozenset(os.sched_getaffinity(0))
