"""Problems that open-r1 sends to Piston, for packages of its own that grade: Codeforces (`cf_python3`, `c++17`) and IOI
(`cms_ioi`); huggingface/open-r1, src/open_r1/utils/competitive_programming.

There the answer and its checker lie beside the program. Here a call becomes a task of the verifier `stdio`: they stay
where the program cannot reach them, and what those packages would print is made from the verdict.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn  # Any: tasks and answers are JSON

from assay.errors import InvalidRequest
from assay.outcomes import LIMIT_HITS, Outcome
from assay.service.compat.allowing import allowed
from assay.service.compat.executing import LEAST_MEMORY_MB, TOGETHER_S
from assay.settings import Settings
from assay.spelling import shown
from assay.verifiers.languages.table import PYTHON, find_language

IOI = "cms_ioi"
_CODEFORCES = "cf_"
INPUT, KEY, CONFIG = "input.txt", "correct_output.txt", "grader_config"
_GRADED_BY = frozenset({KEY, CONFIG, "graders/grader_config.json"})
_GRADERS, _CHECKER = "graders/", "checker/"
_LINKED = frozenset({"grader.cpp", "stub.cpp"})
_EVAL = "#define EVAL 1\n#line 1\n"
"""What their compiler is told: solutions of IOI include their grader themselves where they are not evaluated."""
_OUTPUT_BYTES = 32_000_000
_USUAL_DISK_MB = 64
_SETTING = re.compile(r"([A-Z_]+)=(.*)")
_WORDS = """\
import re

def check(stdin, expected, output):
    def words(text):
        return re.sub(r"(?i)\\b(yes|no)\\b", lambda found: found[0].upper(), text).split()
    return words(output) == words(expected)
"""
"""What compares where a problem has no checker: words, and `yes` and `no` in any case."""
_COMPILER = "the compiler "
"""How the message begins of a limit that was the compiler's; those of limits are never the program's words."""
_FEEDBACK = {
    Outcome.PASSED: "Output is correct",
    Outcome.TIMEOUT: "Time limit exceeded",
    Outcome.MEMORY_EXCEEDED: "Memory limit exceeded",
    Outcome.OUTPUT_EXCEEDED: "Output limit exceeded",
}


@dataclass(frozen=True)
class Bounds:
    """Limits of the program: seconds and MB, None where the problem sets none."""

    wall_s: float
    memory_mb: int | None = None


@dataclass(frozen=True)
class Problem:
    """A program, and what it takes to judge it."""

    language: str
    code: str
    stdin: str
    expected: str
    checker: str | Mapping[str, Any]
    bounds: Bounds
    in_files: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    link: tuple[str, ...] = ()

    def task(self, settings: Settings) -> dict[str, Any]:
        """Return it as a task of the verifier `stdio`; what it does not ask for is no more than `settings` allow."""
        wall_s = self.bounds.wall_s
        needed_bytes = len(self.expected.encode("utf-8", "surrogatepass"))
        output_bytes = allowed(_OUTPUT_BYTES, settings.max_output_bytes, asked=needed_bytes)
        needed_mb = 4 * len(self.stdin) + output_bytes >> 20
        disk_mb = allowed(_USUAL_DISK_MB + needed_mb, settings.max_disk_mb, asked=needed_mb + 1)
        cpu_s = min(wall_s, settings.max_cpu_s)
        limits: dict[str, Any] = {"wall_s": wall_s, "cpu_s": cpu_s, "output_bytes": output_bytes, "disk_mb": disk_mb}
        limits["attempt_wall_s"] = allowed(max(TOGETHER_S, 2 * wall_s), settings.max_attempt_wall_s, asked=wall_s)
        if self.bounds.memory_mb is not None:
            limits["memory_mb"] = self.bounds.memory_mb
        task: dict[str, Any] = {"id": "graded", "verifier": "stdio", "language": self.language, "fence": "none"}
        task |= {"cases": [{"stdin": self.stdin, "stdout": self.expected}], "checker": self.checker}
        task["limits"] = limits
        task |= {"files": dict(self.files), "link": list(self.link)}
        return task | ({"input_file": INPUT, "output_file": "output.txt"} if self.in_files else {})


def is_graded(language: str, names: set[str]) -> bool:
    """Say whether a call is for a package that grades: its own program must not be taken for a grader."""
    return language == IOI or language.startswith(_CODEFORCES) or bool(names & _GRADED_BY)


def read_problem(language: str, files: Mapping[str, str], default: Bounds) -> Problem:
    """Return what a call asks to be judged, from its files by name, in order. Raises InvalidRequest."""
    return _ioi(files, default) if language == IOI else _codeforces(language, files, default)


def _codeforces(language: str, files: Mapping[str, str], default: Bounds) -> Problem:
    mains = [name for name in files if name.startswith("main.")]
    unknown = files.keys() - {*mains, "checker.py", INPUT, KEY, CONFIG}
    if len(mains) != 1 or unknown:
        _refuse("files", f"not those of a Codeforces problem: {', '.join(map(shown, sorted(unknown) or mains))}")
    settings = _settings(files.get(CONFIG, ""))
    mode = settings.get("INPUT_MODE") or "stdio"
    if mode not in ("stdio", "file"):
        _refuse(CONFIG, f"INPUT_MODE {shown(mode)} is neither stdio nor file")
    checker = files.get("checker.py")
    memory_mb = _number(settings, "MEMORY_LIMIT")
    return Problem(
        _language(language.removeprefix(_CODEFORCES)),
        files[mains[0]],
        _unix(_needed(files, INPUT)),
        _unix(_needed(files, KEY)),
        _program_checker(PYTHON, checker, {}) if checker else _WORDS,
        Bounds(
            _number(settings, "TIME_LIMIT") or default.wall_s,
            max(LEAST_MEMORY_MB, int(memory_mb)) if memory_mb else default.memory_mb,
        ),
        in_files=mode == "file",
    )


def _ioi(files: Mapping[str, str], default: Bounds) -> Problem:
    """The first file is the solution; graders are compiled with it, the checker is not: it is the judge's."""
    solution = next(iter(files))
    graders = _below(_GRADERS, files)
    if not solution.startswith(_GRADERS) or not solution.endswith(".cpp"):
        _refuse("files", f"the first file is to be graders/PROBLEM.cpp, the solution, and is {shown(solution)}")
    _check_kind(graders.pop("grader_config.json", None))
    code = graders.pop(solution.removeprefix(_GRADERS))
    judges = _below(_CHECKER, files)
    checker = judges.pop("checker.cpp", None)
    beside = {name: text for name, text in graders.items() if name in _LINKED or not name.endswith(".cpp")}
    return Problem(
        "cpp",
        _EVAL + code,
        _needed(files, INPUT),
        files.get(KEY, "") if checker else _needed(files, KEY),
        _program_checker("cpp", checker, judges) if checker else _WORDS,
        default,
        files=beside,
        link=tuple(sorted(_LINKED & beside.keys())),
    )


def _check_kind(config: str | None) -> None:
    """Raise InvalidRequest for a kind of problem that is not judged: one program, its input and its output are."""
    path = "graders/grader_config.json"
    try:
        given = json.loads(config or "")
        kind = given["task_type"]
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        raise InvalidRequest("it says no task_type", path=path, fix="send the problem's own") from error
    if kind != "Batch":
        _refuse(path, f"task_type {shown(kind)} is not judged here: only Batch is, not what talks with a manager")
    named = [name for name in given if name.startswith("task_type_parameters_Batch_io_") and given[name]]
    if named:
        _refuse(path, f"{named[0]} is not supported: programs use standard input and output")


def _program_checker(language: str, source: str, files: Mapping[str, str]) -> dict[str, Any]:
    return {"language": language, "source": source, "protocol": "score", "files": dict(files)}


def _below(folder: str, files: Mapping[str, str]) -> dict[str, str]:
    return {name.removeprefix(folder): text for name, text in files.items() if name.startswith(folder)}


def _settings(text: str) -> dict[str, str]:
    found = (_SETTING.fullmatch(line.strip()) for line in text.splitlines())
    return {one[1]: one[2].strip() for one in found if one and one[2].strip() not in ("", "None")}


def _number(settings: Mapping[str, str], name: str) -> float | None:
    text = settings.get(name)
    try:
        value = None if text is None else float(text)
    except ValueError:
        value = 0.0
    if value is not None and not 0.0 < value < 1e6:
        _refuse(CONFIG, f"{name} {shown(text)} is no limit")
    return value


def _language(name: str) -> str:
    found = find_language(name)
    if found is None:
        raise InvalidRequest(f"{shown(name)} is no language here", path="language", fix="GET /api/v2/runtimes")
    return found.name


def _needed(files: Mapping[str, str], name: str) -> str:
    if name not in files:
        _refuse("files", f"{name} is missing, without which nothing can be judged")
    return files[name]


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n")


def _refuse(path: str, what: str) -> NoReturn:
    raise InvalidRequest(what, path=path, fix="see docs/drop-in.md")


def answer_of(problem: Problem, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stages of Piston's answer as its packages give them: the share of points, and a word about it.

    None of it is the program's own, whose words those clients would read as a grader's.
    """
    outcome = Outcome(result["outcome"])
    is_cut = outcome in LIMIT_HITS and result["message"].startswith(_COMPILER)
    if is_cut or (outcome is Outcome.COMPILE_ERROR and problem.language != PYTHON):
        return {"compile": _stage(result, "", result["stderr"] or result["message"], code=1)}
    points = result["reward"]
    return {"compile": _stage(result, "", ""), "run": _stage(result, f"{points:.10g}\n", f"{_word(outcome, points)}\n")}


def _word(outcome: Outcome, points: float) -> str:
    if outcome is Outcome.FAILED:
        return "Output is partially correct" if points > 0 else "Output isn't correct"
    return _FEEDBACK.get(outcome, "Runtime error")


def _stage(result: Mapping[str, Any], stdout: str, stderr: str, *, code: int = 0) -> dict[str, Any]:
    usage = result["usage"]
    return {
        "stdout": stdout,
        "stderr": stderr,
        "output": stdout + stderr,
        "code": code,
        "signal": None,
        "message": None,
        "status": "RE" if code else None,
        "cpu_time": round(usage["cpu_s"] * 1000),
        "wall_time": round(result["timing"]["run_s"] * 1000),
        "memory": round(usage["memory_mb"] * 2**20),
    }
