"""Puzzles and procedural data sets: sudokus, countdown, entries of reasoning-gym."""

from collections.abc import Mapping
from typing import Any  # Any: records are unparsed JSON

from assay.clients.formats.fields import Document, Record, field, named, text_of, without_nothing
from assay.errors import InvalidRequest


def sudoku(record: Record) -> Document:
    """Read a row with a puzzle and its solution, as d1 (arXiv 2504.12216) has `Puzzle` and `Solution`; names may also
    be in small letters. The solution is the gold, and what cells are compared with."""
    puzzle = str(_one_of(record, "Puzzle", "puzzle"))
    solution = text_of(record, "Solution", "solution") or None
    task = {"verifier": "sudoku", "puzzle": puzzle, "solution": solution, "gold": solution and _answer(solution)}
    return named(without_nothing(task), record, prefix="sudoku")


def countdown(record: Record) -> Document:
    """Read a row of numbers and their target: `numbers` or `nums` and `target` (TinyZero), or d1's `input`, numbers
    between commas, and `output`. Of an expression in `solution` comes the gold; d1 and TinyZero publish none."""
    given = _one_of(record, "numbers", "nums", "input")
    numbers = given.split(",") if isinstance(given, str) else list(given)
    task = {
        "verifier": "countdown",
        "numbers": [_whole(number, "numbers") for number in numbers],
        "target": _whole(_one_of(record, "target", "output"), "target"),
        "gold": _answer(str(record["solution"])) if record.get("solution") else None,
    }
    return named(without_nothing(task), record, prefix="countdown")


def reasoning_gym(record: Record) -> Document:
    """Read an entry of reasoning-gym (arXiv 2505.24760): `question`, `answer`, and `metadata` that names its data set.

    The entry's own answer is the gold. Whoever judges it needs the library.
    """
    metadata = field(record, "metadata")
    if not isinstance(metadata, Mapping):
        raise InvalidRequest("an object is expected", path="metadata", fix="check --format against the file")
    entry = {"question": text_of(record, "question"), "answer": field(record, "answer"), "metadata": metadata}
    task = {
        "verifier": "reasoning_gym",
        "dataset": str(field(metadata, "source_dataset")),
        "entry": entry,
        "gold": _answer(str(entry["answer"])),
    }
    return named(task, record, prefix="reasoning-gym")


def _one_of(record: Record, *names: str) -> Any:
    """Return the first of these fields that is there. Raises InvalidRequest naming the last, where none is."""
    return field(record, next((name for name in names if record.get(name) is not None), names[-1]))


def _whole(value: object, path: str) -> int:
    try:
        return int(str(value))
    except ValueError as error:
        raise InvalidRequest(f"{str(value)[:40]!r} is no whole number", path=path) from error


def _answer(text: str) -> str:
    return f"<answer>{text}</answer>"
