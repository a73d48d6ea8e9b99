"""What the benchmarks run: HumanEval's own solutions, or the worked example where the data set is absent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # Any: tasks are JSON documents

from assay.cli.demo import WORKED_EXAMPLE
from assay.cli.inputs import read_objects
from assay.clients.formats import Format, task_of_record

DEFAULT_FILE = Path(__file__).parents[2] / "shared" / "data" / "HumanEval.jsonl.gz"
LOOP = "    while True:\n        pass\n"
"""A body that never ends."""


@dataclass(frozen=True)
class Workload:
    """Tasks without gold (each attempt is judged once), a right completion for each, and both as plain programs."""

    name: str
    tasks: tuple[Mapping[str, Any], ...]
    completions: tuple[str, ...]
    programs: tuple[str, ...]

    def attempts(self, count: int) -> list[Mapping[str, Any]]:
        """Return `count` attempts, going round the tasks."""
        size = len(self.tasks)
        return [{"task_id": self.tasks[n % size]["id"], "completion": self.completions[n % size]} for n in range(count)]

    def with_limits(self, limits: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
        """Return the tasks with other limits."""
        return tuple({**task, "limits": limits} for task in self.tasks)


def load_workload(path: Path) -> Workload:
    """Read HumanEval from `path`, or fall back on the worked example."""
    return _humaneval(read_objects(path)) if path.exists() else _worked_example()


def _humaneval(rows: Sequence[Mapping[str, Any]]) -> Workload:
    tasks = []
    for row in rows:
        task = task_of_record(Format.HUMANEVAL, row)
        del task["gold"]
        tasks.append(task)
    return Workload(
        name=f"HumanEval, {len(rows)} programs",
        tasks=tuple(tasks),
        completions=tuple(row["canonical_solution"] for row in rows),
        programs=tuple(
            f"{row['prompt']}{row['canonical_solution']}\n{row['test']}\ncheck({row['entry_point']})\n" for row in rows
        ),
    )


def _worked_example() -> Workload:
    task = WORKED_EXAMPLE.tasks[0]
    body = "return n % 2 == 0"
    asserts = "\n".join(f"assert {test}" for test in task["tests"])
    program = f"def is_even(n):\n    {body}\n{asserts}\n"
    return Workload("the worked example (no HumanEval here)", (task,), (body,), (program,))
