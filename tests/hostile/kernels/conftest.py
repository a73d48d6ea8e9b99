"""Jails with a compiler for the hostile kernels."""

from collections.abc import Iterator

import pytest
from isolation import skipped_without
from native_kernels import Workshop

from assay.sandboxes.backends import open_pool
from assay.sandboxes.interface import Slot
from assay.sandboxes.jails import JailPool
from assay.settings import Settings
from assay.verifiers.kernels.building import Builder


@pytest.fixture(scope="module")
def pool() -> Iterator[JailPool]:
    """Two slots of jails on this machine."""
    with skipped_without():
        made = open_pool(Settings(slots=2, sandbox="local"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def bare() -> Iterator[Slot]:
    """Plain processes, for naive harnesses of kernels that choose their core: in a jail nobody does."""
    pool = open_pool(Settings(slots=1, insecure=True))
    with pool.slot() as slot:
        yield slot
    pool.close()


@pytest.fixture(scope="session")
def builder() -> Builder:
    """One for all, which compiles a kernel once."""
    return Builder()


@pytest.fixture
def workshop(pool: JailPool, builder: Builder) -> Iterator[Workshop]:
    """The slot, with a compiler."""
    with pool.slot() as slot:
        if not builder.compiler.toolchain(slot).gcc:
            pytest.skip("no gcc where attempts run")
        yield Workshop(slot, builder)
