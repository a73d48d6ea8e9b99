"""Compilers of kernels: which there are, which flags a task may ask for, and the command lines they are given.

Everything here is a pure decision. What is installed is asked in the jail (`compile_program`), because the jail's file
system, not the worker's, is the one that compiles.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import assert_never

from assay.verifiers.kernels import triton_program
from assay.verifiers.kernels.task_parts import Language as Language  # callers name it from here

SOURCE_STEM = "kernel"
"""Name of the submitted file, without its ending: all that `__FILE__` and diagnostics tell of where it lay."""

GLUE_NAMES: Mapping[Language, str] = {
    Language.C: "glue.c",
    Language.CUDA: "glue.cu",
    Language.TRITON: "request.json",
}
"""What of ours lies beside a submission, by language: C or CUDA C++ that is linked to it, or what Triton is to make."""
GLUE_UNIT = "glue.o"
"""The former, compiled."""

NATIVE = "native"
"""The architecture that means: this machine's own."""
CPU_LEVELS = (NATIVE, "x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4", "armv8-a", "armv8.2-a", "armv9-a")
"""Values of `-march` for C."""
GPU_ARCHES = (
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "sm_103a",
    "sm_110", "sm_110a", "sm_120", "sm_120a", "sm_121", "sm_121a",
)  # fmt: skip
"""Values of `-arch` for CUDA."""

_LEVEL = re.compile(r"-O[0-3]\Z")
_DEFINE = re.compile(r"-D[A-Za-z_][A-Za-z0-9_]{0,63}(=[A-Za-z0-9_.+-]{0,64})?\Z")
_REGISTERS = re.compile(r"-maxrregcount=([1-9][0-9]{1,2})\Z")
_MOST_FLAGS = 64
_MOST_SHOWN = 80  # characters of a flag that is refused
C_FLAGS = frozenset({
    "-funroll-loops", "-fno-unroll-loops", "-ftree-vectorize", "-fno-tree-vectorize", "-fno-math-errno",
    "-fno-trapping-math", "-ffp-contract=off", "-ffp-contract=on", "-ffp-contract=fast", "-fomit-frame-pointer",
    "-fstrict-aliasing", "-fno-strict-aliasing", "-mprefer-vector-width=128", "-mprefer-vector-width=256",
    "-mprefer-vector-width=512", "-std=c99", "-std=gnu99", "-std=c11", "-std=gnu11", "-std=c17", "-std=gnu17", "-w",
    "-ffast-math", "-Ofast", "-fassociative-math", "-freciprocal-math", "-fno-signed-zeros",
})  # fmt: skip
CUDA_FLAGS = frozenset({
    "-std=c++14", "-std=c++17", "-std=c++20", "--expt-relaxed-constexpr", "--expt-extended-lambda", "--fmad=true",
    "--fmad=false", "-w", "-use_fast_math", "--use_fast_math", "--ftz=true", "--prec-div=false", "--prec-sqrt=false",
})  # fmt: skip


@dataclass(frozen=True)
class Toolchain:
    """What the jail compiles with. An empty version means: not installed there."""

    gcc: str = ""
    """First line of `gcc --version`."""
    nvcc: str = ""
    """Release line of `nvcc --version`."""
    cuda_root: str = ""
    """The CUDA toolkit's folder, links resolved; headers below it may be included."""
    processor: str = ""
    """Names the processor model: what `-march=native` means here."""
    triton: str = ""
    """Version of the module."""
    python: str = "python3"
    """What runs our programs there."""

    def version(self, language: Language) -> str:
        """Return the version of what compiles that language; empty if nothing does."""
        match language:
            case Language.C:
                return self.gcc
            case Language.CUDA:
                return self.nvcc if self.gcc else ""
            case Language.PTX:
                return self.nvcc
            case Language.TRITON:
                return self.triton
            case Language.TORCH:
                return ""  # nothing is compiled
            case _:
                assert_never(language)

    @property
    def header_folders(self) -> tuple[str, ...]:
        """Folders whose files a source may include."""
        own = (f"{self.cuda_root}/",) if self.cuda_root else ()
        return ("/usr/include/", "/usr/lib/gcc/", "/usr/local/include/", *own)


@dataclass(frozen=True)
class Commands:
    """What the jailed program is to do: write `source_name`, run `lines` in order, give back `artifact_name`."""

    source_name: str
    artifact_name: str
    lines: tuple[tuple[str, ...], ...]
    dependency_names: tuple[str, ...]
    """Files, in the form of make rules, in which the tools list what they have read."""
    environment: Mapping[str, str]


class FlagRefused(ValueError):
    """A flag, or an architecture, that no task may ask for; the message names it."""


def check_flags(language: Language, flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that a task asks for. Raises FlagRefused at the first that is not on the list.

    Some change what arithmetic means. Pragmas and attributes of a source can do so anyway, as can the source itself:
    what is computed is for the tolerance to judge.
    """
    if len(flags) > _MOST_FLAGS:
        raise FlagRefused(f"{len(flags)} compiler flags; at most {_MOST_FLAGS} are taken")
    for flag in flags:
        if not _is_allowed(language, flag):
            shown = flag if len(flag) <= _MOST_SHOWN else flag[:_MOST_SHOWN] + "…"
            raise FlagRefused(f"the compiler flag {shown!r} is not on the list of those for {language}")
    return tuple(flags)


def check_arch(language: Language, arch: str) -> str:
    """Return the architecture asked for. Raises FlagRefused if it is none that is known."""
    known = CPU_LEVELS if language is Language.C else GPU_ARCHES
    if arch not in known:
        raise FlagRefused(f"unknown architecture {arch[:_MOST_SHOWN]!r}; use one of {', '.join(known)}")
    return arch


def plan(
    language: Language, arch: str, flags: Iterable[str], toolchain: Toolchain, *, is_native: bool = False
) -> Commands:
    """Return the commands for a source in that language; arch and flags have been checked.

    `is_native` asks for a shared object of C or CUDA C++ with host code, which source of ours beside it (`GLUE_NAMES`)
    calls. Without, C is linked alone, and CUDA C++ becomes a cubin.
    """
    match language:
        case Language.C:
            return _plan_c(arch, tuple(flags), is_native=is_native)
        case Language.CUDA:
            make = _plan_cuda_native if is_native else _plan_cuda
            return make(arch, tuple(flags), toolchain)
        case Language.PTX:
            return _plan_ptx(arch, tuple(flags), toolchain)
        case Language.TRITON:
            return _plan_triton(toolchain)
        case Language.TORCH:
            raise ValueError("modules over torch are loaded as they are")
        case _:
            assert_never(language)


def _is_allowed(language: Language, flag: str) -> bool:
    if language.is_python:
        return False
    if _LEVEL.match(flag) or (_DEFINE.match(flag) and language is not Language.PTX):
        return True
    if language is Language.C:
        return flag in C_FLAGS
    registers = _REGISTERS.match(flag)
    return (flag in CUDA_FLAGS and language is Language.CUDA) or (
        registers is not None and 16 <= int(registers[1]) <= 255
    )


_ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LC_ALL": "C",
    "SOURCE_DATE_EPOCH": "0",  # __DATE__ and __TIME__, so that equal sources give equal artifacts
}


def _plan_c(arch: str, flags: tuple[str, ...], *, is_native: bool) -> Commands:
    source, assembly, unit, artifact = (f"{SOURCE_STEM}.{ending}" for ending in ("c", "s", "o", "so"))
    compile_line = (
        "gcc", "-x", "c", "-std=gnu17", "-O3", *flags, f"-march={arch}", "-fPIC", "-fno-lto", "-fno-ident",
        "-frandom-seed=0", "-fno-plt", "-fdiagnostics-color=never", "-fno-diagnostics-show-caret", "-fmax-errors=20",
        "-ftrack-macro-expansion=0", "-MD", "-MF", "headers.d", "-S", source, "-o", assembly,
    )  # fmt: skip
    assemble_line = ("gcc", "-Wa,--MD,assembled.d", "-c", assembly, "-o", unit)
    units = (unit, GLUE_UNIT) if is_native else (unit,)
    glue_line = ("gcc", "-std=gnu17", "-O2", "-fPIC", "-fno-ident", "-c", GLUE_NAMES[Language.C], "-o", GLUE_UNIT)
    link_line = (
        "gcc", "-shared", "-nostartfiles", "-fno-lto", "-Wl,--build-id=none", "-Wl,--no-undefined", "-Wl,-z,now",
        "-Wl,-z,relro", "-Wl,-z,noexecstack", "-Wl,-z,text", "-Wl,--hash-style=sysv", "-Wl,--as-needed", *units,
        "-lm", "-o", artifact,
    )  # fmt: skip
    lines = (compile_line, assemble_line, *(glue_line,) * is_native, link_line)
    return Commands(source, artifact, lines, ("headers.d", "assembled.d"), _ENVIRONMENT)


def _plan_cuda(arch: str, flags: tuple[str, ...], toolchain: Toolchain) -> Commands:
    source, artifact = f"{SOURCE_STEM}.cu", f"{SOURCE_STEM}.cubin"
    line = (
        f"{toolchain.cuda_root}/bin/nvcc", "-cubin", f"-arch={arch}", "-std=c++17", *flags, "-rdc=false",
        "-MD", "-MF", "headers.d", source, "-o", artifact,
    )  # fmt: skip
    return Commands(source, artifact, (line,), ("headers.d",), _cuda_environment(toolchain))


def _plan_cuda_native(arch: str, flags: tuple[str, ...], toolchain: Toolchain) -> Commands:
    """Return what makes a shared object with host code; CUDA's runtime is linked into it, and hidden."""
    source, unit, artifact = (f"{SOURCE_STEM}.{ending}" for ending in ("cu", "o", "so"))
    host = ("-Xcompiler", "-fPIC", "-Xcompiler", "-fno-ident", "-Xcompiler", "-fno-lto")
    compiler = (f"{toolchain.cuda_root}/bin/nvcc", f"-arch={arch}", "-std=c++17")
    compile_line = (
        *compiler, "-O3", *flags, "-rdc=false", *host, "-Xcompiler", "-Wa\\,--MD\\,assembled.d",
        "-MD", "-MF", "headers.d", "-c", source, "-o", unit,
    )  # fmt: skip
    glue_line = (*compiler, "-O2", "-rdc=false", *host, "-c", GLUE_NAMES[Language.CUDA], "-o", GLUE_UNIT)
    linker = (
        "--build-id=none", "--no-undefined", "-z,now", "-z,relro", "-z,noexecstack", "-z,text", "--hash-style=sysv",
        "--as-needed", "--exclude-libs=ALL",
    )  # fmt: skip
    link_line = (
        *compiler, "-shared", "-cudart", "static", "-Xlinker", ",".join(linker), unit, GLUE_UNIT, "-o", artifact,
    )  # fmt: skip
    lines = (compile_line, glue_line, link_line)
    return Commands(source, artifact, lines, ("headers.d", "assembled.d"), _cuda_environment(toolchain))


def _cuda_environment(toolchain: Toolchain) -> Mapping[str, str]:
    return {**_ENVIRONMENT, "PATH": f"{toolchain.cuda_root}/bin:{_ENVIRONMENT['PATH']}"}


def _plan_ptx(arch: str, flags: tuple[str, ...], toolchain: Toolchain) -> Commands:
    source, artifact = f"{SOURCE_STEM}.ptx", f"{SOURCE_STEM}.cubin"
    line = (f"{toolchain.cuda_root}/bin/ptxas", f"-arch={arch}", *flags, source, "-o", artifact)
    return Commands(source, artifact, (line,), (), _ENVIRONMENT)


def _plan_triton(toolchain: Toolchain) -> Commands:
    """Return what has Triton compile a source by the request beside it; the artifact says more than the cubin."""
    source, artifact = f"{SOURCE_STEM}.py", f"{SOURCE_STEM}.triton"
    line = (toolchain.python, "-P", "-m", triton_program.__name__, source, GLUE_NAMES[Language.TRITON], artifact)
    environment = {**_ENVIRONMENT, "TRITON_CACHE_DIR": "/tmp/triton", "PYTHONDONTWRITEBYTECODE": "1"}
    return Commands(source, artifact, (line,), (), environment)
