"""The jailed program that lays out a program's files and becomes that program.

Until it says `started` on the status socket no line of the completion's has run; what it becomes then has standard
input, output and error, and no descriptor of ours.
"""

import errno
import os
import resource
import shutil
import signal
import socket
import struct
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgpack

from assay.outcomes import Outcome
from assay.sandboxes.payload import read_pieces
from assay.verifiers.compile_job import MISNAMED
from assay.verifiers.stdio_program import NOT_WRITTEN, STARTED, take_streams

PATH = "/usr/local/bin:/usr/bin:/bin"
"""Where compilers and programs find others."""
NOT_STARTED = "cannot be started"
"""What is said of a program that the system does not start."""
_WANTS = frozenset({errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EIO, errno.ETXTBSY})
"""What the system says where it lacks something to start a program with."""
_MADE = frozenset({errno.EIO, errno.ETXTBSY})
"""Those of them that what a completion was compiled to can bring about, by the file that it names as its loader."""
_PYTHON = "python3"
_PIECE_BYTES = 65_536  # of a file: however large it is, it never lies in this process as a whole
_LENGTH = struct.Struct("<I")


def pack_program(
    line: tuple[str, ...],
    files: Mapping[str, bytes],
    environment: Mapping[str, str],
    *,
    stack_mb: int,
    lends_folder: bool = False,
    brings_files: bool = False,
) -> bytes:
    """Return the payload: a command line, the files it finds around it, its environment, its largest stack.

    The length of the rest, their names and sizes with it, and behind that the files, one after the other.
    `lends_folder`: its folder goes with the word that it starts, as a descriptor, to be read once it has ended.
    `brings_files`: the files are the completion's own, and so is the fault if they have names that cannot be.
    """
    sizes = {name: len(data) for name, data in files.items()}
    order = msgpack.packb([line, sizes, dict(environment), stack_mb, lends_folder, brings_files])
    return b"".join((_LENGTH.pack(len(order)), order, *files.values()))


def become(payload: int, fds: tuple[int, ...]) -> int:
    """Become the program in `payload`, a descriptor; what keeps it from that is told on the status socket `fds[0]`.

    Two more descriptors take the places of standard input and output.
    """
    take_streams(fds[1:])
    (length,) = _LENGTH.unpack(_read(payload, 0, _LENGTH.size))
    line, sizes, environment, stack_mb, lends_folder, brings_files = msgpack.unpackb(
        _read(payload, _LENGTH.size, length)
    )
    with socket.socket(fileno=fds[0]) as status:
        os.set_inheritable(status.fileno(), False)
        try:
            _lay_out(sizes, payload, _LENGTH.size + length)
        except OSError as error:
            status.sendall(f"{_blame(error, brings_files)} {NOT_WRITTEN}: {error.strerror}".encode())
            return 1
        found = _find(line[0])
        if not found:
            status.sendall(f"{Outcome.INFRA_ERROR} {line[0]} is not installed where attempts run".encode())
            return 1
        _behave_as_started(stack_mb)
        if lends_folder:
            socket.send_fds(status, [STARTED], [os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)])
        else:
            status.sendall(STARTED)
        wanting = _start(found, line, surroundings(environment))
        if wanting:  # no program could say so here: the socket is closed where one is started
            status.sendall(f"{Outcome.INFRA_ERROR} {line[0]} {NOT_STARTED}: {wanting}".encode())
        os.write(2, f"{line[0]} {NOT_STARTED}\n".encode())
        return 126


def _start(found: list[str], line: Sequence[str], environment: Mapping[str, str]) -> str:
    """Become the first of `found` that the system starts. Returns if there is none, with what it lacks for the last."""
    wanting = ""
    wants = _WANTS - _MADE if _is_own(line[0]) else _WANTS
    for path in found:
        try:
            os.execve(path, [path, *line[1:]], environment)
        except OSError as error:  # the next one may do
            wanting = str(error.strerror) if error.errno in wants else ""
    return wanting


def _blame(error: OSError, brings_files: bool) -> Outcome:
    """Return whose fault it is that files cannot be written: the completion's, the task's or ours."""
    if error.errno not in MISNAMED:
        return Outcome.INFRA_ERROR  # they have the room that they take
    return Outcome.RUNTIME_ERROR if brings_files else Outcome.TASK_ERROR


def surroundings(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a compiler or a program: nothing of the host's, and what `extra` adds."""
    folder = os.getcwd()
    kept = {"PATH": PATH, "HOME": folder, "LC_ALL": "C.UTF-8", "TMPDIR": os.environ.get("TMPDIR", "/tmp")}
    return {**kept, **extra}


def _is_own(name: str) -> bool:
    """Whether a program is one that was compiled, and not of the system's."""
    return "/" in name


def _find(name: str) -> list[str]:
    """Return where a program lies, the best place first; nowhere if it is not installed.

    Python is this one itself: it has the libraries that programs have which run in a fork of it.
    """
    if _is_own(name):
        return [name]
    usual = shutil.which(name, path=PATH)
    own = [sys.executable] if name == _PYTHON and os.access(sys.executable, os.X_OK) else []
    return [*own, *filter(None, (usual,))]


def _read(payload: int, offset: int, size: int) -> bytes:
    return b"".join(read_pieces(payload, offset, size, most_bytes=size))


def _lay_out(sizes: Mapping[str, int], payload: int, offset: int) -> None:
    for name, size in sizes.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb", buffering=0) as file:
            for piece in read_pieces(payload, offset, size, most_bytes=_PIECE_BYTES):
                _write_all(file.fileno(), piece)
        path.chmod(0o755)
        offset += size


def _write_all(fd: int, piece: bytes) -> None:
    while piece:
        piece = piece[os.write(fd, piece) :]


def _behave_as_started(stack_mb: int) -> None:
    """Undo what the interpreter has set for itself and a program would inherit; allow as much stack as memory."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    _, most = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = stack_mb << 20
    resource.setrlimit(resource.RLIMIT_STACK, (wanted if most < 0 else min(wanted, most), most))
