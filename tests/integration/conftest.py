"""A private Redis and whole services with the fake verifier, for the tests in this folder."""

import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from isolation import skipped_without

from assay.errors import InfraFault
from assay.service.assembly import reserve_for
from assay.service.connection import Connection
from assay.service.fakes import FAKE
from assay.service.redis_server import PrivateRedis, find_redis_server
from assay.service.serve import embedded
from assay.settings import Settings, required_neighbours


@pytest.fixture(scope="session")
def redis_binary() -> str:
    """The redis-server to use; skipped where there is none, unless ASSAY_REQUIRE names `redis`."""
    try:
        return find_redis_server()
    except InfraFault as error:
        if "redis" in required_neighbours():
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def service_folder(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001 - skips
    """The data folder of the service that most tests share."""
    return tmp_path_factory.mktemp("service")


@pytest.fixture(scope="session")
def service_url(service_folder: Path) -> Iterator[str]:
    """The address of a service with one worker of four slots (and one for scores) that judges echo tasks."""
    settings = Settings(port=0, data_dir=service_folder, slots=4, queue_limit=50_000, max_body_mb=16, log_level="error")
    with embedded(settings, assembler=FAKE) as url:
        yield url


@pytest.fixture
def http(service_url: str) -> Iterator[httpx.Client]:
    """A client of that service."""
    with httpx.Client(base_url=service_url, timeout=30) as client:
        yield client


@pytest.fixture
def data_dir(redis_binary: str, tmp_path: Path) -> Path:  # noqa: ARG001 - skips
    """An empty folder for a service of the test's own."""
    return tmp_path / "data"


@pytest.fixture(scope="module")
def redis(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateRedis]:  # noqa: ARG001 - skip
    """A private Redis for this file."""
    folder = tmp_path_factory.mktemp("redis")
    folder.joinpath("data").mkdir()
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
    server = PrivateRedis(folder / "data")
    server.start(lock)
    yield server
    server.stop()
    os.close(lock)


@pytest.fixture
def connection(redis: PrivateRedis) -> Iterator[Connection]:
    """A connection to an empty Redis."""
    made = Connection(redis.url)
    made.ask("FLUSHALL")
    yield made
    made.close()


_COMPAT_SLOTS = 2


@pytest.fixture(scope="session")
def compat_slots() -> int:
    """How many attempts that service runs at once, calls that are held among them."""
    return _COMPAT_SLOTS + reserve_for(_COMPAT_SLOTS)


@pytest.fixture(scope="session")
def compat_url(redis_binary: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001 - skips
    """The address of a service with real verifiers in real jails."""
    settings = Settings(port=0, data_dir=tmp_path_factory.mktemp("compat"), slots=_COMPAT_SLOTS, log_level="error")
    with skipped_without(), embedded(settings) as url:
        yield url


@pytest.fixture
def call(compat_url: str) -> Iterator[httpx.Client]:
    """A client of that service."""
    with httpx.Client(base_url=compat_url, timeout=120) as client:
        yield client
