"""What the facts of a host mean for attempts on it, and which fix is named."""

import subprocess
import sys
from dataclasses import replace

import pytest

from assay.levels import Level
from assay.sandboxes.probe import Facts, Finding, interpret, made
from assay.settings import Settings

UBUNTU = Facts(
    "Linux", "6.8.0-31-generic", "x86_64", userns_clone="1", apparmor_userns="1", most_userns="63000",
    filter_actions="kill_process kill_thread trap errno", landlock=4,
)  # fmt: skip
HARDENED = replace(UBUNTU, release="6.1.0-hardened", apparmor_userns=None, userns_clone="0")
SWITCHED_OFF = replace(UBUNTU, release="5.14.0-427.el9", apparmor_userns=None, userns_clone=None, most_userns="0")
IN_DOCKER = replace(UBUNTU, apparmor_userns=None, userns_clone=None, is_root=True, has_filter=True)
OPEN = replace(UBUNTU, namespaces_made=True)


def finding(facts: Facts, name: str, settings: Settings | None = None) -> Finding:
    """Return the finding of that name."""
    return next(one for one in interpret(facts, settings or Settings()) if one.name == name)


@pytest.mark.parametrize(
    ("facts", "fix"),
    [
        pytest.param(UBUNTU, "deploy/apparmor/assay", id="Ubuntu 24.04"),
        pytest.param(HARDENED, "kernel.unprivileged_userns_clone=1", id="hardened kernel"),
        pytest.param(SWITCHED_OFF, "user.max_user_namespaces=10000", id="no user namespaces"),
        pytest.param(IN_DOCKER, "sandboxes/containers/seccomp.json", id="Docker's default filter"),
    ],
)
def test_the_fix_of_what_forbids_namespaces_is_named(facts: Facts, fix: str) -> None:
    """Each known obstacle is recognised, and the message names what removes it."""
    found = finding(facts, "namespaces")

    assert found.ok is False
    assert fix in found.fix


def test_an_engine_that_answers_stands_in_for_namespaces() -> None:
    """Where Docker answers, missing namespaces are no failure: `auto` takes the engine."""
    found = finding(replace(UBUNTU, engine_answers=True), "namespaces")

    assert found.ok is None
    assert "ASSAY_SANDBOX=auto" in found.detail


@pytest.mark.parametrize(
    ("level", "origin", "judge"),
    [
        (Level.NAMESPACES, {}, "this machine's Python"),
        (Level.DOCKER, {"image": "sha256:0", "python": "3.12.4"}, "the image's Python 3.12.4"),
    ],
)
def test_the_level_and_whose_python_judges_are_told(level: Level, origin: dict[str, str], judge: str) -> None:
    """The finding about the jail names the confinement a worker would have here, and the Python inside."""
    found = made(level, origin)

    assert f"at level {level} " in found.detail
    assert f"{judge} judges" in found.detail


def test_a_host_with_namespaces_needs_no_fix() -> None:
    """What the kernel really did counts more than what its settings say."""
    assert finding(OPEN, "namespaces").ok is True


@pytest.mark.parametrize(
    ("facts", "fix"),
    [
        pytest.param(Facts("Darwin", "23.5.0", "arm64"), "docker compose up", id="macOS"),
        pytest.param(Facts("Windows", "11", "AMD64"), "docker compose up", id="Windows"),
        pytest.param(Facts("Linux", "4.4.0-19041-Microsoft", "x86_64"), "wsl --set-version", id="WSL 1"),
        pytest.param(Facts("Linux", "6.1.0", "riscv64"), "x86_64 or aarch64", id="another processor"),
    ],
)
def test_hosts_that_cannot_isolate_are_told_what_can(facts: Facts, fix: str) -> None:
    """Other systems get one clear no, and the way to workers that can."""
    (found,) = interpret(facts, Settings())

    assert found.ok is False
    assert fix in found.fix


@pytest.mark.parametrize(("version", "who"), [(4, "root only"), (6, "root and ordinary users")])
def test_who_can_use_landlock_depends_on_its_version(version: int, who: str) -> None:
    """Before version 6 signals pass, so that only user ids of their own keep attempts apart."""
    assert who in finding(replace(UBUNTU, landlock=version), "landlock").detail


def test_the_weakest_level_allowed_is_shown() -> None:
    """The operator's setting is among the findings."""
    settings = Settings.model_validate({"least_confinement": "docker"})

    assert "docker" in finding(OPEN, "least confinement", settings).detail


OTHER_SYSTEM = """
import sys, os, socket, platform, ctypes, logging, subprocess, tempfile, pydantic, msgpack, shutil, pathlib, json
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("sysconf", "fork", "getuid", "sched_getaffinity", "memfd_create", "pidfd_open", "unshare", "O_DIRECTORY"):
    if hasattr(os, name):
        delattr(os, name)
def refuse(*_, **__): raise OSError("no such library")
ctypes.CDLL = ctypes.PyDLL = refuse
platform.system = lambda: NAME
import assay.sandboxes.backends, assay.sandboxes.probe, assay.cli.main
from assay.settings import Settings
print(*(one.detail + one.fix for one in assay.sandboxes.probe.probe(Settings())))
"""


@pytest.mark.parametrize("name", ["Darwin", "Windows"])
def test_other_systems_are_told_so_without_a_crash(name: str) -> None:
    """Importing the sandboxes needs nothing that only Linux has; looking at the host then says no."""
    program = OTHER_SYSTEM.replace("NAME", repr(name))

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)

    assert done.stderr == ""
    assert "attempts need a Linux kernel" in done.stdout
