"""A Docker engine and the containers of this process, as tests see them."""

import os
from pathlib import Path
from typing import Any

from assay.sandboxes.containers.ownership import LABEL


def own_containers(client: Any, pid: int | None = None) -> list[str]:
    """The ids of running containers that a worker (this process) has made."""
    found = client.api.containers(filters={"label": f"{LABEL}={pid or os.getpid()}"})
    return [one["Id"] for one in found]


def processes_of(client: Any, container_id: str) -> dict[int, str]:
    """Names of the processes in a container, by their ids on this machine."""
    first = client.api.inspect_container(container_id)["State"]["Pid"]
    parents, names = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text(errors="replace")
            except OSError:
                continue
            name, _, rest = text.partition("(")[2].rpartition(")")
            parents[int(entry.name)] = int(rest.split()[1])
            names[int(entry.name)] = name
    members = {first}
    while more := {pid for pid, parent in parents.items() if parent in members} - members:
        members |= more
    return {pid: names[pid] for pid in members if pid in names}
