"""The gate for shared objects, which are looked at as the loader reads them: by their segments."""

import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from assay.outcomes import Outcome
from assay.verifiers.kernels import elf
from assay.verifiers.kernels.elf import BadElf, Elf, Symbol
from assay.verifiers.kernels.gate import GateRefused, named, unreadable

_DYN = 3
_CPUS = {"x86_64": 62, "aarch64": 183}
_MOST_LISTED = 256
_NEEDED, _HASH, _STRINGS, _SYMBOLS, _RELA, _RELA_BYTES, _STRINGS_BYTES, _INIT = 1, 4, 5, 6, 7, 8, 10, 12
_FLAGS, _JUMP_RELA, _JUMP_RELA_BYTES, _INIT_ARRAY_BYTES, _PREINIT_ARRAY_BYTES = 30, 23, 2, 27, 33
_FORBIDDEN_TAGS = {
    15: "a search path for libraries (DT_RPATH)",
    29: "a search path for libraries (DT_RUNPATH)",
    22: "relocations in its code (DT_TEXTREL)",
    17: "relocations without addends",
    36: "packed relocations",
    0x6FFFFEF5: "a hash table of GNU's kind",
    0x6FFFFEFA: "a configuration file",
    0x6FFFFEFB: "an audit library",
    0x6FFFFEFC: "an audit library",
    0x7FFFFFFD: "an auxiliary library",
    0x7FFFFFFF: "a filter library",
}
_TEXTREL = 4  # a bit of DT_FLAGS
LIBRARIES = frozenset({"libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"})
"""What a kernel for a processor may be linked with."""
CUDA_LIBRARIES = LIBRARIES | {"libstdc++.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
"""What host code in C++ around CUDA kernels may be: the runtime of CUDA is in the object itself."""
_SYMBOL_BYTES = 24
_RELOCATION = struct.Struct("<QQq")
_INDIRECT = {62: 37, 183: 1032}
"""The relocation that calls code of the file while it is loaded, by machine."""


@dataclass(frozen=True)
class NativeRules:
    """What a shared object must be."""

    entries: Collection[str]
    """Functions it must export; it may export others."""
    machine: str = "x86_64"
    libraries: Collection[str] = LIBRARIES
    max_image_bytes: int = 268_435_456
    """Of everything it has loaded, its zero-filled variables included."""


@dataclass(frozen=True)
class NativeFacts:
    """What the gate has read of a shared object. The last three are for reports: code needs no import to do harm."""

    image_bytes: int
    needed: tuple[str, ...]
    imports: tuple[str, ...]
    constructors: int
    """Functions that the loader calls by itself; they run in the runner's jail, like all of it."""
    exports: tuple[str, ...] = field(default=())


def check_native(data: bytes, rules: NativeRules) -> NativeFacts:
    """Return what a shared object says of itself. Raises GateRefused, and nothing else."""
    try:
        file = elf.read(data)
        image_bytes = _check_segments(file, rules)
        dynamic = _Dynamic(file, file.dynamic())
        _check_tags(dynamic)
        symbols = dynamic.symbols()
        needed = dynamic.needed()
        _check_indirect(dynamic)
        exports = _check_exports(symbols, rules)
    except BadElf as error:
        raise unreadable(error) from error
    strange = [name for name in needed if name not in rules.libraries]
    if strange:
        told = f"it needs {named(strange)}; only these may be linked: {', '.join(sorted(rules.libraries))}"
        raise GateRefused(told, Outcome.COMPILE_ERROR)
    imports = tuple(symbol.name for symbol in symbols if symbol.section == 0 and symbol.name)
    return NativeFacts(image_bytes, needed, imports[:_MOST_LISTED], dynamic.constructors(), exports[:_MOST_LISTED])


def _check_segments(file: Elf, rules: NativeRules) -> int:
    """Return how much memory loading it takes."""
    if file.kind != _DYN or file.machine != _CPUS.get(rules.machine):
        raise BadElf(f"it is not a shared object for {rules.machine}")
    stacks = [segment for segment in file.segments if segment.kind == elf.STACK]
    if not stacks or any(segment.flags & elf.EXECUTABLE_BIT for segment in stacks):
        told = "it asks for an executable stack (a nested function whose address is taken needs one)"
        raise GateRefused(told, Outcome.COMPILE_ERROR)
    loaded = [segment for segment in file.segments if segment.kind == elf.LOAD]
    if any(segment.flags & elf.EXECUTABLE_BIT and segment.flags & elf.WRITABLE_BIT for segment in loaded):
        raise GateRefused("it has memory that is both writable and executable")
    if any(segment.kind == elf.INTERPRETER for segment in file.segments):
        raise GateRefused("it names a program interpreter")
    image_bytes = sum(segment.memory_bytes for segment in loaded)
    if image_bytes > rules.max_image_bytes:
        told = f"its variables take {image_bytes} bytes; at most {rules.max_image_bytes} are allowed"
        raise GateRefused(told, Outcome.COMPILE_ERROR)
    return image_bytes


class _Dynamic:
    """The dynamic segment, as the loader uses it."""

    def __init__(self, file: Elf, entries: tuple[tuple[int, int], ...]) -> None:
        self.file = file
        self.entries = entries
        self._strings = file.at(self.one(_STRINGS), self.one(_STRINGS_BYTES))

    def one(self, tag: int) -> int:
        """Return the value of a tag that must be there once. Raises BadElf."""
        found = [value for known, value in self.entries if known == tag]
        if len(found) != 1:
            raise BadElf(f"its dynamic segment has {len(found)} entries {tag}")
        return found[0]

    def total(self, *tags: int) -> int:
        """Return the sum of the values of these tags."""
        return sum(value for known, value in self.entries if known in tags)

    def needed(self) -> tuple[str, ...]:
        """Return the libraries it asks for."""
        return tuple(elf.text_at(self._strings, value) for tag, value in self.entries if tag == _NEEDED)

    def symbols(self) -> tuple[Symbol, ...]:
        """Return its dynamic symbols; the hash table says how many there are."""
        _, count = struct.unpack("<II", self.file.at(self.one(_HASH), 8))
        return elf.read_symbols(self.file.at(self.one(_SYMBOLS), count * _SYMBOL_BYTES), self._strings)

    def constructors(self) -> int:
        """Return how many functions the loader calls."""
        single = sum(1 for tag, value in self.entries if tag == _INIT and value)
        return single + self.total(_INIT_ARRAY_BYTES, _PREINIT_ARRAY_BYTES) // 8

    def relocations(self) -> Iterable[int]:
        """Yield the kind of each relocation. Raises BadElf."""
        for where, size in ((_RELA, _RELA_BYTES), (_JUMP_RELA, _JUMP_RELA_BYTES)):
            if any(tag == where for tag, _ in self.entries):
                length = self.one(size)
                table = self.file.at(self.one(where), length - length % _RELOCATION.size)
                for _, info, _ in _RELOCATION.iter_unpack(table):
                    yield info & 0xFFFFFFFF


def _check_tags(dynamic: _Dynamic) -> None:
    for tag, _ in dynamic.entries:
        if tag in _FORBIDDEN_TAGS:
            raise GateRefused(f"it has {_FORBIDDEN_TAGS[tag]}")
    if dynamic.total(_FLAGS) & _TEXTREL:
        raise GateRefused("it has relocations in its code")


def _check_indirect(dynamic: _Dynamic) -> None:
    unwanted = _INDIRECT[dynamic.file.machine]
    if any(kind == unwanted for kind in dynamic.relocations()):
        raise _chooses("functions")


def _chooses(what: str) -> GateRefused:
    told = f"it chooses {what} while it is loaded (an `ifunc`, as `target_clones` makes them)"
    return GateRefused(f"{told}: leave that out; what is compiled for is one processor", Outcome.COMPILE_ERROR)


def _check_exports(symbols: Iterable[Symbol], rules: NativeRules) -> tuple[str, ...]:
    """Return the functions it exports."""
    exported = []
    for symbol in symbols:
        if symbol.kind == elf.IFUNC:
            raise _chooses(repr(symbol.name[:100]))
        if symbol.kind == elf.FUNCTION and symbol.section != 0 and symbol.binding != elf.LOCAL and not symbol.other & 3:
            exported.append(symbol.name)
    missing = sorted(set(rules.entries) - set(exported))
    if missing:
        found = f"; it has {named(sorted(exported))}" if exported else ""
        raise GateRefused(f"there is no function {named(missing)}{found}", Outcome.COMPILE_ERROR)
    return tuple(exported)
