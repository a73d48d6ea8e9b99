"""Python programs that run as a notebook's cells do: what is defined lasts, and a last expression's value is shown.

The program is the completion's, marks and all: what it tells of itself is for whoever wrote it, and judges nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_PROGRAM = """\
import ast, linecache, os, random, sys, traceback
random.seed({seed!r})
_cells, _mark, _is_minimal = {cells!r}, {mark!r}, {is_minimal!r}

def _tell(error, name):
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != name:
        trace = trace.tb_next
    if _is_minimal:
        print("".join(traceback.format_exception_only(type(error), error)), end="")
    else:
        print("".join(traceback.format_exception(type(error), error, trace)), end="")

def _run(number, source, names):
    name = f"<cell {{number}}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    try:
        tree = ast.parse(source, name)
        last = tree.body[-1] if tree.body and not source.rstrip().endswith(";") else None
        shown = tree.body.pop() if isinstance(last, ast.Expr) else None
        exec(compile(tree, name, "exec"), names)
        value = None if shown is None else eval(compile(ast.Expression(shown.value), name, "eval"), names)
        if value is None:
            return "passed"
        names["_"] = value
        return "passed" + repr(value)
    except BaseException as error:
        _tell(error, name)
        return "failed"

def _quietly(cells, names):
    kept = [os.dup(1), os.dup(2)]
    nothing = os.open(os.devnull, os.O_WRONLY)
    for fd in (1, 2): os.dup2(nothing, fd)
    for number, source in enumerate(cells, 1): _run(number, source, names)
    sys.stdout.flush(); sys.stderr.flush()
    for fd, old in zip((1, 2), kept): os.dup2(old, fd)
    for fd in (nothing, *kept): os.close(fd)

_names = {{"__name__": "__main__", "__builtins__": __builtins__}}
if len(_cells) > 1: _quietly(_cells[:-1], _names)
sys.stdout.write(_mark); sys.stdout.flush()
_told = _run(len(_cells), _cells[-1], _names)
sys.stdout.write(_mark + _told + _mark)
"""


_WORDS = ("passed", "failed")


@dataclass(frozen=True)
class Told:
    """What the last cell wrote, whether it came to its end, whether it raised, and the value of its last expression."""

    stdout: str
    has_ended: bool = False
    has_failed: bool = False
    value: str | None = None


def notebook(cells: Sequence[str], mark: str, seed: str, *, is_minimal: bool) -> str:
    """Return a program that runs cells in order, all but the last of them without their output.

    One that is run again draws what it drew before, by Python's own `random` and the same seed. Tracebacks go to
    standard output, as IPython's do; `is_minimal` leaves their last line.
    """
    return _PROGRAM.format(cells=list(cells), mark=mark, seed=seed, is_minimal=is_minimal)


def read_notebook(stdout: str, mark: str) -> Told:
    """Return what became of the last cell."""
    parts = stdout.split(mark)[1:]
    if len(parts) < 3:
        return Told("".join(parts))
    written, told = mark.join(parts[:-2]), parts[-2]  # exit handlers may write behind the last mark
    return Told(written, True, told == "failed", told.removeprefix("passed") if told not in _WORDS else None)
