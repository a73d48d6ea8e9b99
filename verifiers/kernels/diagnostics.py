"""What may be shown of a compiler's words: those about the submitted source, and no text of any other file.

A source can have any file of the jail read (`#include "/etc/passwd"`), and compilers quote what they could not parse.
In the jail such files are empty of secrets; here their text is left out as well, and folders are cut from paths.
"""

import posixpath
import re
from collections.abc import Sequence

from assay.verifiers.kernels.toolchain import GLUE_NAMES, GLUE_UNIT, SOURCE_STEM

_MOST_CHARACTERS = 4000
_MOST_LINE = 300
_HEAD_SHARE = 0.75
_LEFT_OUT = "(words about another file are left out)"
_LOCATED = re.compile(r"(?:In file included from |\s{1,40}from )?([^\s:(),][^:(),]{0,200})(?=[:(,]\d)")
"""A line that begins with a place: `FILE:LINE`, `FILE(LINE)`, also as the first of those that included it."""
_PATH = re.compile(r"(?<![\w./])/(?:[\w.+@~-]{1,200}/)+([\w.+@~-]{0,200})")
_CONTROL = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def clean(head: bytes, tail: bytes, left_out: int, header_folders: Sequence[str]) -> str:
    """Return what a client may read of what tools printed; at most some 4,000 characters, head and tail of it."""
    kept = _own_lines(head, header_folders)
    if left_out:
        kept.append(f"({left_out} bytes left out)")
    return _cut("\n".join(kept + _own_lines(tail, header_folders, known=False)))


def foreign_files(dependencies: Sequence[bytes], header_folders: Sequence[str]) -> list[str]:
    """Return the names, without folders, of what was read that is neither a toolchain's header nor the source itself.

    `dependencies` are make rules, `target: file file…`, with the usual escapes.
    """
    found = []
    for text in dependencies:
        names = text.decode("utf-8", "replace").replace("\\\n", " ").partition(": ")[2]
        for name in re.split(r"(?<!\\)\s+", names.strip()):
            plain = posixpath.normpath(name.replace("\\ ", " ").replace("\\#", "#").replace("$$", "$")) if name else ""
            is_known = _is_own(plain) or _is_made_by_tools(plain) or plain.startswith(tuple(header_folders))
            if plain and not is_known:
                found.append(posixpath.basename(plain)[:100])
    return found


def _own_lines(printed: bytes, header_folders: Sequence[str], *, known: bool = True) -> list[str]:
    """Return the lines about the source or the toolchain; `known` says that the first one is not the rest of others."""
    kept: list[str] = []
    is_own = known
    for line in _CONTROL.sub("", printed.decode("utf-8", "replace")).split("\n"):
        place = _LOCATED.match(line)
        if place is not None:
            is_own = _may_be_shown(place[1], header_folders)
        elif line.startswith((f"{SOURCE_STEM}.", "ptxas", "nvcc", "gcc", "cc1", "collect2", "/usr/bin/ld:")):
            is_own = True
        if is_own and line.strip():
            kept.append(_PATH.sub(r"\1", line)[:_MOST_LINE])
        elif place is not None and (not kept or kept[-1] != _LEFT_OUT):
            kept.append(_LEFT_OUT)
    return kept


def _may_be_shown(name: str, header_folders: Sequence[str]) -> bool:
    plain = posixpath.normpath(name.strip())
    return _is_own(plain) or plain.startswith(tuple(header_folders)) or _is_made_by_tools(plain)


def _is_own(name: str) -> bool:
    sources = (f"{SOURCE_STEM}.{ending}" for ending in ("c", "cu", "s", "o", "ptx", "py"))
    return name in (*GLUE_NAMES.values(), GLUE_UNIT, *sources)


def _is_made_by_tools(name: str) -> bool:
    """Whether it is a file that a compiler wrote between two steps: assembly, or nvcc's host code."""
    base = posixpath.basename(name)
    between = base.endswith((".ptx", ".s")) or base.startswith("tmpxft_")
    return (name == base and between) or name.startswith(("/tmp/tmpxft_", "/tmp/cc"))


def _cut(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    head = int(_MOST_CHARACTERS * _HEAD_SHARE)
    tail = _MOST_CHARACTERS - head
    return f"{text[:head]}\n({len(text) - _MOST_CHARACTERS} characters left out)\n{text[-tail:]}"
