"""Which tests may run side by side (`script/test`), which go to few processes or one, and what each begins with."""

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_HERE = Path(__file__).parent
_PARTS = {
    "attack": {
        "hostile": "attacks use up the machine, and what they leave behind is counted: only backends go side by side",
    },
    "alone": {
        "compose": "projects of several services share one engine with everything else",
        "gpu": "there is one device, and it is timed",
        "hostile/kernels": "kernels are timed",
        "e2e/test_benchmarks.py": "speeds are measured",
        "integration/test_container_backend.py": "containers of the engine are counted",
        "integration/test_http_kernels.py": "kernels are timed",
        "integration/test_load.py": "as many requests as a service takes, in time",
        "sandbox/test_cpu_runner_calls.py": "kernels are timed",
        "sandbox/test_cpu_runner_ends.py": "kernels are timed",
        "sandbox/test_kernel_bombs.py": "compilers take memory and processor time up to their limits",
        "sandbox/test_kernel_modules.py": "kernels are timed",
        "sandbox/test_kernel_timing_jobs.py": "kernels are timed",
        "sandbox/test_worked_examples.py": "kernels are timed",
    },
}
"""By mark: folders and files of tests that do not run beside others, with the reason. The innermost place counts."""


def pytest_configure() -> None:
    """A place that is not there is an error."""
    places = [place for part in _PARTS.values() for place in part]
    if missing := [place for place in places if not (_HERE / place).exists()]:
        raise pytest.UsageError(f"tests/conftest.py names what is not there: {missing}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Under `-m alone` or `-m attack` only what may have the mark is read: to read the rest takes many seconds."""
    part = _PARTS.get(config.option.markexpr)
    place = collection_path.relative_to(_HERE)
    if part is None or any(Path(other).is_relative_to(place) for other in part):
        return None  # it may be for another reason
    return _mark(place) != config.option.markexpr or None


@pytest.hookimpl(tryfirst=True)  # before pytest leaves out what `-m` does not choose
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of `_PARTS`."""
    for item in items:
        if mark := _mark(item.path.relative_to(_HERE)):
            item.add_marker(mark)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Under `-m attack` a backend's tests go to one process; those of ordinary users share one, as they share a count.

    (xdist 3.8's own groups are lost under pytest 9.)
    """
    if config.option.markexpr != "attack":
        return None
    from xdist.scheduler import LoadScopeScheduling  # whoever runs tests one by one can do without

    class ByBackend(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            named = re.search(r"\[(?:[a-z]+-(user)|(docker|[a-z]+-root))-", nodeid)
            return (named[1] or named[2]) if named else nodeid

    return ByBackend(config, log)


def _mark(place: Path) -> str | None:
    """The part of the innermost place that is `place` or holds it, or None."""
    for inner in (place, *place.parents):
        for mark, part in _PARTS.items():
            if inner.as_posix() in part:
                return mark
    return None


@pytest.fixture(autouse=True)
def _own_ctrl_c() -> Iterator[None]:
    """Every test begins with Python's own Ctrl-C, whatever a command line that ran in this process made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
