"""Memory that runs out around the jails, as in a pod that is too small: never an attempt's own loss."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from process_trees import descendants
from waiting import wait_for

from assay.levels import Level
from assay.outcomes import Outcome
from assay.sandboxes import jail
from assay.sandboxes.cgroup import Controllers, JailGroup, find_controllers, fresh_name, kills_around
from assay.sandboxes.jails import Backend, JailPool
from assay.sandboxes.warm import spawn
from assay.schema import Verdict
from assay.verifiers.builtin import default_registry
from assay.verifiers.evaluate import Evaluator

pytestmark = pytest.mark.jail

HELD = "x = bytearray({mb} << 20)\nfor at in range(0, len(x), 4096):\n    x[at] = 1\n"
ENDS_ITSELF = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.fixture
def room() -> Iterator[tuple[Controllers, Path]]:
    """A group with 200 MB in which groups can be made, and its folder."""
    found = find_controllers()
    if found.memory is None:
        pytest.skip("no control groups can be made here")
    name = fresh_name()
    group = JailGroup(Controllers(found.memory, found.version), name)
    group.limit(200)
    yield Controllers(found.memory / name, found.version), found.memory / name
    group.remove()


def judge(pool: JailPool, source: str, memory_mb: int = 512) -> Verdict:
    """Run a program under that limit."""
    registry = default_registry()
    task = registry.parse_task({"id": "t", "verifier": "run", "limits": {"memory_mb": memory_mb}})
    return Evaluator(registry, pool, retries=1).evaluate(task, source).verdict


def settled(controllers: Controllers, folder: Path) -> None:
    """Wait until what a killed process held is given back: the next one would be short of it."""
    file = folder / ("memory.current" if controllers.version == 2 else "memory.usage_in_bytes")
    wait_for(lambda: int(file.read_text()) <= 100 << 20)


@pytest.mark.parametrize("grouped", [True, False])
def test_memory_that_runs_out_around_a_jail_is_no_loss(
    room: tuple[Controllers, Path], grouped: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Whether jails have groups or not; what passes its own limit, or ends itself, still pays."""
    controllers, folder = room
    before = set(descendants(os.getpid()))
    backend = Backend(Level.NAMESPACES, partial(spawn, {}), controllers if grouped else Controllers(None, None))
    pool = JailPool(backend, slots=1, recycle_after=1000)
    try:
        assert judge(pool, "print(1)").outcome is Outcome.PASSED
        for pid in () if grouped else set(descendants(os.getpid())) - before:
            (folder / "cgroup.procs").write_text(str(pid))
            told = tmp_path / "cgroup"  # of a worker, which is where its jails are, and does not die with them
            told.write_text(Path(f"/proc/{pid}/cgroup").read_text())
            monkeypatch.setattr(jail, "kills_around", partial(kills_around, told))

        starved = judge(pool, HELD.format(mb=400))
        settled(controllers, folder)
        greedy = judge(pool, HELD.format(mb=400), memory_mb=64)
        settled(controllers, folder)
        own = judge(pool, ENDS_ITSELF)
    finally:
        pool.close()

    assert (starved.outcome, starved.reward) == (Outcome.INFRA_ERROR, None), starved
    assert "ran out of memory" in starved.message
    assert greedy.outcome is Outcome.MEMORY_EXCEEDED, greedy
    assert own.outcome is Outcome.RUNTIME_ERROR, own
