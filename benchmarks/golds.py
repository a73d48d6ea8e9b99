"""How many golds of published data sets pass, split and shared: `python -m benchmarks.golds [FOLDER]`.

Runs `assay check` on each file that it knows of FOLDER (default: `shared` beside the checkout), and writes the table
between the marks of docs/datasets.md, or of the page that `--page` names. With `--only` the lines of these files alone
are printed, unless a page is named. Data stays where it is. The entries of reasoning-gym need that library.
"""

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.cli.conformity.lines import HonestLine, read_line, task_document

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/datasets.md"
BEGIN, END = "<!-- golds -->", "<!-- end of golds -->"
_WHY = 110
_ORACLES = ("split", "shared")


@dataclass(frozen=True)
class DataSet:
    """A file, how it is read, and whether its tasks know split and shared."""

    name: str
    file: str
    """Below the folder."""
    options: tuple[str, ...] = ()
    has_oracle: bool = False
    columns: tuple[str, ...] = ()
    """Names of the columns of a file of tab-separated cells that has no header."""
    database: str = ""
    """The database that its queries are run on."""
    is_honest: bool = False
    """Whether its lines are honest programs, as `assay cases` reads them: those that pass are golds."""
    lacking: str = ""
    """Why it has no golds."""

    def commands(self) -> list[str]:
        """Return what a person types in the folder to see the same."""
        if self.is_honest:
            return [f"python -m benchmarks.golds . --only {self.file}"]
        file = "queries.tsv" if self.columns else self.file
        words = ["assay", "check", file, "--mutants", "0", *self.options]
        if not self.database:
            oracles = [f" --set oracle={oracle}" for oracle in _ORACLES] if self.has_oracle else [""]
            return [f"{shlex.join(words)}{oracle}" for oracle in oracles]
        database = Path(self.database)
        names = "\\t".join(self.columns)
        return [
            *([f"(printf '{names}\\n'; cat {self.file}) > {file}"] if self.columns else ()),
            f"digest=$(sha256sum < {database} | cut -d' ' -f1)",
            f"ASSAY_DATABASES={database.parent} {shlex.join(words)} --set database={database.name} \\",
            "    --set database_sha256=$digest",
        ]


_QUERIES = ("--set", "verifier=sql", "--field", "gold_sql={0}", "--field", "gold={0}")
DATA_SETS = (
    DataSet("HumanEval (openai/human-eval)", "data/HumanEval.jsonl.gz", ("--format", "humaneval"), has_oracle=True),
    DataSet("MBPP (mxeval v1)", "data/mbpp_mxeval_v1.jsonl", ("--format", "mbpp"), has_oracle=True),
    DataSet("honest programs (our own) that pass", "code_cases/honest.jsonl", has_oracle=True, is_honest=True),
    DataSet("GSM8K, test", "data/gsm8k_test.jsonl", ("--format", "gsm8k")),
    DataSet("MATH-500", "data/math500_test.jsonl", ("--format", "math")),
    DataSet(
        "4x4 sudoku (d1), test", "data/d1_sudoku4x4_test.csv", ("--format", "sudoku", "--set", "mode=valid")
    ),
    DataSet("9x9 sudoku (our own)", "data/own_sudoku9.jsonl", ("--format", "sudoku", "--set", "mode=valid")),
    DataSet(
        "countdown (our own)", "data/own_countdown.jsonl", ("--format", "countdown", "--field", "solution=one_solution")
    ),
    DataSet(
        "countdown (d1), test", "data/d1_countdown3_test.jsonl", ("--format", "countdown"),
        lacking="numbers and targets, without an expression",
    ),
    DataSet(
        "reasoning-gym (NeMo Gym's example)", "data/gym_reasoning_gym_example.jsonl", ("--format", "reasoning-gym")
    ),
    DataSet(
        "Spider, `department_store`", "data/spider_department_store_gold.sql",
        tuple(word.format("query") for word in _QUERIES), columns=("query", "db_id"),
        database="data/spider_department_store.sqlite",
    ),
    DataSet(
        "BIRD (NeMo Gym's example)", "data/gym_bird_sql_example.jsonl",
        tuple(word.format("gt_sql") for word in _QUERIES), database="data/bird_mini_california_schools.sqlite",
    ),
    DataSet(
        "NL4OPT (ORLM)", "data/orlm_NL4OPT.jsonl", ("--format", "nl4opt"),
        lacking="objectives, not programs that reach them",
    ),
    DataSet(
        "IndustryOR (ORLM)", "data/orlm_IndustryOR.jsonl", ("--format", "nl4opt"),
        lacking="objectives, not programs that reach them",
    ),
)  # fmt: skip


def checked(folder: Path, data_set: DataSet, oracle: str | None) -> list[dict[str, Any]]:
    """Return what `assay check` finds of each task's gold; nothing is missing unless the command was refused."""
    options = [*data_set.options, *(_database_options(folder, data_set) if data_set.database else ())]
    options += ["--set", f"oracle={oracle}"] if oracle and not data_set.is_honest else []
    environment = {**os.environ, "ASSAY_DATABASES": str((folder / data_set.database).parent)}
    with _readable(folder / data_set.file, data_set, oracle) as path:
        command = [sys.executable, "-m", "assay", "check", str(path), "--json", "--mutants", "0", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, env=environment)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    if not lines or "tasks" not in lines[-1]:
        raise SystemExit(f"{shlex.join(command)}: ended with {done.returncode}")
    return lines[:-1]


def _database_options(folder: Path, data_set: DataSet) -> list[str]:
    path = folder / data_set.database
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return ["--set", f"database={path.name}", "--set", f"database_sha256={digest}"]


@contextmanager
def _readable(path: Path, data_set: DataSet, oracle: str | None) -> Iterator[Path]:
    """Give the file itself, or one that is made of it for as long as the block runs."""
    if not path.exists():
        raise SystemExit(f"{path} is not there: name its folder, or other files with --only")
    if not data_set.columns and not data_set.is_honest:
        yield path
        return
    with TemporaryDirectory(prefix="assay-golds-") as name, path.open(encoding="utf-8") as file:
        made = Path(name) / (f"{path.stem}.tsv" if data_set.columns else path.name)
        lines = _honest_golds(file, oracle) if data_set.is_honest else ["\t".join(data_set.columns) + "\n", *file]
        made.write_text("".join(lines), encoding="utf-8")
        yield made


def _honest_golds(file: Iterator[str], oracle: str | None) -> Iterator[str]:
    """Yield tasks in Python whose completion is known to pass, with that as their gold."""
    for number, text in enumerate(file, 1):
        line = read_line(json.loads(text), path=f"line {number}")
        if isinstance(line, HonestLine) and line.style != "script" and line.expected.outcome == "passed":
            task = task_document(line.id, line.style, line.task)
            yield json.dumps({**task, "gold": line.completion, "oracle": oracle}) + "\n"


def rows(folder: Path, data_sets: Sequence[DataSet]) -> Iterator[str]:
    """Yield the lines of the table, and below it why golds do not pass or are not there, and how to see the same."""
    yield "| data set | tasks | golds | pass split | pass shared |"
    yield "|---|---|---|---|---|"
    reasons: list[str] = []
    for data_set in data_sets:
        found = [checked(folder, data_set, oracle) for oracle in (_ORACLES if data_set.has_oracle else (None,))]
        golds = [task for task in found[0] if task["standing"] != "no_gold"]
        passed = [str(sum(_passes(task) for task in run)) for run in found]
        cells = passed if data_set.has_oracle else [f"{passed[0]} (plain)" if golds else "", ""]
        yield f"| {data_set.name} | {len(found[0])} | {len(golds)} | {cells[0]} | {cells[1]} |"
        reasons += _reasons(data_set, found)
        if data_set.lacking and not golds:
            reasons.append(f"- {data_set.name}: no golds: {data_set.lacking}")
    yield from ("", *reasons, "", "```sh")
    yield from (command for data_set in data_sets for command in data_set.commands())
    yield "```"


def _reasons(data_set: DataSet, found: Sequence[Sequence[dict[str, Any]]]) -> Iterator[str]:
    names = _ORACLES if data_set.has_oracle else ("",)
    for tasks in zip(*found, strict=True):
        failing = [(name, task) for name, task in zip(names, tasks, strict=True) if _fails(task)]
        if failing:
            where = "" if len(failing) == len(names) else f" ({failing[0][0]} only)"
            message = failing[0][1]["message"].removeprefix("the gold does not pass: ").replace("`", "'")
            said = " ".join(message.split())
            shown = said if len(said) <= _WHY else f"{said[:_WHY]}..."
            yield f"- {failing[0][1]['task_id']}{where}: `{shown}`"


def _passes(task: dict[str, Any]) -> bool:
    return task["standing"] in ("split", "shared", "plain")


def _fails(task: dict[str, Any]) -> bool:
    return task["standing"] in ("broken", "undecided")


def main() -> None:
    """Measure, and write the table into the page or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT.parent / "shared")
    parser.add_argument("--only", nargs="+", metavar="FILE", choices=[data_set.file for data_set in DATA_SETS])
    parser.add_argument("--page", type=Path, metavar="FILE", help="the page to write; default: docs/datasets.md")
    arguments = parser.parse_args()
    chosen = [one for one in DATA_SETS if arguments.only is None or one.file in arguments.only]
    page = arguments.page or (PAGE if arguments.only is None else None)
    parts = _parts(page) if page else None
    table = "\n".join(rows(arguments.folder, chosen))
    if page is None or parts is None:
        print(table)
        return
    page.write_text(f"{parts[0]}{BEGIN}\n{table}\n{END}{parts[1]}", encoding="utf-8")


def _parts(page: Path) -> tuple[str, str]:
    """Return what stands before and behind the table."""
    before, mark, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not mark or not end:
        raise SystemExit(f"{page} has no place for the table")
    return before, after


if __name__ == "__main__":
    main()
