"""How a service ends: those who follow results are let go, nothing is said but that it ends."""

import signal
import threading
import time
from pathlib import Path

import pytest
from batches import batch, order, submit, wait_for
from processes import running

from assay.errors import InvalidRequest
from assay.service.serve import serve
from assay.settings import Settings

DRAIN_S = 2.5
"""Well below the seconds after which calls that are still under way are cut."""


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_ends_streams_at_once(data_dir: Path, capfd: pytest.CaptureFixture[str], signals: int) -> None:
    """A client that follows a batch sees its stream end, and the log holds no traceback."""
    with running(Settings(port=0, data_dir=data_dir, slots=2, log_level="error")) as service:
        batch_id = submit(service.http, batch(1, lambda i: order(sleep_s=60.0, mark=i)))
        ended: list[float] = []

        def follow() -> None:
            with service.http.stream("GET", f"/v1/batches/{batch_id}/results.jsonl?follow=true") as response:
                following.set()
                response.read()
                ended.append(time.monotonic())

        following = threading.Event()
        thread = threading.Thread(target=follow)
        thread.start()
        assert following.wait(30)

        asked = time.monotonic()
        for _ in range(signals):
            service.process.send_signal(signal.SIGINT)
        thread.join(30)
        wait_for(lambda: service.process.poll() is not None)

    assert ended
    assert ended[0] - asked < DRAIN_S
    assert service.process.returncode == 0
    assert "Traceback" not in capfd.readouterr().err


def test_a_folder_that_cannot_be_used_is_refused(tmp_path: Path) -> None:
    """The refusal names the folder and what to choose instead, before anything is started."""
    occupied = tmp_path / "file"
    occupied.write_text("")

    with pytest.raises(InvalidRequest, match=r"cannot use the folder .*file.*--data-dir"):
        serve(Settings(port=0, data_dir=occupied))
