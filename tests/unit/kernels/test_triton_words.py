"""What a source in Triton can have its errors say, with a stand-in for Triton: the source is run before it is used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.sandboxes import syscalls
from assay.verifiers.kernels import triton_program

STANDS_IN = {
    "triton/__init__.py": "",
    "triton/compiler.py": "",
    "triton/backends/__init__.py": "",
    "triton/backends/compiler.py": "",
    "triton/runtime/__init__.py": "",
    "triton/runtime/jit.py": "class JITFunction: pass\n",
}
REQUEST = '{"entry": "axpy"}'


def told(folder: Path, source: str) -> str:
    """What is said of a source that raises."""
    for name, text in STANDS_IN.items():
        path = folder / "libraries" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    work = folder / "work"
    work.mkdir()
    (work / "kernel.py").write_text(source)
    (work / "request.json").write_text(REQUEST)
    line = (sys.executable, "-P", "-m", triton_program.__name__, "kernel.py", "request.json", "kernel.triton")
    environment = {"PYTHONPATH": str(folder / "libraries"), "TMPDIR": str(work), "PATH": os.environ["PATH"]}
    done = subprocess.run(line, cwd=work, env=environment, capture_output=True, check=False, text=True)
    assert done.returncode == 1
    return done.stdout


@pytest.mark.skipif(not syscalls.landlock_version(), reason="no Landlock")
def test_b10_errors_hold_no_text_of_other_files(tmp_path: Path) -> None:
    """A file that is no library cannot be read; the source's own line is told."""
    (tmp_path / "secret").write_text("of somebody else")

    words = told(tmp_path, f"\nraise ValueError(open({str(tmp_path / 'secret')!r}).read())\n")

    assert words.startswith("kernel.py:2: error: PermissionError")
    assert "of somebody else" not in words


@pytest.mark.parametrize("raised", ["'a\\nb\\x1b[31m' + 'x' * 5000", "'\\x9b' * 5000 + 'x'"])
def test_errors_are_told_in_one_short_line(tmp_path: Path, raised: str) -> None:
    """Of what can be printed, whatever the source raises."""
    words = told(tmp_path, f"raise ValueError({raised})\n")

    assert words.startswith("kernel.py:1: error: ValueError:")
    assert words.endswith("\n")
    assert words.count("\n") == 1
    assert len(words) <= 330
    assert words.rstrip("\n").isprintable()


def test_what_can_be_told_is_told() -> None:
    """Words of one line are left alone."""
    assert triton_program.one_line("NameError('nonsense is not defined')") == "NameError('nonsense is not defined')"
