"""Reading what a notebook's program wrote, whatever it wrote."""

import subprocess
import sys

import pytest

from assay.service.compat.notebook import Told, notebook, read_notebook


@pytest.mark.parametrize(
    ("stdout", "told"),
    [
        ("", Told("")),
        ("M", Told("")),
        ("before Mhalf", Told("half")),
        ("MtextMpassedM", Told("text", True)),
        ("MtextMfailedM", Told("text", True, True)),
        ("MtextMpassed'x'M", Told("text", True, False, "'x'")),
        ("MtextMpassed7Mexit handlers", Told("text", True, False, "7")),
        ("MwroteMtheMmarkMpassedM", Told("wroteMtheMmark", True)),
    ],
)
def test_what_was_written_is_told_by_its_marks(stdout: str, told: Told) -> None:
    assert read_notebook(stdout, "M") == told


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        (["1 + 1"], Told("", True, False, "2")),
        (["print(1)", "print(2)"], Told("2\n", True)),
        (["x = [1]", "x.append(2)", "x"], Told("", True, False, "[1, 2]")),
        (["'passed'"], Told("", True, False, "'passed'")),
        (["1 / 0", "5"], Told("", True, False, "5")),
        (["{'}': '{x}'}"], Told("", True, False, "{'}': '{x}'}")),
        (["def f(): return 'é\\n\"'\nf();"], Told("", True)),
        (["class Odd:\n    def __repr__(self): raise ValueError('shy')\nOdd()"], None),
        ([""], Told("", True)),
    ],
)
def test_cells_run_one_after_the_other(cells: list[str], told: Told | None) -> None:
    """Earlier ones unseen; None: the cell itself fails, and says why."""
    program = notebook(cells, "MARK", "seed", is_minimal=True)
    ran = subprocess.run([sys.executable, "-"], input=program, capture_output=True, text=True, check=True)
    assert read_notebook(ran.stdout, "MARK") == (told or Told("ValueError: shy\n", True, True))
