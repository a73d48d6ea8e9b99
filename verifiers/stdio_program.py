"""The jailed program that runs a completion as `python solution.py` would be run.

Until it says `started` on the status socket it runs no line of the completion; after that it is the completion's.
"""

import atexit
import builtins
import errno
import gc
import io
import os
import random
import site
import sys
import threading
import warnings
import zlib
from collections.abc import Callable
from types import ModuleType, TracebackType
from typing import Any  # Any: a program's globals hold anything

from assay.outcomes import Outcome
from assay.verifiers.split.assembly import Program
from assay.verifiers.split.loading import build, forget_typing, unpack_sources

Finish = Callable[[dict[str, Any]], None]

STARTED = b"started"
NOT_WRITTEN = "its files cannot be written"
"""How the words begin for files that could not be laid out."""
_OWN_FRAMES = 30  # frames of ours below the program's; it is to have the usual 1,000 above them
_LONGEST = 2000
_OURS = f"{__name__.partition('.')[0]}."
_STREAMS = (
    (0, "stdin", "r", "surrogateescape"),
    (1, "stdout", "w", "surrogateescape"),
    (2, "stderr", "w", "backslashreplace"),
)


def main(payload: bytes, fds: tuple[int, ...]) -> int:
    """Run the program in `payload` and return its exit code; what cannot run is told on the status socket `fds[0]`.

    Two more descriptors take the places of standard input and output.
    """
    take_streams(fds[1:])
    status = fds[0]  # a number: a socket object costs 40 pages
    program = make_ready(payload, status)
    if program is None:
        return 1
    os.write(status, STARTED)
    os.close(status)
    return run(program, lambda _: None)


def take_streams(fds: tuple[int, ...]) -> None:
    """Make these two descriptors, if there are any, what the program reads and writes."""
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
        os.close(fd)


def make_ready(payload: bytes, status: int) -> Program | None:
    """Build the program and its surroundings; None if it cannot run, which is then told on the status socket."""
    sources, _, forbid = unpack_sources(payload)
    path = _path()
    program = build(sources, forbid, path)
    if not isinstance(program, Program):
        outcome, message = program
        _refuse(status, outcome, message)
        return None
    text = program.text.encode("utf-8", "surrogatepass")
    try:
        _write(path, text)
    except OSError as error:
        _refuse(status, _blame(error, len(text)), f"{NOT_WRITTEN}: {error.strerror}")
        return None
    _prepare(path, payload)
    return program


def _refuse(status: int, outcome: str, message: str) -> None:
    os.write(status, f"{outcome} {message[:_LONGEST]}".encode("utf-8", "replace"))


def _write(path: str, text: bytes) -> None:
    with open(path, "wb") as file:
        file.write(text)


def _blame(error: OSError, size: int) -> Outcome:
    """Return whose fault it is that a program cannot be written: its own where there never was room for its size."""
    place = os.statvfs(".")
    is_too_large = error.errno == errno.EFBIG or size > place.f_blocks * place.f_frsize > 0
    return Outcome.RUNTIME_ERROR if is_too_large else Outcome.INFRA_ERROR


def run(program: Program, finish: Finish) -> int:
    """Run a program that was made ready and return its exit code.

    `finish` is called with the program's globals once it has ended well, before its exit handlers run; what it raises
    is the program's own fault.
    """
    owner = os.getpid()
    code = _run(program, _path(), finish)
    if os.getpid() != owner:
        os._exit(code)  # a child that the program forked and that reached the end
    return code


def _path() -> str:
    return os.path.join(os.getcwd(), "solution.py")


def _prepare(path: str, payload: bytes) -> None:
    random.seed(zlib.crc32(payload))
    warnings.simplefilter("ignore")
    forget_typing()
    sys.argv = ["solution.py"]
    sys.path.insert(0, os.path.dirname(path))
    sys.setrecursionlimit(sys.getrecursionlimit() + _OWN_FRAMES)
    # The warm interpreter's own stream objects may hold buffers; these are as a fresh interpreter makes them.
    for fd, name, mode, errors in _STREAMS:
        stream = _stream(fd, mode, errors)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    if not hasattr(builtins, "exit"):
        site.setquit()


def _stream(fd: int, mode: str, errors: str) -> io.TextIOWrapper:
    raw = io.FileIO(fd, mode, closefd=False)
    buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
    stream = io.TextIOWrapper(buffer, "utf-8", errors, line_buffering=fd == 2)
    stream.mode = mode  # type: ignore[misc]  # as the interpreter sets it on its own three
    return stream


def _run(program: Program, path: str, finish: Finish) -> int:
    module = ModuleType("__main__")
    module.__file__ = path
    module.__dict__.update(__builtins__=builtins, __annotations__={}, __cached__=None)
    sys.modules["__main__"] = module
    code = _outcome(lambda: exec(program.unit, module.__dict__))
    if code == 0:
        code = _outcome(lambda: finish(module.__dict__))
    return _shut_down(code, module)


def _outcome(work: Callable[[], None]) -> int:
    try:
        work()
    except BaseException as error:  # noqa: BLE001 - the program may raise anything; Python reports it and exits 1
        return _report(error)
    return 0


def _report(error: BaseException) -> int:
    if isinstance(error, SystemExit):
        return _exit_code(error)
    try:
        trace = _without_ours(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(trace), trace)
    except BaseException:  # noqa: BLE001 - the program's own hook may raise anything
        return 1
    return 130 if isinstance(error, KeyboardInterrupt) else 1


def _without_ours(trace: TracebackType | None) -> TracebackType | None:
    """Return a traceback without frames of this package, which the program knows nothing of, wherever they stand."""
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    kept: TracebackType | None = None
    for frame in reversed(frames):
        if not str(frame.tb_frame.f_globals.get("__name__")).startswith(_OURS):
            frame.tb_next, kept = kept, frame
    return kept


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code & 0xFF
    try:
        print(error.code, file=sys.stderr)  # noqa: T201 - what Python does with a text as exit status
    except (OSError, ValueError, AttributeError):
        return 1
    return 1


def _shut_down(code: int, module: ModuleType) -> int:
    """Join threads, run exit handlers, flush and let go of the program's objects, in the interpreter's own order."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # what the interpreter calls at its end
        atexit._run_exitfuncs()
    except SystemExit as error:
        code = _exit_code(error)
    except BaseException as error:  # noqa: BLE001 - exit handlers are the program's code
        code = _report(error)
    code = _flush(code)
    _let_go(module)
    return _flush(code)


def _flush(code: int) -> int:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not stream.closed:
                stream.flush()
        except BrokenPipeError:
            continue
        except (OSError, ValueError, AttributeError):
            code = code or 120
    return code


def _let_go(module: ModuleType) -> None:
    """Drop the program's globals: files it left open are flushed, finalisers run and may print."""
    names = module.__dict__
    for private in (True, False):
        for name in [name for name in names if name != "__builtins__" and name.startswith("_") is private]:
            names[name] = None
    gc.collect()
