"""Reaching the Docker engine: where it cannot be, the error says what to do, and nothing stays open."""

import gc
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.errors import IsolationUnavailable
from assay.sandboxes.containers.engine import connect

pytest.importorskip("docker")


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The socket that DOCKER_HOST names; nobody listens there."""
    path = tmp_path / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    return path


@pytest.fixture
def rude(address: Path) -> Iterator[None]:
    """A listener there that hangs up on everybody."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()
        thread = threading.Thread(target=_hang_up, args=(server,))
        thread.start()
        yield
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def _hang_up(server: socket.socket) -> None:
    while True:
        try:
            server.accept()[0].close()
        except OSError:  # the test is over
            return


def test_an_engine_that_is_not_there_leaves_nothing_open(address: Path) -> None:
    """The address is named; a socket left open would be an error here, as all warnings are."""
    with pytest.raises(IsolationUnavailable, match=f"cannot reach the Docker engine at {address}"):
        connect()

    gc.collect()


@pytest.mark.usefixtures("rude")
def test_an_engine_that_hangs_up_leaves_nothing_open() -> None:
    """The connections are closed, whatever the engine's answer was."""
    with pytest.raises(IsolationUnavailable, match="cannot reach the Docker engine"):
        connect()

    gc.collect()
