"""A program that a worker runs in each new pool before anything untrusted: is the jail closed, from the inside?"""

import os
import socket
import sys

_EXPECTED = {"CapEff": "0000000000000000", "CapPrm": "0000000000000000", "NoNewPrivs": "1", "Seccomp": "2"}


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Write what is wrong to standard error, one fault a line; return 0 when nothing is."""
    del fds
    faults = list(_faults(payload.decode().split("\n"))) if payload else []
    for fault in faults:
        sys.stderr.write(fault + "\n")
    sys.stderr.flush()
    return 1 if faults else 0


def _faults(hidden_paths: list[str]) -> list[str]:
    with open("/proc/self/status", encoding="utf-8") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    faults = [
        f"{key} is {status.get(key)}, should be {value}" for key, value in _EXPECTED.items() if status.get(key) != value
    ]
    interfaces = [name for _, name in socket.if_nameindex()]
    if interfaces != ["lo"]:
        faults.append(f"network interfaces are {interfaces}, should be lo alone")
    faults += [f"the host's {path} is visible" for path in hidden_paths if path and os.path.exists(path)]
    processes = [name for name in os.listdir("/proc") if name.isdigit()]
    if processes != [str(os.getpid())]:
        faults.append(f"processes {processes} are visible, should be its own alone")
    return faults
