"""Which tests may run side by side (`script/test`), and which go to one process together."""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent
_ALONE = {
    "compose": "projects of several services share one engine with everything else",
    "gpu": "there is one device, and it is timed",
    "hostile": "attacks use up the machine, and what they leave behind is counted",
    "e2e/test_benchmarks.py": "speeds are measured",
    "integration/test_container_backend.py": "containers of the engine are counted",
    "integration/test_http_kernels.py": "kernels are timed",
    "integration/test_load.py": "as many requests as a service takes, in time",
    "sandbox/test_cpu_runner_calls.py": "kernels are timed",
    "sandbox/test_cpu_runner_ends.py": "kernels are timed",
    "sandbox/test_kernel_bombs.py": "compilers take memory and processor time up to their limits",
    "sandbox/test_kernel_modules.py": "kernels are timed",
    "sandbox/test_kernel_timing_jobs.py": "kernels are timed",
}
"""Folders and files of tests that need the machine for themselves, with the reason."""


def pytest_configure() -> None:
    """A place that is not there is an error."""
    if missing := [place for place in _ALONE if not (_HERE / place).exists()]:
        raise pytest.UsageError(f"tests/conftest.py names what is not there: {missing}")


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what `-m` does not choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of `_ALONE`."""
    for item in items:
        place = item.path.relative_to(_HERE)
        if not _ALONE.keys().isdisjoint((place.parts[0], place.as_posix())):
            item.add_marker(pytest.mark.alone)
