"""The compose files say what both generations of compose read alike, and nothing that would weaken the service.

Compose v2 is not run here: these are the facts of the Compose Specification, and of docker-compose 1.29, that the files
rely on.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any  # Any: documents as YAML gives them

import pytest
from compose_files import MAIN, ROOTLESS, load, rootless_worker
from projects import KEY, ROOT, output

from assay.sandboxes.cgroup import Controllers, locate
from assay.settings import Settings

SERVICES = ("api", "worker", "redis")
# Service keys with one meaning in docker-compose 1.29 without `version`, and in the Compose Specification.
COMMON_KEYS = {
    *("image", "command", "entrypoint", "user", "read_only", "cap_drop", "cap_add", "security_opt", "tmpfs"),
    *("mem_limit", "cpus", "pids_limit", "environment", "volumes", "ports", "networks", "depends_on", "healthcheck"),
    *("restart", "stop_grace_period", "logging"),
}  # fmt: skip


def services() -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every service, the worker also as the second file makes it."""
    yield from load(MAIN)["services"].items()
    yield "rootless worker", rootless_worker()


def test_there_are_no_keys_of_one_generation() -> None:
    """No `version`, no `deploy`, and no service key that either generation reads differently."""
    document = load(MAIN)

    assert {key for key in document if not key.startswith("x-")} == {"services", "networks", "volumes"}
    assert {key for _, service in services() for key in service} <= COMMON_KEYS


@pytest.mark.parametrize("name", SERVICES)
def test_limits_have_forms_that_both_read(name: str) -> None:
    """A size with its unit, cores, and a literal number of processes: 1.29 passes variables of that one as text."""
    service = load(MAIN)["services"][name]

    assert re.fullmatch(r"\$\{[A-Z_]+:-\d+[mg]\}", service["mem_limit"])
    assert re.fullmatch(r"\$\{[A-Z_]+:-\d+(\.\d+)?\}", service["cpus"])
    assert isinstance(service["pids_limit"], int)


def test_no_service_is_privileged() -> None:
    """Root file systems are read-only, capabilities dropped, new privileges off, and the engine's socket nowhere."""
    for name, service in services():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert "healthcheck" in service, name
    assert "docker.sock" not in MAIN.read_text() + ROOTLESS.read_text()


def test_only_the_first_process_of_workers_has_capabilities() -> None:
    """It has those that uncovering /proc and giving them up take; with the second file, none."""
    for name, service in services():
        granted = {"SYS_ADMIN", "SETUID", "SETGID", "SETPCAP"} if name == "worker" else set()
        assert set(service.get("cap_add", ())) == granted, name
    assert "--bounding-set=-all" in load(MAIN)["services"]["worker"]["entrypoint"][2]
    assert rootless_worker()["user"] == "1000:1000"
    assert "systempaths=unconfined" in rootless_worker()["security_opt"]


def test_the_seccomp_profile_is_there() -> None:
    """Its path holds from the checkout, where 1.29 looks, and relative to the file, where v2 looks."""
    options = load(MAIN)["services"]["worker"]["security_opt"]

    [profile] = [option.removeprefix("seccomp:") for option in options if option.startswith("seccomp:")]

    assert (MAIN.parent / profile).is_file()


def test_workers_and_redis_are_inside_alone() -> None:
    """Only the API is on a network with a way out, and its port is published to this machine alone unless told."""
    document = load(MAIN)

    assert document["networks"]["inside"] == {"internal": True}
    assert document["services"]["worker"]["networks"] == ["inside"]
    assert document["services"]["redis"]["networks"] == ["inside"]
    assert document["services"]["api"]["ports"] == ["${API_ADDRESS:-127.0.0.1:8700}:8700"]


def test_variables_are_settings() -> None:
    """Every ASSAY_* variable that a container gets is a setting, so that none is warned of."""
    names = {
        entry.split("=")[0]
        for _, service in services()
        for entry in service.get("environment", ())
        if entry.startswith("ASSAY_")
    }

    assert {name.removeprefix("ASSAY_").lower() for name in names} <= set(Settings.model_fields)


def test_workers_get_no_key() -> None:
    """Containers that run model-written code are told nothing but where Redis is."""
    [worker] = [service for name, service in services() if name == "worker"]

    assert not any("KEY" in entry for entry in worker["environment"])


def test_every_variable_is_documented() -> None:
    """docs/docker.md has each variable that the file replaces."""
    used = set(re.findall(r"\$\{([A-Z_]+)", MAIN.read_text()))
    page = (ROOT / "docs" / "docker.md").read_text(encoding="utf-8")

    assert {name for name in used if f"`{name}`" not in page} == set()


def test_compose_accepts_the_file() -> None:
    """docker-compose, where it is installed, finds nothing wrong (no engine is needed)."""
    try:
        told = output(["docker-compose", "config", "--quiet"], {"ASSAY_API_KEYS": KEY})
    except FileNotFoundError:
        pytest.skip("docker-compose is not installed")

    assert told == ""


def test_compose_refuses_to_start_without_keys(tmp_path: Path) -> None:
    """Without ASSAY_API_KEYS the message names the variable."""
    try:
        done = subprocess.run(
            ["docker-compose", "--file", MAIN, "config"], cwd=tmp_path, env={"PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("docker-compose is not installed")

    assert done.returncode != 0
    assert "ASSAY_API_KEYS" in done.stderr


def test_containers_paths_are_no_folders_to_make_groups_in() -> None:
    """In a container /proc names folders that its /sys does not have (v1, v2 of the host): none is taken for one."""
    version_1 = "12:memory:/docker/9d0c0b6f2a\n5:cpu,cpuacct:/docker/9d0c0b6f2a\n1:name=systemd:/docker/9d0c0b6f2a\n"
    version_2 = "0::/../no-such-container\n"

    assert locate(version_1) == Controllers(None, None)
    assert locate(version_2) == Controllers(None, None)
