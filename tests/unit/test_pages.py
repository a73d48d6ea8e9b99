"""Arranging a process's memory for cheap forks: each in a process of its own, which it changes for good."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.sandboxes.pages import heap_in_large_pages, library_in_large_pages, room_in_large_pages
from assay.schema import Limits
from assay.verifiers.requirements import missing_modules
from assay.verifiers.sql.duckdb_program import USUAL_MEMORY_MB

needs_duckdb = pytest.mark.skipif(bool(missing_modules(["duckdb"])), reason="needs the extra `sql`")


def told(source: str) -> list[str]:
    """What a new interpreter prints, by line."""
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout.split("\n")


def test_holes_of_the_heap_are_filled() -> None:
    """What is allocated afterwards comes from the heap's end: a second call finds next to nothing."""
    source = (
        "from assay.sandboxes.pages import fill_holes\n"
        "kept = [[bytes(n) for n in range(600, 3000)] for _ in range(2)]\n"
        "del kept[0][::2]\n"
        "print(fill_holes()); print(fill_holes())"
    )
    first, second, _ = told(source)

    assert int(first) == 0 or int(first) > 10 * int(second)


@needs_duckdb
def test_a_moved_library_works_and_its_code_is_never_writable() -> None:
    """All of it or nothing lies in large pages."""
    source = (
        "import duckdb, _duckdb\n"
        "from assay.sandboxes.pages import library_in_large_pages\n"
        "print(library_in_large_pages(_duckdb.__file__))\n"
        "print(duckdb.sql('SELECT sum(range) FROM range(10)').fetchall())\n"
        "print([line for line in open('/proc/self/maps') if 'wx' in line.split()[1]])"
    )
    moved, result, writable, _ = told(source)

    assert int(moved) % (2 << 20) == 0
    assert (result, writable) == ("[(45,)]", "[]")


def test_a_library_that_is_not_loaded_is_left_alone() -> None:
    """And nothing else is moved in its place."""
    assert library_in_large_pages("/no/such/library.so") == 0


def test_a_heap_in_large_pages_keeps_what_it_holds() -> None:
    """Where the machine has large pages, there is one now."""
    source = (
        "from pathlib import Path\n"
        "from assay.sandboxes.pages import heap_in_large_pages\n"
        "large = lambda: sum(int(line.split()[1]) for line in Path('/proc/self/smaps').read_text().split('\\n')\n"
        "    if line.startswith('AnonHugePages'))\n"
        "kept = [bytes([n % 256]) * 100 for n in range(100_000)]\n"
        "print(heap_in_large_pages() == 0 or large() > 0)\n"
        "print(all(text == bytes([n % 256]) * 100 for n, text in enumerate(kept)))"
    )

    assert told(source)[:2] == ["True", "True"]


def test_where_no_kernel_tells_of_pages_the_heap_is_left_alone(tmp_path: Path) -> None:
    """Warm interpreters start there all the same."""
    assert heap_in_large_pages(tmp_path / "pagemap") == 0


@needs_duckdb
def test_room_in_large_pages_is_where_the_library_allocates_next() -> None:
    """Whoever is the first to touch it then touches 2 MB with one fault instead of 512."""
    source = (
        "import ctypes, re, _duckdb\n"
        "from pathlib import Path\n"
        "from assay.sandboxes.pages import room_in_large_pages\n"
        "engine = ctypes.CDLL(_duckdb.__file__)\n"
        "has_room = room_in_large_pages(_duckdb.__file__, 'duckdb_je_', 8 << 20)\n"
        "engine.duckdb_je_malloc.restype, engine.duckdb_je_malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]\n"
        "place = engine.duckdb_je_malloc(2 << 20)\n"
        "maps = re.findall(r'^([0-9a-f]+)-([0-9a-f]+) (.*?)^VmFlags:(.*?)$', Path('/proc/self/smaps').read_text(),\n"
        "    re.MULTILINE | re.DOTALL)\n"
        "(flags,) = [flags for start, end, _, flags in maps if int(start, 16) <= place < int(end, 16)]\n"
        "print(has_room, 'hg' in flags.split())"
    )

    assert told(source)[0] in ("True True", "False False")


def test_a_library_without_that_allocator_has_no_room() -> None:
    """Nothing is called in it."""
    assert not room_in_large_pages("libc.so.6", "duckdb_je_", 8 << 20)


@needs_duckdb
def test_the_warm_engine_has_no_thread_of_its_own() -> None:
    """It is forked by a raw clone, which only the one thread survives; its rehearsal leaves no file either."""
    source = (
        "import os, tempfile\n"
        "from assay.verifiers.sql import duckdb_program\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    os.environ['TMPDIR'] = folder\n"
        "    duckdb_program.warm()\n"
        "    print(len(os.listdir('/proc/self/task')), os.listdir(folder), os.getcwd())"
    )

    assert told(source)[0] == "1 [] /"
    assert Limits().memory_mb == USUAL_MEMORY_MB
