"""A pool of real jails for the tests in this folder."""

from collections.abc import Callable, Iterator

import pytest

from assay.errors import IsolationUnavailable
from assay.sandboxes.backends import open_pool
from assay.sandboxes.jails import JailPool
from assay.sandboxes.pool import Pool
from assay.schema import Verdict
from assay.settings import Settings, load_settings, required_neighbours
from assay.verifiers.run import RunTask, RunVerifier


@pytest.fixture(scope="module")
def pool() -> Iterator[JailPool]:
    """Two slots of jails; skipped where the host cannot isolate, unless ASSAY_REQUIRE names `jail`."""
    try:
        made = open_pool(Settings(slots=2, cuda_root=load_settings().cuda_root))
    except IsolationUnavailable as error:
        if "jail" in required_neighbours():
            raise
        pytest.skip(f"no isolation on this machine: {error}")
    yield made
    made.close()


Run = Callable[..., Verdict]


@pytest.fixture
def run(pool: Pool) -> Run:
    """Run a program in a jail: `run(source, stdin="", **limits)`."""

    def run_program(source: str, stdin: str = "", **limits: object) -> Verdict:
        task = RunTask.model_validate({"id": "t", "verifier": "run", "stdin": stdin, "limits": limits})
        with pool.slot() as slot:
            return RunVerifier().judge(task, source, slot)

    return run_program
