"""The tasks that a worker keeps, and those that it reads anew."""

from collections.abc import Iterable, Mapping
from typing import cast

import pytest

from assay.schema import TaskBase
from assay.service.fakes import EchoTask, EchoVerifier
from assay.service.task_cache import TaskCache, Unreadable
from assay.service.tasks import TaskStore
from assay.verifiers.registry import Registry


class Stored:
    """Task documents, and which of them were asked for."""

    def __init__(self, *names: str) -> None:
        self.texts = {name: f'{{"id": "{name}", "verifier": "echo", "tests": ["a"]}}'.encode() for name in names}
        self.asked: list[list[str]] = []

    def documents(self, names: Iterable[str]) -> Mapping[str, bytes]:
        """Return those that are there."""
        self.asked.append(list(names))
        return {name: self.texts[name] for name in self.asked[-1] if name in self.texts}


@pytest.fixture
def stored() -> Stored:
    """Two tasks."""
    return Stored("one", "two")


def cache_of(stored: Stored, limit_bytes: int = 10_000) -> TaskCache:
    """A cache with the room given."""
    return TaskCache(cast(TaskStore, stored), Registry([EchoVerifier()]), limit_bytes)


def ids(found: Mapping[str, TaskBase | Unreadable]) -> list[str]:
    """The ids of tasks that can be used."""
    return [task.id for task in found.values() if isinstance(task, EchoTask)]


def test_a_task_is_read_once(stored: Stored) -> None:
    """Its document does not travel again for each chunk of attempts."""
    cache = cache_of(stored)

    cache.find(["one", "two", "one"])
    found = cache.find(["two", "one"])

    assert ids(found) == ["two", "one"]
    assert stored.asked == [["one", "two"], []]


def test_what_is_read_for_a_chunk_drops_none_of_its_other_tasks(stored: Stored) -> None:
    """A task that was kept is in use, although those that come with it leave no room for it."""
    cache = cache_of(stored, limit_bytes=60)
    cache.find(["one"])

    found = cache.find(["two", "one"])

    assert ids(found) == ["two", "one"]


def test_what_cannot_be_used_says_why(stored: Stored) -> None:
    """The document is gone, or of a verifier that this worker does not have."""
    stored.texts["odd"] = b'{"id": "odd", "verifier": "other"}'

    found = cache_of(stored).find(["odd", "lost"])

    assert found["lost"] == Unreadable("its document is gone")
    assert isinstance(found["odd"], Unreadable)
    assert "other" in found["odd"].reason
