"""The compose files as documents, merged the way Compose v2 merges them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any  # Any: documents as YAML gives them

import yaml
from projects import ROOT, Project

MAIN = ROOT / "docker-compose.yml"
ROOTLESS = ROOT / "deploy" / "compose-rootless.yml"


class _Reset:
    """What `!reset` leaves of a key."""


class _Loader(yaml.SafeLoader):
    """YAML with the tags of Compose v2."""


_Loader.add_constructor("!reset", lambda loader, node: _Reset())  # noqa: ARG005 - the signature is YAML's


def load(path: Path) -> Any:
    """The document in a file."""
    return yaml.load(path.read_text(encoding="utf-8"), _Loader)


def rootless_worker() -> dict[str, Any]:
    """The worker as Compose v2 merges it: lists are appended, commands and plain values replaced, `!reset` removes."""
    worker = dict(load(MAIN)["services"]["worker"])
    for key, value in load(ROOTLESS)["services"]["worker"].items():
        if isinstance(value, _Reset):
            del worker[key]
        elif key == "healthcheck":
            worker[key] = {**worker[key], **value}
        elif isinstance(value, list) and key != "entrypoint":
            worker[key] = [*worker[key], *value]
        else:
            worker[key] = value
    return worker


def interpolated(value: Any) -> Any:
    """The value with the defaults of its variables in their places."""
    if isinstance(value, str):
        return re.sub(r"\$\{[A-Z_]+:-([^}]*)\}", r"\1", value).replace("$$", "$")
    if isinstance(value, list):
        return [interpolated(part) for part in value]
    return value


def run_options(service: Mapping[str, Any], project: Project) -> list[str]:
    """A service's keys as options of `docker run`, its container beside those of the project."""
    [program, *beginning] = interpolated(service["entrypoint"])
    environment = [entry for entry in interpolated(service["environment"]) if "=" in entry]
    options = [f"--env={entry}" for entry in environment]
    options += [f"--security-opt={option}" for option in interpolated(service["security_opt"])]
    options += [f"--cap-drop={name}" for name in service["cap_drop"]]
    options += [f"--cap-add={name}" for name in service.get("cap_add", ())]
    options += [f"--tmpfs={folder}" for folder in service["tmpfs"]]
    options += [f"--user={service['user']}", f"--memory={interpolated(service['mem_limit'])}"]
    options += [f"--pids-limit={service['pids_limit']}", "--read-only", f"--network={project.name}_inside"]
    return [*options, f"--entrypoint={program}", project.images["ASSAY_DOCKER_IMAGE"], *beginning, *service["command"]]
