"""The jailed program that lays out a program's files and becomes that program.

Until it says `started` on the status socket no line of the completion's has run; what it becomes then has standard
input, output and error, and no descriptor of ours.
"""

import os
import resource
import shutil
import signal
import socket
from collections.abc import Mapping
from pathlib import Path

import msgpack

from assay.outcomes import Outcome
from assay.verifiers.stdio_program import STARTED

_PATH = "/usr/local/bin:/usr/bin:/bin"


def pack_program(
    line: tuple[str, ...], files: Mapping[str, bytes], environment: Mapping[str, str], *, stack_mb: int
) -> bytes:
    """Return the payload: a command line, the files it finds around it, its environment, its largest stack."""
    return bytes(msgpack.packb([line, dict(files), dict(environment), stack_mb]))


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Become the program in `payload`; what keeps it from that is told on the status socket `fds[0]`."""
    line, files, environment, stack_mb = msgpack.unpackb(payload)
    with socket.socket(fileno=fds[0]) as status:
        os.set_inheritable(status.fileno(), False)
        try:
            _lay_out(files)
        except OSError as error:
            status.sendall(f"{Outcome.RUNTIME_ERROR} its files cannot be written: {error.strerror}".encode())
            return 1
        found = shutil.which(line[0], path=_PATH) if "/" not in line[0] else line[0]
        if found is None:
            status.sendall(f"{Outcome.INFRA_ERROR} {line[0]} is not installed where attempts run".encode())
            return 1
        _behave_as_started(stack_mb)
        status.sendall(STARTED)
        return os.execve(found, line, surroundings(environment))


def surroundings(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a compiler or a program: nothing of the host's, and what `extra` adds."""
    folder = os.getcwd()
    kept = {"PATH": _PATH, "HOME": folder, "LC_ALL": "C.UTF-8", "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
    return {**kept, **extra}


def _lay_out(files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755)


def _behave_as_started(stack_mb: int) -> None:
    """Undo what the interpreter has set for itself and a program would inherit; allow as much stack as memory."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = stack_mb << 20
    resource.setrlimit(resource.RLIMIT_STACK, (wanted if most < 0 else min(wanted, most), most))
