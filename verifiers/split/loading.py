"""Building the completion's module inside the jail, before a line of it has run."""

import ast
import builtins
import os
import random
import sys
import traceback
import typing
import warnings
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any  # Any: payloads are unpacked msgpack, namespaces hold anything

import msgpack

from assay.outcomes import Outcome
from assay.verifiers.extraction import Block, Reading
from assay.verifiers.split.assembly import Program, Sources, assemble, choose, looks_like_prose
from assay.verifiers.split.definitions import SOLUTION, bound_name, parse
from assay.verifiers.split.forbidden import find_forbidden
from assay.verifiers.split.prompt import Prompt

_OWN_FRAMES = 60  # frames of ours below the completion's; it is to have the usual 1,000 above them


@dataclass(frozen=True)
class LoadedModule:
    """The completion's module, whether or not it could be loaded; `error` is (outcome, message)."""

    module: ModuleType
    error: tuple[str, str] | None
    prompt_classes: tuple[str, ...]


def pack_sources(sources: Sources, module: str, forbid: tuple[str, ...]) -> bytes:
    """Return the payload that `load` and the stdin/stdout program read. It holds no test and no answer."""
    reading = sources.reading
    fields = {
        "text": reading.text,
        "blocks": [[block.code, block.tagged] for block in reading.blocks],
        "deep": [[block.code, block.tagged] for block in reading.deep],
        "fenced": reading.fenced,
        "entry": sources.entry,
        "names": list(sources.names),
        "prompt": sources.prompt,
        "signature": sources.signature,
        "fence_required": sources.fence_required,
        "module": module,
        "forbid": list(forbid),
    }
    return bytes(msgpack.packb(fields, unicode_errors="surrogatepass"))


def unpack_sources(payload: bytes) -> tuple[Sources, str, tuple[str, ...]]:
    """Return what `pack_sources` was given."""
    fields: Mapping[str, Any] = msgpack.unpackb(payload, unicode_errors="surrogatepass")
    reading = Reading(
        fields["text"],
        tuple(Block(code, python) for code, python in fields["blocks"]),
        tuple(Block(code, python) for code, python in fields["deep"]),
        fields["fenced"],
    )
    sources = Sources(
        reading,
        fields["entry"],
        tuple(fields["names"]),
        fields["prompt"],
        fields["signature"],
        fields["fence_required"],
    )
    return sources, fields["module"], tuple(fields["forbid"])


def build(sources: Sources, forbid: tuple[str, ...], filename: str) -> Program | tuple[Outcome, str]:
    """Compile what the completion means, or say why there is nothing to run."""
    code = choose(sources)
    if code is None or not code.strip():
        return Outcome.NO_ANSWER, "no program in the completion"
    try:
        program = assemble(code, sources, filename)
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        if not sources.reading.fenced and looks_like_prose(code):
            return Outcome.NO_ANSWER, "no program in the completion"
        return Outcome.COMPILE_ERROR, describe(error)
    if forbid and (found := find_forbidden(_own_tree(code) or ast.parse(program.text), forbid)):
        return Outcome.VIOLATION, f"the task forbids {found}"
    return program


def _own_tree(code: str) -> ast.Module | None:
    """Return the tree of the completion alone, without the prompt that it may continue."""
    return parse(code) or parse(f"def _():\n{code}")


def load(payload: bytes) -> LoadedModule:
    """Build, register and run the completion's module. Never raises: whatever the completion does becomes `error`."""
    sources, name, forbid = unpack_sources(payload)
    random.seed(zlib.crc32(payload))
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(sys.getrecursionlimit() + _OWN_FRAMES)
    path = os.path.join(os.getcwd(), f"{name.rpartition('.')[2]}.py")
    sys.argv = [path]
    predefine_typing()
    module = _new_module(name, path)
    program = build(sources, forbid, path)
    if not isinstance(program, Program):
        return LoadedModule(module, (str(program[0]), program[1]), ())
    _write(path, program.text)
    classes = Prompt(sources.prompt, sources.entry).class_names()
    error = _run(module, program)
    if error is None and sources.entry:
        _bind_method(module, sources.entry)
    return LoadedModule(module, error, classes)


def predefine_typing() -> None:
    """Make the typing names known everywhere in this process, beside the builtins: in no module are they its own."""
    if "Optional" not in vars(builtins):
        for name in typing.__all__:
            vars(builtins).setdefault(name, getattr(typing, name))


def forget_typing() -> None:
    """Undo `predefine_typing` for a program that runs by itself."""
    if "Optional" not in vars(builtins):
        return  # it was never done here, and each name that is looked for would cost a child a page
    for name in typing.__all__:
        if vars(builtins).get(name) is getattr(typing, name):
            delattr(builtins, name)


def describe(error: BaseException) -> str:
    """Return type and message of an exception, as the last line of a traceback would, and where source went wrong."""
    try:
        if isinstance(error, SyntaxError) and error.lineno is not None:
            return f"{type(error).__name__}: {error.msg} (line {error.lineno})"
        if type(error).__module__.startswith("assay."):
            return str(error)
        return traceback.format_exception_only(error)[-1].strip()
    except BaseException:  # noqa: BLE001 - the exception's own __str__ may be the completion's code
        return type(error).__name__


def _new_module(name: str, path: str) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = path
    module.__dict__["__builtins__"] = sys.modules["builtins"]  # in a candidate a copy, which it may patch
    parent, _, leaf = name.rpartition(".")
    if parent:
        package = sys.modules.get(parent) or _new_module(parent, path)
        package.__path__ = []
        setattr(package, leaf, module)
    sys.modules[name] = module
    return module


def _write(path: str, text: str) -> None:
    """Put the source where `__file__` says it is (inspect, pickle and subprocesses look there)."""
    with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
        file.write(text)


def _run(module: ModuleType, program: Program) -> tuple[str, str] | None:
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        if program.prompt is not None:
            exec(program.prompt, module.__dict__)
        exec(program.unit, module.__dict__)
    except SystemExit as error:
        return str(Outcome.RUNTIME_ERROR), _left_by(error)
    except MemoryError:
        return str(Outcome.MEMORY_EXCEEDED), "MemoryError while loading"
    except BaseException as error:  # noqa: BLE001 - the completion's own code may raise anything
        return str(Outcome.RUNTIME_ERROR), describe(error)
    return None


def _left_by(error: SystemExit) -> str:
    """Say with what the source asked to exit, the same each time: no address of an object."""
    code = error.code if isinstance(error.code, int | str | None) else type(error.code).__name__
    return f"SystemExit: {code!r} while loading"[:500]


def _bind_method(module: ModuleType, entry: str) -> None:
    """Make `Class.method`, and a bare method of class Solution, callable by name: one new instance per call."""
    owner_name, _, method = entry.rpartition(".")
    if not owner_name and entry in module.__dict__:
        return
    owner = module.__dict__.get(owner_name or SOLUTION)
    if not isinstance(owner, type) or not hasattr(owner, method):
        return

    def call(*args: object, **kwargs: object) -> object:
        return getattr(owner(), method)(*args, **kwargs)

    call.__name__ = call.__qualname__ = method
    module.__dict__[bound_name(entry)] = call
