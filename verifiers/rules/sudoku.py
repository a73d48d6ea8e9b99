"""The verifier `sudoku`: how much of a grid is right?"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.answering import AnsweringTask
from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.rule import Profile, Scored, Term

_SIZES = {16: 4, 81: 9}
_EMPTY = "0"
_SPELLED_EMPTY = str.maketrans("._", "00")
# A word with a row's number and a mark after it, or such a number alone at the start of a line. Possessive: linear.
_LABEL = re.compile(
    r"(?<![A-Za-z])[A-Za-z]++[ \t]*+[0-9]{1,2}+[ \t]*+[:.)=\-]|^[ \t]*+[0-9]{1,2}+(?:[ \t]*+[:)]|\.[ \t])", re.MULTILINE
)


class SudokuTask(AnsweringTask):
    """A sudoku of 4x4 or 9x9 cells to be completed; the reward is one term, `score`.

    Judged are the digits of the last `<answer>` block, row by row, whatever stands between them. `cells`: the share of
    the puzzle's empty cells that agree with the stored solution, as d1 and wd1 pay. `whole`: 1 if all of them do.
    `valid`: 1 if the grid solves the puzzle, whichever solution it is; nothing needs to be stored for it.
    By default a grid that changes a given, or has too few or too many digits, earns 0, labels such as `Row 1:` are not
    read as cells, and another right solution earns 1. The released function does none of this, and pays a grid of one
    digit about a quarter.
    Source: dllm-reasoning/d1@837888f reward_func.py, xiaohangt/wd1@0898985, the same text.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"id": "s", "verifier": "sudoku", "puzzle": "1030002101033000", "solution": "1234432121433412"}
            ]
        }
    )
    PROFILES: ClassVar = (
        Profile(
            "d1/code",
            {"mode": "cells", "check_givens": False, "other_solutions": False, "grid_length": "padded",
             "drop_labels": False, "full_puzzle": "zero", "reasoning": "kept"},
            "dllm-reasoning/d1@837888f and xiaohangt/wd1@0898985 reward_func.py",
            "the share of empty cells, padded with zeros or cut; givens are not looked at",
        ),
        Profile("sudoku/hardened", {}, "the rules above", "the defaults"),
    )  # fmt: skip

    verifier: Literal["sudoku"] = "sudoku"
    puzzle: str = Field(max_length=500)
    """16 or 81 cells row by row, empty ones as `0`, `.` or `_`; white space is dropped."""
    solution: str | None = Field(None, max_length=500)
    """The stored solution, which `cells` and `whole` compare with."""
    size: Literal[4, 9] | None = None
    """Cells a row; told by the puzzle where it is left out."""
    mode: Literal["cells", "whole", "valid"] = "cells"
    """What is paid, as above."""
    check_givens: bool = True
    """Whether a grid that changes a given earns 0 (`cells`, `whole`)."""
    other_solutions: bool = True
    """Whether a grid that solves the puzzle otherwise than stored earns 1 (`cells`, `whole`)."""
    grid_length: Literal["exact", "padded"] = "exact"
    """Whether another number of digits earns 0, or they are padded with zeros or cut."""
    drop_labels: bool = True
    """Whether labels are dropped: a word, number and one of `:.)=-`, or, first in a line, a number with `:`, `)` or a
    full stop and a blank; numbers of at most two digits."""
    full_puzzle: Literal["refused", "zero"] = "refused"
    """What becomes of a puzzle without an empty cell: it is refused, or every grid scores 0."""

    @model_validator(mode="after")
    def _agree(self) -> Self:
        cells = cells_of(self.puzzle)
        size = _SIZES.get(len(cells))
        if size is None or not cells.isascii() or not cells.isdecimal() or max(cells) > str(size):
            raise misplaced(("puzzle",), "puzzle must be 16 cells of 0 to 4 or 81 cells of 0 to 9")
        if self.size not in (None, size):
            raise misplaced(
                ("size",),
                f"size {self.size} does not fit a puzzle of {len(cells)} cells",
                f"give {size}, or leave it out",
            )
        if self.solution is None:
            if self.mode != "valid":
                raise misplaced(
                    ("solution",), f"mode {self.mode!r} needs the solution", "add it, or set mode to 'valid'"
                )
            if any(_repeats(unit.replace(_EMPTY, "")) for unit in _units(cells)):
                raise misplaced(("puzzle",), "puzzle has a digit twice in a row, column or box: nothing solves it")
        elif not solves(cells_of(self.solution), cells):
            raise misplaced(("solution",), "solution does not solve the puzzle")
        if _EMPTY not in cells and self.full_puzzle == "refused":
            raise misplaced(
                ("puzzle",),
                "puzzle has no empty cell: there is nothing to judge",
                "leave out the cells to be found, or set full_puzzle to another value",
            )
        return self


@dataclass(frozen=True)
class _Grid:
    cells: str
    digits: int
    """How many digits there were, up to one more than fit."""


class Sudoku:
    """Reads the grid and compares it."""

    name = "sudoku"
    version = "1"
    task_model = SudokuTask

    def terms(self, task: SudokuTask) -> Sequence[Term]:
        """Return the score."""
        del task
        return [Term("score", 0, 1, "the share of right cells, or 1 for a right grid, as `mode` says")]

    def score(self, task: SudokuTask, text: str) -> Scored:
        """Return the score."""
        puzzle = cells_of(task.puzzle)
        grid = _read_grid(last_block(task.answering(text), "answer") or "", task.drop_labels, len(puzzle))
        if not grid.digits:
            return Scored({"score": 0.0}, answered=False, message="no answer block with digits")
        value, message = _judge(task, puzzle, grid)
        return Scored({"score": value}, message=message)


def cells_of(text: str) -> str:
    """Return the cells of a written puzzle or solution, empty ones as `0`."""
    return "".join(text.split()).translate(_SPELLED_EMPTY)


def solves(cells: str, puzzle: str) -> bool:
    """Whether the cells keep the puzzle's givens, and every row, column and box holds each digit once."""
    if len(cells) != len(puzzle) or not _keeps_givens(cells, puzzle):
        return False
    wanted = set("123456789"[: _SIZES[len(puzzle)]])
    return all(set(unit) == wanted for unit in _units(cells))


def _units(cells: str) -> list[str]:
    """Return the cells of each row, column and box."""
    size = _SIZES[len(cells)]
    box = 2 if size == 4 else 3
    rows = [cells[at : at + size] for at in range(0, len(cells), size)]
    columns = ["".join(column) for column in zip(*rows, strict=True)]
    corners = [(top, left) for top in range(0, size, box) for left in range(0, size, box)]
    boxes = ["".join(row[left : left + box] for row in rows[top : top + box]) for top, left in corners]
    return [*rows, *columns, *boxes]


def _repeats(digits: str) -> bool:
    return len(set(digits)) < len(digits)


def _keeps_givens(cells: str, puzzle: str) -> bool:
    return all(given in (_EMPTY, cell) for cell, given in zip(cells, puzzle, strict=True))


def _read_grid(answer: str, drop_labels: bool, cells: int) -> _Grid:
    if drop_labels:
        answer = _LABEL.sub(" ", answer)
    digits = "".join(islice(filter(str.isdigit, answer), cells + 1))
    return _Grid(digits[:cells].ljust(cells, _EMPTY), len(digits))


def _judge(task: SudokuTask, puzzle: str, grid: _Grid) -> tuple[float, str]:
    if _EMPTY not in puzzle:
        return 0.0, "the puzzle has no empty cell"
    if task.grid_length == "exact" and grid.digits != len(puzzle):
        count = f"more than {len(puzzle)}" if grid.digits > len(puzzle) else str(grid.digits)
        return 0.0, f"{count} digits in place of {len(puzzle)}"
    solved = solves(grid.cells, puzzle)
    if task.mode == "valid" or (solved and task.other_solutions):
        return float(solved), "" if solved else "the grid does not solve the puzzle"
    if task.check_givens and not _keeps_givens(grid.cells, puzzle):
        return 0.0, "a given was changed"
    return _compare(task, puzzle, grid.cells)


def _compare(task: SudokuTask, puzzle: str, cells: str) -> tuple[float, str]:
    solution = cells_of(task.solution or "")
    empty = [at for at, given in enumerate(puzzle) if given == _EMPTY]
    right = sum(cells[at] == solution[at] for at in empty)
    value = right / len(empty) if task.mode == "cells" else float(right == len(empty))
    return value, f"{right} of {len(empty)} cells are right"
