"""How a service ends: those who follow results are let go, nothing is said but that it ends."""

import ctypes
import signal
import threading
from pathlib import Path

import pytest
from batches import batch, order, submit, wait_for
from processes import is_alive, running

from assay.errors import InvalidRequest
from assay.service.serve import serve
from assay.settings import Settings


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_ends_streams_at_once(data_dir: Path, capfd: pytest.CaptureFixture[str], signals: int) -> None:
    """A client that follows a batch sees its stream end whole, not cut, and the log holds no traceback."""
    with running(Settings(port=0, data_dir=data_dir, slots=2, log_level="error")) as service:
        batch_id = submit(service.http, batch(1, lambda i: order(sleep_s=60.0, mark=i)))
        ended: list[bool] = []

        def follow() -> None:
            with service.http.stream("GET", f"/v1/batches/{batch_id}/results.jsonl?follow=true") as response:
                following.set()
                response.read()  # raises where calls that take too long to end are cut
                ended.append(True)

        following = threading.Event()
        thread = threading.Thread(target=follow)
        thread.start()
        assert following.wait(30)

        for _ in range(signals):
            service.process.send_signal(signal.SIGINT)
        thread.join(60)
        wait_for(lambda: service.process.poll() is not None)

    assert ended
    assert service.process.returncode == 0
    assert "Traceback" not in capfd.readouterr().err


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    """The refusal names the folder and what to choose instead, before anything is started."""
    occupied = tmp_path / "file"
    occupied.write_text("")

    with pytest.raises(InvalidRequest, match=r"cannot use the folder .*file.*--data-dir"):
        serve(Settings(port=0, data_dir=occupied))


def test_a_worker_ends_whichever_of_its_threads_is_told_to(data_dir: Path) -> None:
    """The kernel gives SIGTERM to any thread of one that was stopped meanwhile; it must not outlive its service."""
    with running(Settings(port=0, data_dir=data_dir, slots=2, log_level="error")) as service:
        (pid,) = service.worker_pids()
        thread = max(int(task.name) for task in Path(f"/proc/{pid}/task").iterdir())
        assert thread != pid

        assert ctypes.CDLL(None).tgkill(pid, thread, signal.SIGTERM) == 0

        wait_for(lambda: not is_alive(pid))
