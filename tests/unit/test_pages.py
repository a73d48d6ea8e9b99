"""Arranging a process's memory for cheap forks: each in a process of its own, which it changes for good."""

import subprocess
import sys

import pytest

from assay.sandboxes.pages import code_in_large_pages
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
def test_moved_code_runs_and_is_never_writable() -> None:
    """All of it or nothing lies in large pages."""
    source = (
        "import duckdb, _duckdb\n"
        "from assay.sandboxes.pages import code_in_large_pages\n"
        "print(code_in_large_pages(_duckdb.__file__))\n"
        "print(duckdb.sql('SELECT sum(range) FROM range(10)').fetchall())\n"
        "print([line for line in open('/proc/self/maps') if 'wx' in line.split()[1]])"
    )
    moved, result, writable, _ = told(source)

    assert int(moved) % (2 << 20) == 0
    assert (result, writable) == ("[(45,)]", "[]")


def test_code_that_is_not_loaded_is_left_alone() -> None:
    """And nothing else is moved in its place."""
    assert code_in_large_pages("/no/such/library.so") == 0


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
