"""Known data sets: how their rows become tasks and attempts."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, assert_never  # Any: rows are unparsed JSON

from assay.errors import InvalidRequest

Row = Mapping[str, Any]


class Dataset(StrEnum):
    """A published format of tasks; each value is what `--format` takes."""

    HUMANEVAL = "humaneval"
    """openai/human-eval: prompt, entry_point, canonical_solution, `check(candidate)` in `test`."""
    MBPP = "mbpp"
    """MBPP as mxeval publishes it (the fields of HumanEval), or Google's own rows with `test_list`."""

    def task(self, row: Row, *, path: str) -> Row:
        """Return the task document of one row. Raises InvalidRequest naming the missing field."""
        match self:
            case Dataset.HUMANEVAL:
                return _check_task(row, path)
            case Dataset.MBPP:
                return _list_task(row, path) if "test_list" in row else _check_task(row, path)
            case _:
                assert_never(self)

    def attempt(self, row: Row, *, path: str) -> Row:
        """Return the attempt document of one line of completions; fields of other tools are left out."""
        known = {name: row[name] for name in ("attempt", "group", "policy_version", "truncated") if name in row}
        return {
            "task_id": str(_field(row, "task_id", path)),
            "completion": _field(row, "completion", path),
            **known,
        }


def recognised(row: Row) -> Dataset | None:
    """Return the data set that a row which is no task of ours seems to come from, or None."""
    if "id" in row or "task_id" not in row:
        return None
    if "test_list" in row:
        return Dataset.MBPP
    if "test" in row or "canonical_solution" in row:
        return Dataset.MBPP if str(row["task_id"]).startswith("MBPP/") else Dataset.HUMANEVAL
    return None


def _check_task(row: Row, path: str) -> Row:
    return {
        "id": str(_field(row, "task_id", path)),
        "prompt": _field(row, "prompt", path),
        "entry_point": _field(row, "entry_point", path),
        "test_code": _field(row, "test", path),
        "gold": row.get("canonical_solution"),
    }


def _list_task(row: Row, path: str) -> Row:
    """Google's rows: asserts in a list, the prompt in prose, sometimes imports that the asserts need."""
    tests = [str(test) for test in _field(row, "test_list", path)]
    task = {"id": str(_field(row, "task_id", path)), "prompt": row.get("text", row.get("prompt", ""))}
    setup = row.get("test_setup_code") or "\n".join(row.get("test_imports", ()))
    if setup.strip():
        tests = [f"{setup}\n{test}" for test in tests]
    return {**task, "tests": tests, "style": "assert", "gold": row.get("code")}


def _field(row: Row, name: str, path: str) -> Any:
    if name not in row:
        raise InvalidRequest(
            f"the row has no field {name!r}", path=f"{path}.{name}", fix="check --format against the file"
        )
    return row[name]
