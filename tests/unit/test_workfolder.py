"""The folders that workers without namespaces keep for their attempts."""

import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.sandboxes.workfolder import measure, open_worker_folder, remove


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder of the test's own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_workers_that_start_at_once_keep_their_folders() -> None:
    """A worker that sweeps never takes a folder that another is just making for one left behind."""
    with ThreadPoolExecutor(8) as threads:
        folders = list(threads.map(lambda _: open_worker_folder(), range(200)))

    missing = [folder.path for folder in folders if not os.path.isdir(folder.path)]
    for folder in folders:
        folder.close()
    assert missing == []


def test_the_folder_of_a_dead_worker_is_removed(temporary: Path) -> None:
    """A folder of a worker's that nobody holds a lock on is gone once another worker has started."""
    left = temporary / "assay-work-left"
    (left / "1-1").mkdir(parents=True)

    open_worker_folder().close()

    assert list(temporary.iterdir()) == []


def test_a_folder_is_measured_without_following_links(temporary: Path) -> None:
    """Files and folders count, what a link points at does not."""
    (temporary / "elsewhere").write_bytes(bytes(2**20))
    inner = temporary / "attempt" / "inner"
    inner.mkdir(parents=True)
    (inner / "link").symlink_to(temporary / "elsewhere")
    (inner / "file").write_bytes(bytes(4096))

    content = measure(str(temporary / "attempt"), most_files=100)

    assert content.files == 3
    assert content.disk_bytes < 2**20


def test_what_its_owner_may_not_enter_is_removed_too(temporary: Path) -> None:
    """Folders without any right, nested deep, do not stay."""
    deepest = temporary / "attempt"
    deepest.mkdir()
    for _ in range(100):
        deepest = deepest / "d"
        deepest.mkdir()
    for folder in (deepest, *list(deepest.parents)[:50]):
        folder.chmod(0)

    remove(str(temporary / "attempt"))

    assert not (temporary / "attempt").exists()
