"""The worker's handle on a warm interpreter (zygote)."""

import socket
import subprocess
import sys
import threading
from collections.abc import Sequence

from assay.errors import IsolationUnavailable, SandboxFault
from assay.sandboxes import wire

_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONINTMAXSTRDIGITS": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    # One thread: the interpreter forks by a raw clone, which a library's own threads would not survive.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class Warm:
    """Starts the interpreter when first needed, and again if it has died. Thread-safe."""

    def __init__(self, modules: Sequence[str], *, isolated: bool, environment: dict[str, str] | None = None) -> None:
        self.isolated = isolated
        self._modules = tuple(modules)
        self._environment = {**_ENVIRONMENT, **(environment or {})}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def fork_host(self, host_control: socket.socket, number: int) -> int:
        """Fork host `number` with its end of a control socket; returns its process id.

        Raises IsolationUnavailable if this machine cannot isolate, SandboxFault if the interpreter died.
        """
        with self._lock:
            for _ in range(2):  # a dead interpreter is started anew once
                control = self._control or self._start()
                try:
                    wire.send(control, ["fork", number], [host_control.fileno()])
                    received = wire.receive(control)
                except OSError:
                    received = None
                if received is not None and received[0][0] == "forked":
                    return int(received[0][1])
                self._stop()
                if received is not None:
                    raise SandboxFault(f"cannot fork a jail's host: {received[0][1]}")
        raise SandboxFault("the warm interpreter died")

    def close(self) -> None:
        """End the interpreter. Idempotent."""
        with self._lock:
            self._stop()

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-s", "-m", "assay.sandboxes.zygote", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=self._environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the worker, which ends its attempts in order
            )
        self._control = ours
        wire.send(ours, ["prepare", self._modules, self.isolated])
        received = wire.receive(ours)
        if received is None or received[0][0] != "ready":
            reason = received[0][1] if received else "it ended while starting"
            self._stop()
            raise IsolationUnavailable(
                f"this machine cannot isolate attempts: {reason}; `assay doctor` says what is missing, "
                "--insecure runs without isolation"
            )
        return ours

    def _stop(self) -> None:
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
