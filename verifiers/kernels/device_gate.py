"""The gate for cubins, which are looked at as the CUDA driver reads them: by their sections.

Tables of CUDA's own mathematics library lie in `.nv.global.init`, which can be written, though the library only reads
them (double `sin` and its like). They are let through if they are those very tables: by name, and by every byte, with
nothing else in the section. What is left to a source that declares such a table itself, byte for byte, and then writes
it, is `_TABLES`' few hundred bytes of state; all outputs are checked on inputs that never come twice, so state earns
nothing. It is forbidden to keep reports simple, not because the measurement rests on it.

What compilers make of honest sources is no accusation: constant tables, strings and virtual functions lie in
`.nv.global.init` as well, so that alone is a `compile_error`. Memory without initial values is there to be written.
"""

import hashlib
import struct
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from assay.outcomes import Outcome
from assay.verifiers.kernels import elf
from assay.verifiers.kernels.elf import BadElf, Elf, Section, Symbol
from assay.verifiers.kernels.gate import GateRefused, named, unreadable

_EXEC = 2
_ENTRY = 0x10  # a bit of a symbol's `other`: a kernel, not a function
_FIRST_WITH_WIDE_ARCH = 8  # ABI version from which on the architecture is in the second byte of the flags
_RESERVED_FROM = 90  # architectures from which on a kernel's section holds the system's shared memory too
_RESERVED_BYTES = 1024
_KNOWN_WEAK = (".nv.reservedSmem", "__nv_reservedSMEM")
_PER_KERNEL_ATTRIBUTES = {0x05: "max_threads", 0x19: "parameter_bytes"}
_PER_SYMBOL_ATTRIBUTES = {0x11: "frame_bytes", 0x2F: "registers"}
_INITIALISED = ".nv.global.init"
_TABLES = {
    "__cudart_sin_cos_coeffs": "bf6a9587812432cf5649f28013165faa5a19d2ad0f66fd69cbf13096c2ea4263",
    "__cudart_i2opi_d": "7ede62875c004cc8c2847b487cb377f75c153593f45bab10b272128e31690cde",
    "__cudart_i2opi_f": "af58a7804afd16e4e7a715bd29412e82374ac0eb2196ae5f00fbd5835af8006d",
}
"""SHA-256 of what libdevice keeps for sines, cosines and tangents, by name (CUDA 13.0, sm_80 and sm_90 alike)."""
_ALIGNMENT = 16
_BY_SIZE = 4  # the format of attributes that bring a size and a value


@dataclass(frozen=True)
class DeviceRules:
    """What a cubin must be."""

    entries: Collection[str]
    """Names of its kernels: these and no others."""
    arch: str
    """As given to the compiler, `sm_90a`; of its letter a file tells nothing."""
    writable_globals: bool = False
    """Whether it may keep state in device memory from launch to launch."""
    max_registers: int = 255
    max_shared_bytes: int = 232_448
    """Static shared memory of a kernel, without what the system reserves."""
    max_frame_bytes: int = 4096
    """Stack of a thread, where registers spill to."""


@dataclass(frozen=True)
class KernelFacts:
    """What a cubin says of one kernel; None where it does not say."""

    name: str
    shared_bytes: int = 0
    registers: int | None = None
    frame_bytes: int | None = None
    max_threads: int | None = None
    """Of `__launch_bounds__`: the product of the three numbers."""
    parameter_bytes: int | None = None


@dataclass(frozen=True)
class CubinFacts:
    """What the gate has read of a cubin."""

    kernels: tuple[KernelFacts, ...]
    arch: int
    global_bytes: int
    constant_bytes: int
    """Of `__constant__` variables."""


def check_cubin(data: bytes, rules: DeviceRules) -> CubinFacts:
    """Return what a cubin says of itself. Raises GateRefused, and nothing else."""
    try:
        file = elf.read(data)
        _check_device_file(file, rules)
        symbols = file.symbols()
        _check_entries(file, symbols, rules)
        _check_externs(symbols)
        global_bytes = _check_state(file, symbols, rules)
        facts = CubinFacts(
            tuple(_kernel(file, symbols, name) for name in sorted(rules.entries)),
            _arch_of(file),
            global_bytes,
            sum(section.size for section in file.sections if section.name == ".nv.constant3"),
        )
    except BadElf as error:
        raise unreadable(error) from error
    for kernel in facts.kernels:
        _check_resources(kernel, rules)
    return facts


def _check_device_file(file: Elf, rules: DeviceRules) -> None:
    if file.machine != elf.CUDA:
        raise BadElf("it is not for a CUDA device")
    if file.kind != _EXEC:
        raise GateRefused("it is relocatable: kernels that launch kernels, or that are linked later, are not taken")
    wanted = int("".join(letter for letter in rules.arch if letter.isdigit()) or 0)
    if _arch_of(file) != wanted:
        raise BadElf(f"it is for sm_{_arch_of(file)}, not {rules.arch}")


def _arch_of(file: Elf) -> int:
    return (file.flags >> 8 if file.abi_version >= _FIRST_WITH_WIDE_ARCH else file.flags) & 0xFF


def _check_entries(file: Elf, symbols: Iterable[Symbol], rules: DeviceRules) -> None:
    """The kernels are those asked for, by their symbols and by their code."""
    marked = {symbol.name for symbol in symbols if symbol.kind == elf.FUNCTION and symbol.other & _ENTRY}
    described = {section.name.removeprefix(".nv.info.") for section in file.sections if _describes(section)}
    missing = sorted(set(rules.entries) - (marked & described))
    if missing:
        found = f"; it has {named(sorted(marked))}" if marked else ""
        hint = 'declare it `extern "C" __global__`'
        raise GateRefused(f"there is no kernel {named(missing)}{found} ({hint})", Outcome.COMPILE_ERROR)
    beside = sorted((marked | _kernel_names(file, described)) - set(rules.entries))
    if beside:
        told = f"it has kernels that nobody asked for: {named(beside)}; leave them out, or launch them by a plan"
        raise GateRefused(told, Outcome.COMPILE_ERROR)


def _describes(section: Section) -> bool:
    return section.name.startswith(".nv.info.")


def _kernel_names(file: Elf, described: set[str]) -> set[str]:
    """Names of described code that has parameters in constant memory, as only kernels have."""
    banks = {section.name.removeprefix(".nv.constant0.") for section in file.sections}
    return described & banks


def _check_externs(symbols: Iterable[Symbol]) -> None:
    missing = [
        symbol.name
        for symbol in symbols
        if symbol.section == 0 and symbol.name and not (
            symbol.binding == elf.WEAK and symbol.name.startswith(_KNOWN_WEAK)
        )
    ]  # fmt: skip
    if missing:
        told = f"it calls what is not in it: {named(missing)}; `printf`, `assert` and `malloc` are not to be had"
        raise GateRefused(told, Outcome.COMPILE_ERROR)


def _check_state(file: Elf, symbols: Iterable[Symbol], rules: DeviceRules) -> int:
    """Return the bytes of variables in device memory; kernels have none, unless the task allows them."""
    kept = [
        (index, section)
        for index, section in enumerate(file.sections)
        if section.name.startswith(".nv.global")
        or (section.flags & elf.WRITE and section.flags & elf.ALLOCATE and not section.name.startswith(".nv.shared"))
    ]
    held = [section for index, section in kept if section.size and not _is_tables(file, symbols, index)]
    if held and not rules.writable_globals:
        raise GateRefused(
            f"it keeps variables in device memory ({named(section.name for section in held)}); "
            "use `__constant__` for tables, and the buffers of the task for the rest",
            Outcome.COMPILE_ERROR if all(section.name == _INITIALISED for section in held) else Outcome.VIOLATION,
        )
    return sum(section.size for section in held)


def _is_tables(file: Elf, symbols: Iterable[Symbol], index: int) -> bool:
    """Say whether a section holds tables of the mathematics library and not a byte more."""
    section = file.sections[index]
    if section.name != _INITIALISED or section.kind == elf.NOBITS:
        return False
    content = file.content(section)
    objects = [symbol for symbol in symbols if symbol.section == index and symbol.name and symbol.size]
    spans = sorted((symbol.value, symbol.value + symbol.size, symbol.name) for symbol in objects)
    end = 0
    for start, stop, name in spans:
        if not _is_padding(content, end, start) or stop > len(content):
            return False
        if hashlib.sha256(content[start:stop]).hexdigest() != _TABLES.get(name):
            return False
        end = stop
    return end > 0 and _is_padding(content, end, len(content))


def _is_padding(content: bytes, start: int, stop: int) -> bool:
    return 0 <= stop - start < _ALIGNMENT and not any(content[start:stop])


def _kernel(file: Elf, symbols: tuple[Symbol, ...], name: str) -> KernelFacts:
    numbers: dict[str, int] = {}
    for section in file.sections:
        if section.name == ".nv.info":
            for attribute, value in _attributes(file.content(section)):
                label = _PER_SYMBOL_ATTRIBUTES.get(attribute)
                if label and len(value) == 8 and _is_symbol(symbols, value, name):
                    numbers[label] = max(numbers.get(label, 0), int.from_bytes(value[4:], "little"))
        elif section.name == f".nv.info.{name}":
            numbers.update(_own_attributes(file.content(section)))
    shared = sum(section.size for section in file.sections if section.name == f".nv.shared.{name}")
    reserved = _RESERVED_BYTES if _arch_of(file) >= _RESERVED_FROM else 0
    return KernelFacts(name, max(0, shared - reserved), **numbers)


def _is_symbol(symbols: tuple[Symbol, ...], value: bytes, name: str) -> bool:
    index = int.from_bytes(value[:4], "little")
    return index < len(symbols) and symbols[index].name == name


def _own_attributes(content: bytes) -> dict[str, int]:
    numbers = {}
    for attribute, value in _attributes(content):
        label = _PER_KERNEL_ATTRIBUTES.get(attribute)
        if label == "max_threads" and len(value) == 12:
            x, y, z = struct.unpack("<III", value)
            numbers[label] = x * y * z
        elif label == "parameter_bytes":
            numbers[label] = int.from_bytes(value[:2], "little")
    return numbers


def _attributes(content: bytes) -> Iterable[tuple[int, bytes]]:
    """Yield number and value of each attribute of an information section. Raises BadElf."""
    at = 0
    while at < len(content):
        if at + 4 > len(content):
            raise BadElf("an attribute of a kernel is cut off")
        form, attribute = content[at], content[at + 1]
        if form == _BY_SIZE:
            size = int.from_bytes(content[at + 2 : at + 4], "little")
            yield attribute, content[at + 4 : at + 4 + size]
            at += 4 + size
        else:
            yield attribute, content[at + 2 : at + 4]
            at += 4


def _check_resources(kernel: KernelFacts, rules: DeviceRules) -> None:
    for what, used, most in (
        ("registers", kernel.registers, rules.max_registers),
        ("bytes of shared memory", kernel.shared_bytes, rules.max_shared_bytes),
        ("bytes of stack", kernel.frame_bytes, rules.max_frame_bytes),
    ):
        if used is not None and used > most:
            told = f"the kernel {kernel.name!r} uses {used} {what}; at most {most} are allowed"
            raise GateRefused(told, Outcome.COMPILE_ERROR)
