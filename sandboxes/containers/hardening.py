"""How a container for jails is made: everything that is taken away from it, in the words of the engine's API."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

SOCKET_FOLDER = "/run/assay"
"""Where the folder with the worker's socket is mounted, read-only."""
SOCKET_NAME = "worker"
_USER = "1000:1000"
# Interpreters build their roots in it; each jail has a temporary file system of its own.
_TMP = "rw,nosuid,nodev,noexec,size=16m,nr_inodes=4096,mode=1777"
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


def container_document(plan: Plan) -> dict[str, object]:
    """Return the body of the engine's "create a container" call."""
    memory_bytes = int(plan.engine_memory_bytes * _MEMORY_SHARE)
    return {
        "Image": plan.image,
        "Entrypoint": ["python", "-P", "-s", "-m", "assay.sandboxes.containers.keeper"],
        "Cmd": [f"{SOCKET_FOLDER}/{SOCKET_NAME}"],
        "User": _USER,
        "WorkingDir": "/",
        "Hostname": "jail",
        "Labels": dict(plan.labels),
        "HostConfig": {
            "Runtime": plan.runtime,
            "AutoRemove": True,
            "NetworkMode": "none",
            "IpcMode": "private",
            "ReadonlyRootfs": True,
            "Tmpfs": {"/tmp": _TMP},
            "Mounts": [{"Type": "bind", "Source": plan.socket_folder, "Target": SOCKET_FOLDER, "ReadOnly": True}],
            "CapDrop": ["ALL"],
            "SecurityOpt": _security_options(plan),
            # Docker masks parts of /proc by mounts; under those the kernel refuses the fresh /proc that a jail mounts
            # for its processes. What they mask is for root alone, which no process in the container can become.
            "MaskedPaths": [],
            "ReadonlyPaths": [],
            "PidsLimit": _PIDS_BESIDE + _PIDS_PER_SLOT * plan.slots,
            "Memory": memory_bytes,
            "MemorySwap": memory_bytes,
            "CpusetCpus": ",".join(str(core) for core in sorted(plan.cores)),
            "ShmSize": 2**20,
            "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m"}},
        },
    }


def _security_options(plan: Plan) -> list[str]:
    options = ["no-new-privileges:true", f"seccomp={seccomp_profile()}"]
    return options if plan.apparmor is None else [*options, f"apparmor={plan.apparmor}"]


def usable_cores() -> frozenset[int]:
    """The cores that this worker may use, and so its containers."""
    return frozenset(os.sched_getaffinity(0))
