"""What Judge0's clients send and read (judge0/judge0, docs/api): fields, numbers of languages and statuses. Pure."""

import base64
import shlex
import time
from collections.abc import Container, Mapping
from datetime import UTC, datetime
from typing import Any  # Any: answers are JSON

from pydantic import BaseModel, ConfigDict, Field

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.service.compat.allowing import allowed
from assay.service.compat.archives import unpacked
from assay.service.compat.executing import Executed, Program
from assay.settings import Settings
from assay.verifiers.comparison import Comparison

LANGUAGE_NAMES = {
    46: "bash", 48: "c", 49: "c", 50: "c", 52: "cpp", 53: "cpp", 54: "cpp", 60: "go", 62: "java", 63: "javascript",
    70: "python", 71: "python", 73: "rust", 74: "typescript", 91: "java", 92: "python", 93: "javascript",
    94: "typescript", 95: "go", 100: "python", 101: "typescript", 102: "javascript", 103: "c", 105: "cpp", 106: "go",
    107: "go", 108: "rust", 109: "python", 113: "python",
}  # fmt: skip
"""Their numbers of languages; several are versions of one."""
STATUS_NAMES = {
    1: "In Queue", 2: "Processing", 3: "Accepted", 4: "Wrong Answer", 5: "Time Limit Exceeded", 6: "Compilation Error",
    7: "Runtime Error (SIGSEGV)", 8: "Runtime Error (SIGXFSZ)", 9: "Runtime Error (SIGFPE)",
    10: "Runtime Error (SIGABRT)", 11: "Runtime Error (NZEC)", 12: "Runtime Error (Other)", 13: "Internal Error",
    14: "Exec Format Error",
}  # fmt: skip
QUEUED, _ACCEPTED, _WRONG, _TIME, _COMPILATION, _NONZERO, _OTHER, INTERNAL = 1, 3, 4, 5, 6, 11, 12, 13
_BY_SIGNAL = {"SIGSEGV": 7, "SIGXFSZ": 8, "SIGFPE": 9, "SIGABRT": 10}
_NOT_HERE = {
    "callback_url": "this service calls nobody: ask for the submission by its token",
    "compiler_options": "compilers have fixed options",
    "number_of_runs": "a submission is run once",
    "redirect_stderr_to_stdout": "standard error is told apart",
    "enable_network": "programs have no network",
}
_TEXTS = ("stdout", "stderr", "compile_output", "message", "source_code", "stdin", "expected_output")
_USUAL = ("stdout", "time", "memory", "stderr", "token", "compile_output", "message", "status")


class Submission(BaseModel):
    """A program, its input and the output that is expected of it; times in seconds, memory in kB."""

    model_config = ConfigDict(extra="ignore")

    source_code: str
    language_id: int
    stdin: str | None = None
    expected_output: str | None = None
    command_line_arguments: str | None = None
    cpu_time_limit: float | None = Field(None, gt=0, le=600)
    wall_time_limit: float | None = Field(None, gt=0, le=3600)
    memory_limit: float | None = Field(None, gt=0, le=1e9)
    compiler_options: str | None = None
    additional_files: str | None = None
    callback_url: str | None = None
    number_of_runs: int | None = None
    redirect_stderr_to_stdout: bool | None = None
    enable_network: bool | None = None

    def check(self, offered: Container[str]) -> None:
        """Raise InvalidRequest for what is asked for and not to be had: nothing is left out in silence."""
        if LANGUAGE_NAMES.get(self.language_id) not in offered:
            raise InvalidRequest(
                f"language with id {self.language_id} doesn't exist", path="language_id", fix="GET /languages"
            )
        for name, why in _NOT_HERE.items():
            asked = getattr(self, name)
            if asked and not (name == "number_of_runs" and asked == 1):
                raise InvalidRequest(why, path=name, fix="leave it out")


def decoded(asked: Submission) -> Submission:
    """Return a submission whose texts were in base64. Raises InvalidRequest."""
    update: dict[str, str] = {}
    for name in ("source_code", "stdin", "expected_output"):
        text = getattr(asked, name)
        if text is None:
            continue
        try:
            update[name] = base64.b64decode(text).decode("utf-8")
        except ValueError as error:  # of base64, or of UTF-8
            raise InvalidRequest(f"no text in base64: {error}", path=name, fix="encode UTF-8 in base64") from error
    return asked.model_copy(update=update)


_COUNTED = ("source_code", "stdin", "expected_output", "command_line_arguments", "additional_files")


def bytes_of(asked: Submission) -> int:
    """Return how much its texts take in UTF-8, in bytes."""
    texts = (getattr(asked, name) or "" for name in _COUNTED)
    return sum(len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")) for text in texts)


def arguments_of(given: Submission) -> tuple[str, ...]:
    """Return the arguments as a shell reads them, without running one. Raises InvalidRequest for an open quotation."""
    try:
        return tuple(shlex.split(given.command_line_arguments or ""))
    except ValueError as error:
        raise InvalidRequest(str(error), path="command_line_arguments", fix="close the quotation") from error


def program_of(given: Submission, settings: Settings) -> Program:
    """Return what is to be executed; without a wall limit twice the processor's and a second, as Judge0 has it.

    Raises InvalidRequest and TooLarge for arguments and files that cannot be read.
    """
    packed, most = given.additional_files, settings.max_completion_bytes
    run_s, cpu_s = given.wall_time_limit, given.cpu_time_limit
    if run_s is None and cpu_s is not None:
        run_s = allowed(cpu_s * 2 + 1, settings.max_wall_s, asked=cpu_s)
    return Program(
        given.source_code,
        LANGUAGE_NAMES[given.language_id],
        given.stdin or "",
        arguments_of(given),
        unpacked(packed, most, "additional_files") if packed else {},
        run_s=run_s,
        cpu_s=given.cpu_time_limit,
        memory_mb=int(given.memory_limit / 1024) if given.memory_limit else None,
    )


def new_document(token: str, given: Submission) -> dict[str, Any]:
    """Return the document of a submission of which nothing is known yet."""
    kept = {name: getattr(given, name) for name in ("source_code", "language_id", "stdin", "expected_output")}
    empty = dict.fromkeys(("stdout", "stderr", "compile_output", "message", "exit_code", "exit_signal", "time"))
    return {
        **kept,
        **empty,
        "wall_time": None,
        "memory": None,
        "token": token,
        "created_at": now(),
        "finished_at": None,
    }


def judged(given: Submission, executed: Executed) -> dict[str, Any]:
    """Return the fields that say what became of it."""
    compiled = executed.steps.get("compile") in (None, Outcome.PASSED)
    code = executed.return_code
    return {
        "stdout": executed.stdout or None,
        "stderr": (executed.stderr or None) if compiled else None,
        "compile_output": None if compiled else executed.stderr,
        "message": executed.message or None,
        "exit_code": code if code is None or code >= 0 else None,
        "exit_signal": -code if code is not None and code < 0 else None,
        "time": f"{executed.cpu_s:.3f}",
        "wall_time": f"{executed.wall_s:.3f}",
        "memory": round(executed.memory_mb * 1024),
        "status": status_of(_number(given, executed)),
    }


def _number(given: Submission, executed: Executed) -> int:
    match executed.outcome:
        case Outcome.PASSED:
            wanted = given.expected_output
            right = wanted is None or Comparison().accepts(wanted, executed.stdout.encode("utf-8", "surrogatepass"))
            return _ACCEPTED if right else _WRONG
        case Outcome.TIMEOUT:
            return _TIME
        case Outcome.COMPILE_ERROR:
            return _COMPILATION
        case Outcome.RUNTIME_ERROR:
            return _BY_SIGNAL.get(executed.signal_name or "", _OTHER if executed.exit_code is None else _NONZERO)
        case _:
            return _OTHER


def status_of(number: int) -> dict[str, Any]:
    """Return a status as documents have it."""
    return {"id": number, "description": STATUS_NAMES[number]}


def now() -> str:
    """Return the time as documents have it: UTC, to the millisecond."""
    return datetime.fromtimestamp(time.time(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def shown(document: Mapping[str, Any], fields: str, base64_encoded: bool) -> dict[str, Any]:
    """Return those fields of a document that are asked for: `*` all of them, empty the usual ones."""
    names = tuple(document) if fields == "*" else tuple(filter(None, fields.split(","))) or _USUAL
    told = {name: document[name] for name in names if name in document}
    if base64_encoded:
        for name in _TEXTS:
            if isinstance(told.get(name), str):
                told[name] = base64.b64encode(told[name].encode("utf-8", "surrogatepass")).decode()
    return told
