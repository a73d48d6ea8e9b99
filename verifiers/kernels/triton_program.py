"""The jailed program that compiles a kernel in Triton ahead of time: `python -m ... SOURCE REQUEST ARTIFACT`.

It runs the source, as every use of Triton does, so it is as hostile as the source from there on: it is started for one
source, in a jail without network, and what it writes is taken for what it is. No device is needed or asked for.

A source could have its errors say what other files hold. Where the kernel has Landlock (Linux 5.13), the process reads
nothing but programs and libraries, the jail's `/proc`, `/sys` and `/dev`, the source and what it makes itself; where
there is none, what all jails may read. What is told
of an error is one line of a few hundred characters either way.
"""

import importlib.util
import json
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any  # Any: what a source defines, and Triton's own objects

import msgpack

from assay.extras import install_extras
from assay.sandboxes import landlock, syscalls

NO_TRITON = f"no triton where attempts run; {install_extras('triton')}"
"""What whoever lacks it is told."""
_MODULE = "kernel"
_ABSENT = ("torch", "torch.nn", "torch.nn.functional")
"""What sources import for their host code, which is not run here."""
_MOST_TOLD = 300
_READABLE = ("/usr", "/lib", "/lib64", "/opt", "/proc", "/sys", "/dev")
"""Folders of programs and libraries, and what Triton and its compilers ask of the machine."""
_WARPS, _STAGES = 4, 3


class NotCompilable(Exception):
    """The source is none that can be compiled; the message says why."""


def main(arguments: list[str]) -> int:
    """Compile; return 0, or 1 with a line of words about the source on standard output."""
    source, request, artifact = arguments
    told = os.dup(1)
    with open(os.devnull, "wb") as null:  # what the source prints is nobody's business
        os.dup2(null.fileno(), 1)
        os.dup2(null.fileno(), 2)
    _give_up_files()
    try:
        compiled = _compile(source, json.loads(Path(request).read_text(encoding="utf-8")))
    except BaseException as error:  # noqa: BLE001 - the process entry point: sources raise and exit as they like
        os.write(told, _words(error, source).encode("utf-8", "replace"))
        return 1
    Path(artifact).write_bytes(msgpack.packb(compiled))
    return 0


def _give_up_files() -> None:
    """From here on only `_READABLE` and Python's own folders can be read, and this and the temporary one written."""
    version = syscalls.landlock_version()
    if not version:
        return
    run = landlock.Right.READ_FILE | landlock.Right.READ_DIR | landlock.Right.EXECUTE
    own = {os.getcwd(), tempfile.gettempdir()}
    readable = {*_READABLE, sys.prefix, sys.base_prefix, *filter(os.path.isabs, sys.path)}
    everything = landlock.governed_by(version).files
    rules = [landlock.Rule(path, run) for path in sorted(readable)]
    landlock.confine(version, [*rules, *(landlock.Rule(path, everything) for path in sorted(own))])


def _compile(source: str, request: Mapping[str, Any]) -> list[Any]:
    """Return name, cubin, integer constants, warps and shared memory."""
    # Here, not at the top: it takes a second, and only this process of all that import the module has it.
    triton: Any = import_module("triton")
    compiler: Any = import_module("triton.compiler")
    targets: Any = import_module("triton.backends.compiler")
    kind: Any = import_module("triton.runtime.jit").JITFunction

    found = _find(_run(source), request["entry"], kind)
    function, options = _unwrap(found, kind)
    constants = _constants(function, {**options, **request["constants"]})
    signature, attributes = _signature(function, request["parameters"], constants)
    warps, stages = (request[name] or options.get(f"num_{name}") for name in ("warps", "stages"))
    made = triton.compile(
        compiler.ASTSource(fn=function, signature=signature, constexprs=constants, attrs=attributes),
        target=targets.GPUTarget("cuda", request["arch"], 32),
        options={"num_warps": int(warps or _WARPS), "num_stages": int(stages or _STAGES)},
    )
    told = made.metadata
    if getattr(told, "global_scratch_size", 0) or getattr(told, "num_ctas", 1) != 1:
        raise NotCompilable("the kernel needs scratch memory or clusters, which launches here do not have")
    integers = {name: value for name, value in constants.items() if type(value) is int}
    return [told.name, made.asm["cubin"], integers, told.num_warps, told.shared]


def _run(source: str) -> ModuleType:
    """Run a source as a module of its own."""
    for name in _ABSENT:
        if _is_absent(name):
            sys.modules[name] = Placeholder(name)
    spec = importlib.util.spec_from_file_location(_MODULE, source)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[_MODULE] = module
    spec.loader.exec_module(module)
    return module


def _is_absent(name: str) -> bool:
    try:
        return name not in sys.modules and importlib.util.find_spec(name) is None
    except (ImportError, ValueError, AttributeError):
        return True


class Placeholder(ModuleType):
    """Stands for a module that is not here: it has every attribute, and each of them is another placeholder."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self.__name__}.{name}")

    def __call__(self, *given: Any, **_: Any) -> Any:
        """Return what was given, as decorators do; else another placeholder."""
        return given[0] if len(given) == 1 and callable(given[0]) else Placeholder(self.__name__)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """Let classes be derived from it."""
        del bases
        return (object,)


def _find(module: ModuleType, entry: str, kind: type) -> Any:
    """Return what has the entry's name, or the only kernel that there is. Raises NotCompilable."""
    kernels = {name: value for name, value in vars(module).items() if _innermost(value, kind) is not None}
    if entry in kernels:
        return kernels[entry]
    if len(kernels) != 1:
        named = ", ".join(sorted(kernels)) or "none"
        raise NotCompilable(f"there is no kernel {entry!r} (`@triton.jit`), and there must be one; it has {named}")
    return next(iter(kernels.values()))


def _innermost(value: Any, kind: type) -> Any:
    for _ in range(8):
        if isinstance(value, kind):
            return value
        value = getattr(value, "fn", None) if type(value).__module__.startswith("triton.") else None
    return None


def _unwrap(found: Any, kind: type) -> tuple[Any, dict[str, Any]]:
    """Return the kernel itself, and what the first configuration of `triton.autotune` around it says."""
    options: dict[str, Any] = {}
    for layer in _layers(found, kind):
        configurations = getattr(layer, "configs", None)
        if configurations:
            first = configurations[0]
            options = {**first.kwargs, "num_warps": first.num_warps, "num_stages": first.num_stages, **options}
    return _innermost(found, kind), options


def _layers(found: Any, kind: type) -> Iterator[Any]:
    while not isinstance(found, kind):
        yield found
        found = found.fn


def _constants(function: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `constexpr` parameters. Raises NotCompilable where one has none."""
    constants = {}
    for param in function.params:
        if not param.is_constexpr:
            continue
        if param.name not in given and not param.has_default:
            raise NotCompilable(
                f"the constant {param.name} has no value: give it in the launch plan's `constants`, as a default of "
                "the function, or by `triton.autotune`"
            )
        constants[param.name] = given.get(param.name, param.default)
    return constants


def _signature(function: Any, passed: list[list[Any]], constants: Mapping[str, Any]) -> tuple[dict[str, str], Any]:
    """Return types by parameter, and which pointers are multiples of 16. Raises NotCompilable if the counts differ."""
    own = [param for param in function.params if param.name not in constants]
    if len(own) != len(passed):
        takes, gives = (", ".join(names) for names in ((one.name for one in own), (one[0] for one in passed)))
        raise NotCompilable(f"the kernel takes {len(own)} parameters ({takes}), and {len(passed)} are passed ({gives})")
    types = {param.name: kind for param, (_, kind, _) in zip(own, passed, strict=True)}
    whole = {param.name for param, (_, _, is_whole) in zip(own, passed, strict=True) if is_whole}
    names = [param.name for param in function.params]
    signature = {name: types.get(name, "constexpr") for name in names}
    return signature, {(at,): [["tt.divisibility", 16]] for at, name in enumerate(names) if name in whole}


def _words(error: BaseException, source: str) -> str:
    """Return a line about the source, in the form of a compiler's."""
    if isinstance(error, ModuleNotFoundError) and error.name == "triton":
        return NO_TRITON
    name = os.path.basename(source)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(name)]
    node = getattr(error, "node", None)
    at = getattr(node, "lineno", None) or (lines[-1] if lines else getattr(error, "lineno", None)) or 1
    said = str(error) if isinstance(error, NotCompilable) else f"{type(error).__name__}: {error}"
    return f"{name}:{at}: error: {one_line(said)}\n"


def one_line(said: str) -> str:
    """Return what may be told of an error's words: one line of at most 300 characters that can be printed."""
    printable = "".join(letter if letter.isprintable() else " " for letter in said[: 4 * _MOST_TOLD])
    told = " ".join(printable.split())
    return told if len(told) <= _MOST_TOLD else f"{told[: _MOST_TOLD - 1]}…"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
