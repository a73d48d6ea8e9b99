"""Backends under attack, and controls: the same programs where nothing stops them."""

import fcntl
import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict

import pytest
from attack import Attack, Sighting
from backends import BACKENDS, Backend
from worlds import Control, World, growth, run_control, warm_up

from assay.settings import required_neighbours


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the hidden form of attacks where a backend does without."""
    left_out = [item for item in items if _is_hidden_for_nothing(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


def _is_hidden_for_nothing(item: pytest.Item) -> bool:
    chosen = item.callspec.params if hasattr(item, "callspec") else {}
    return bool(chosen.get("hidden")) and isinstance(chosen.get("world"), Backend) and not chosen["world"].hidden_too


@pytest.fixture(scope="session", params=BACKENDS, ids=lambda backend: backend.name)
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Each backend that this machine offers; what is left when all attacks on it have run is counted."""
    backend: Backend = request.param
    if reason := backend.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("world")
    try:
        made = World(backend, folder)
    except AssertionError as error:
        if "IsolationUnavailable" in str(error) and backend.neighbour not in required_neighbours():
            pytest.skip(f"{backend.name}: {str(error).splitlines()[-1]}")
        raise
    warm_up(made)
    before = made.ask(do="count")
    yield made
    after = made.ask(do="count")
    closed = made.ask(do="close")
    made.close()
    assert growth(before, after) == {}
    assert growth({"processes": ["python", "python", "neighbour"], "roots": before.get("roots", 0)}, closed) == {}


@pytest.fixture(scope="session")
def control(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Control:
    """Run an attack's program where nothing stops it, once for all backends and processes, and say what was seen."""
    own = tmp_path_factory.getbasetemp()
    shared = (own if worker_id == "master" else own.parent) / "sightings"
    shared.mkdir(exist_ok=True)

    def sight_once(attack: Attack) -> Sighting:
        with (shared / hashlib.sha256(attack.name.encode()).hexdigest()).open("a+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # whoever comes while it runs waits for it
            file.seek(0)
            if not (told := file.read()):
                told = json.dumps(asdict(run_control(attack, tmp_path_factory.mktemp("control"))))
                file.write(told)
        seen = json.loads(told)
        return Sighting(seen["word"], seen["detail"], tuple(seen["effects"]))

    return sight_once
