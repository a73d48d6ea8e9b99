"""Reading ELF files that nobody vouches for: 64 bit, little-endian; linear in their size, and bounded.

Only `struct` and slices that have been measured first. Whatever is wrong with a file becomes a BadElf.
"""

import struct
from dataclasses import dataclass

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_PAIR = struct.Struct("<QQ")
_IDENTITY = b"\x7fELF\x02\x01\x01"
CUDA = 190
"""The machine of cubins."""
_MOST_CUDA_VERSION = 0xFF
"""Where other files say 1, ptxas of CUDA 12 wrote its own release: 129 (V12.9.86)."""
_MOST_SECTIONS = 8192
_MOST_SEGMENTS = 64
_MOST_SYMBOLS = 100_000
_MOST_DYNAMIC = 1024
_MOST_NAME = 4096

NOBITS, SYMBOL_TABLE = 8, 2
WRITE, ALLOCATE = 1, 2
"""Bits of a section's flags."""
LOAD, DYNAMIC, INTERPRETER, STACK = 1, 2, 3, 0x6474E551
"""Kinds of segments."""
EXECUTABLE_BIT, WRITABLE_BIT = 1, 2
"""Bits of a segment's flags."""
FUNCTION, IFUNC = 2, 10
"""Kinds of symbols."""
LOCAL, GLOBAL, WEAK = 0, 1, 2
"""Bindings of symbols."""


class BadElf(ValueError):
    """The file is not what it should be; the message says in which way."""


@dataclass(frozen=True)
class Section:
    """One entry of the section table."""

    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


@dataclass(frozen=True)
class Segment:
    """One entry of the program header table; sizes in bytes."""

    kind: int
    flags: int
    offset: int
    address: int
    file_bytes: int
    memory_bytes: int


@dataclass(frozen=True)
class Symbol:
    """One entry of a symbol table; `section` 0 means that it is defined elsewhere."""

    name: str
    kind: int
    binding: int
    other: int
    section: int
    value: int
    """Its distance from the section's start, in files that are not loaded by segments."""
    size: int


@dataclass(frozen=True)
class Elf:
    """A file whose tables have been read."""

    data: bytes
    abi_version: int
    kind: int
    machine: int
    flags: int
    sections: tuple[Section, ...]
    segments: tuple[Segment, ...]

    def content(self, section: Section) -> bytes:
        """Return what a section holds in the file."""
        return b"" if section.kind == NOBITS else self.data[section.offset : section.offset + section.size]

    def symbols(self) -> tuple[Symbol, ...]:
        """Return the symbols of the file's one symbol table. Raises BadElf."""
        tables = [section for section in self.sections if section.kind == SYMBOL_TABLE]
        if len(tables) != 1:
            raise BadElf(f"it has {len(tables)} symbol tables")
        if not 0 < tables[0].link < len(self.sections):
            raise BadElf("its symbol table names no string table")
        return read_symbols(self.content(tables[0]), self.content(self.sections[tables[0].link]))

    def dynamic(self) -> tuple[tuple[int, int], ...]:
        """Return tags and values of the dynamic segment, up to its end mark. Raises BadElf."""
        found = [segment for segment in self.segments if segment.kind == DYNAMIC]
        if len(found) != 1:
            raise BadElf(f"it has {len(found)} dynamic segments")
        entries: list[tuple[int, int]] = []
        data = self.at(found[0].address, min(found[0].file_bytes, _MOST_DYNAMIC * _PAIR.size))
        for tag, value in _PAIR.iter_unpack(data[: len(data) - len(data) % _PAIR.size]):
            if tag == 0:
                return tuple(entries)
            entries.append((tag, value))
        raise BadElf("its dynamic segment does not end")

    def at(self, address: int, size: int) -> bytes:
        """Return bytes as they lie in memory once loaded, of one segment's file part. Raises BadElf."""
        for segment in self.segments:
            start = address - segment.address
            if segment.kind == LOAD and start >= 0 and start + size <= segment.file_bytes:
                return self.data[segment.offset + start : segment.offset + start + size]
        raise BadElf(f"it refers to {size} bytes at {address:#x}, which it does not hold")


def read(data: bytes) -> Elf:
    """Read the tables. Raises BadElf."""
    if len(data) < _HEADER.size or not data.startswith(_IDENTITY):
        raise BadElf("it is not a little-endian ELF file of 64 bits")
    (ident, kind, machine, version, _, segments_at, sections_at, flags, _, segment_size, segment_count, section_size,
     section_count, names_index) = _HEADER.unpack_from(data)  # fmt: skip
    if version != 1 and not (machine == CUDA and version <= _MOST_CUDA_VERSION):
        raise BadElf(f"its version is {version}")
    segments = _segments(data, segments_at, segment_count, segment_size)
    sections = _sections(data, sections_at, section_count, section_size, names_index)
    return Elf(data, ident[8], kind, machine, flags, sections, segments)


def read_symbols(table: bytes, strings: bytes) -> tuple[Symbol, ...]:
    """Read a symbol table. Raises BadElf."""
    count, left = divmod(len(table), _SYMBOL.size)
    if left or count > _MOST_SYMBOLS:
        raise BadElf(f"its symbol table has {len(table)} bytes")
    return tuple(
        Symbol(text_at(strings, name), info & 15, info >> 4, other, section, value, size)
        for name, info, other, section, value, size in _SYMBOL.iter_unpack(table)
    )


def text_at(strings: bytes, offset: int) -> str:
    """Return the text that begins there in a string table. Raises BadElf."""
    end = strings.find(b"\0", offset, offset + _MOST_NAME) if offset < len(strings) else -1
    if end < 0:
        raise BadElf(f"a name at {offset} of {len(strings)} bytes does not end")
    return strings[offset:end].decode("utf-8", "replace")


def _segments(data: bytes, start: int, count: int, size: int) -> tuple[Segment, ...]:
    if count == 0:
        return ()
    if count > _MOST_SEGMENTS:
        raise BadElf(f"it has {count} segments")
    found = []
    for index, row in enumerate(_rows(_SEGMENT, data, start, count, size)):
        kind, flags, offset, address, _, file_bytes, memory_bytes, _ = row
        if offset + file_bytes > len(data):
            raise BadElf(f"segment {index} reaches beyond the end of the file")
        found.append(Segment(kind, flags, offset, address, file_bytes, memory_bytes))
    return tuple(found)


def _sections(data: bytes, start: int, count: int, size: int, names_index: int) -> tuple[Section, ...]:
    if count == 0:
        return ()
    if count > _MOST_SECTIONS:
        raise BadElf(f"it has {count} sections")
    raw = _rows(_SECTION, data, start, count, size)
    _check_extents(data, raw)
    if not 0 < names_index < count or raw[names_index][1] == NOBITS:
        raise BadElf("it names no table of section names")
    names = data[raw[names_index][4] : raw[names_index][4] + raw[names_index][5]]
    return tuple(
        Section(text_at(names, name), kind, flags, offset, length, link, info)
        for name, kind, flags, _, offset, length, link, info, _, _ in raw
    )


def _rows(layout: struct.Struct, data: bytes, start: int, count: int, size: int) -> list[tuple[int, ...]]:
    if size != layout.size or start + count * size > len(data):
        raise BadElf(f"a table of {count} entries of {size} bytes at {start} is not one")
    return [layout.unpack_from(data, start + index * size) for index in range(count)]


def _check_extents(data: bytes, raw: list[tuple[int, ...]]) -> None:
    """Sections lie in the file and do not share it: whoever reads them all reads it once."""
    extents = sorted((row[4], row[5]) for row in raw if row[1] != NOBITS and row[5])
    end = 0
    for offset, size in extents:
        if offset < end or offset + size > len(data):
            raise BadElf("its sections overlap, or reach beyond its end")
        end = offset + size
