"""Programs judged by what they write, and functions by what they return: APPS, TACO, CodeContests."""

from typing import Any  # Any: tests are unparsed JSON

from assay.clients.formats.fields import (
    Document,
    Record,
    decoded,
    decoded_if_there,
    field,
    first_number,
    named,
    raised_limits,
    table_rows,
    text_of,
    without_nothing,
)
from assay.errors import InvalidRequest
from assay.labels import task_of_label

_MB = 2**20
_PYTHON_3 = (3, "3", "PYTHON3")


def apps(record: Record) -> Document:
    """Read a row of APPS (arXiv 2105.09938): `input_output` and `solutions` are JSON in text, the first one is gold.

    With `fn_name` a function is called, or a method of that name of the class `Solution`.
    """
    return _inputs_and_outputs(record, "apps")


def taco(record: Record) -> Document:
    """Read a row of TACO (arXiv 2312.14852): the fields of APPS, with limits in words."""
    return _inputs_and_outputs(record, "taco")


def codecontests(record: Record) -> Document:
    """Read a row of CodeContests (arXiv 2203.07814): public, private and generated tests, one after another.

    `language` (not of the data set: give it with --set) is that of the completions, else Python; then the first
    solution in Python 3 is gold. Words are compared, as most of the checkers there do.
    """
    language = str(record.get("language", "python"))
    cases = [
        {"stdin": str(row.get("input", "")), "stdout": str(row.get("output", ""))}
        for kind in ("public_tests", "private_tests", "generated_tests")
        for row in table_rows(decoded_if_there(record, kind), kind)
    ]
    task = {
        "verifier": "stdio",
        "language": language,
        "compare": "tokens",
        "cases": cases,
        "gold": _python_solution(record) if language == "python" else None,
        "limits": raised_limits(_seconds(record.get("time_limit")), _megabytes(record.get("memory_limit_bytes"))),
        "id": str(field(record, "name")),
    }
    return without_nothing(task)


def task_of_tests(label: Record, record: Record, prompt: str) -> Document:
    """Return the task of a label, without an id, with the record's prompt where its verifier reads one.

    `language` (not of these data sets: give it with --set) is that of the completions, else Python.
    """
    task = task_of_label({**label, "language": record.get("language")})
    del task["id"]
    return {"prompt": text_of(record, prompt), **task} if is_python(task) else task


def is_python(task: Document) -> bool:
    """Whether completions are in Python, as published solutions are."""
    return "verifier" not in task


def _inputs_and_outputs(record: Record, prefix: str) -> Document:
    pairs = decoded(record, "input_output") or {"inputs": [], "outputs": []}
    if not isinstance(pairs, dict):
        raise InvalidRequest("an object of inputs and outputs is expected", path="input_output")
    tests = task_of_tests({name: pairs.get(name) for name in ("inputs", "outputs", "fn_name")}, record, "question")
    task = {
        **tests,
        "gold": _first_solution(record) if is_python(tests) else None,
        "limits": raised_limits(first_number(record.get("time_limit")), first_number(record.get("memory_limit"))),
    }
    return named(without_nothing(task), record, prefix=prefix)


def _first_solution(record: Record) -> str | None:
    solutions = decoded_if_there(record, "solutions")
    return str(solutions[0]) if isinstance(solutions, list) and solutions else None


def _python_solution(record: Record) -> str | None:
    rows = table_rows(decoded_if_there(record, "solutions"), "solutions")
    return next((str(row["solution"]) for row in rows if row.get("language") in _PYTHON_3), None)


def _seconds(limit: Any) -> float | None:
    """The data set keeps a time limit as seconds and nanoseconds."""
    if isinstance(limit, dict):
        return float(limit.get("seconds") or 0) + float(limit.get("nanos") or 0) / 1e9
    return first_number(limit)


def _megabytes(limit_bytes: object) -> float | None:
    number = first_number(limit_bytes)
    return None if number is None else number / _MB
