"""What the compose tests stand on: an engine, a compose command, images; required where ASSAY_REQUIRE has docker."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping

import pytest
from projects import ROOT, Project, taken_down

from assay.settings import required_neighbours

_COMMANDS = (["docker-compose"], ["docker", "compose"])


def _works(command: list[str]) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60).returncode == 0


def _lack(reason: str) -> None:
    """Skip for `reason`, unless ASSAY_REQUIRE says that Docker must be here."""
    if "docker" in required_neighbours():
        pytest.fail(reason)
    pytest.skip(reason)


def _has_image(name: str) -> bool:
    return _works(["docker", "image", "inspect", name])


@pytest.fixture(scope="session")
def compose_command() -> list[str]:
    """The compose of this machine, of either generation."""
    for command in _COMMANDS:
        if _works([*command, "version"]):
            return command
    _lack("there is no docker-compose and no `docker compose`")
    return []


@pytest.fixture(scope="session")
def images() -> Mapping[str, str]:
    """The variables that name the images to use, each of which is here."""
    if not _works(["docker", "version"]):
        _lack("no Docker engine answers")
    jail = os.environ.get("ASSAY_DOCKER_IMAGE", "assay-jail")
    if not _has_image(jail):
        _lack(f"there is no image {jail}: run script/build-image")
    for redis in (os.environ.get("REDIS_IMAGE", ""), "assay-redis:bookworm", "redis:7-alpine"):
        if redis and _has_image(redis):
            return {"ASSAY_DOCKER_IMAGE": jail, "REDIS_IMAGE": redis}
    _lack("there is no image of Redis: run script/redis-image, or pull redis:7-alpine")
    return {}


@pytest.fixture
def project(compose_command: list[str], images: Mapping[str, str]) -> Iterator[Project]:
    """A project that is not up; whatever is left of it afterwards is taken down."""
    with taken_down(Project(f"assay-test-{os.getpid()}", compose_command, images)) as one:
        yield one


@pytest.fixture(scope="module")
def running(compose_command: list[str], images: Mapping[str, str]) -> Iterator[Project]:
    """A project with one worker, for tests that only look."""
    with taken_down(Project(f"assay-look-{os.getpid()}", compose_command, images)) as one:
        one.up(workers=1)
        yield one
