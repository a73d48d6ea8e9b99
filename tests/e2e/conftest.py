"""What end-to-end tests stand on: a host that can isolate, and the `assay` of this interpreter."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from isolation import skipped_without

from assay.sandboxes.backends import open_pool
from assay.settings import Settings

Assay = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def isolation() -> None:
    """Skip where attempts cannot be isolated, unless ASSAY_REQUIRE says that they must be."""
    with skipped_without():
        open_pool(Settings(slots=1)).close()


@pytest.fixture(scope="session")
def assay(isolation: None, tmp_path_factory: pytest.TempPathFactory) -> Assay:
    """Run `assay` as a user does, in a folder outside the checkout."""
    del isolation
    folder = tmp_path_factory.mktemp("elsewhere")

    def run(*arguments: str | Path, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "assay", *map(str, arguments)]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=timeout_s)

    return run


@pytest.fixture(scope="session")
def cases() -> Path:
    """The conformity files that are part of the repository."""
    return Path(__file__).parents[1] / "cases"
