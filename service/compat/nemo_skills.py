"""NeMo-Skills' `/execute` (NVIDIA-NeMo/Skills, nemo_skills/code_execution): programs, and cells of IPython sessions.

No process outlives a call here. A session is its cells: each call runs the earlier ones again in a fresh jail, without
their output, and then its own. So a cell that reads the clock or draws without a seed may leave something else the next
time, and what earlier cells took is allowed again beside the call's own timeout, as far as the operator allows it.
"""

import asyncio
import hashlib
import json
import secrets
from dataclasses import dataclass
from typing import Annotated, Any  # Any: answers are JSON

from fastapi import Header, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from assay.canonical import dump_line
from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.service.answers import json_answer
from assay.service.compat.allowing import allowed, asked_or_default, most_run_s
from assay.service.compat.executing import Executed, Program, execute, find_offered, offered_languages
from assay.service.compat.kept_texts import KeptTexts
from assay.service.compat.notebook import Told, notebook, read_notebook
from assay.service.offered_keys import offered_key
from assay.service.parts import Parts
from assay.verifiers.languages.table import PYTHON, find_language

SessionHeader = Annotated[str | None, Header(max_length=512)]
_IPYTHON = "ipython"
_SHELL = "bash"
_HOLD_S = 600.0
"""Clients leave when they have waited long enough, and what ran for them then ends."""
_MOST_CELLS = 200
_MOST_CHARACTERS = 400_000
_MOST_BYTES = 128 << 20
"""Of all sessions; the oldest go first."""
_MOST_AGAIN_S = 60.0
"""Longer than this earlier cells are not run again."""
_CUT = "<output cut>"


class Cell(BaseModel):
    """What is to be run; seconds."""

    model_config = ConfigDict(extra="ignore")

    generated_code: str
    timeout: float = Field(10.0, gt=0, le=3600)
    language: str = _IPYTHON
    std_input: str = ""
    max_output_characters: int = Field(1000, ge=0)
    traceback_verbosity: str = "Plain"
    session_id: str | None = Field(None, max_length=512)
    """Where older clients name it."""


@dataclass(frozen=True)
class _Session:
    """The cells that a session has run, and how long all of them took the last time, in seconds."""

    cells: tuple[str, ...] = ()
    wall_s: float = 0.0

    def run_s(self, asked_s: float, most_s: float) -> float:
        """Return how long earlier cells and one that asks for `asked_s` may take, where `most_s` is the most."""
        again_s = 2 * self.wall_s + 1.0 if self.cells else 0.0
        return allowed(asked_s + again_s, most_s, asked=asked_s)

    def refusal(self, code: str) -> str:
        """Say why no further cell is run, or return an empty text."""
        is_full = len(self.cells) >= _MOST_CELLS or sum(map(len, (*self.cells, code))) > _MOST_CHARACTERS
        if is_full:
            return f"the session is full: {_MOST_CELLS} cells, of {_MOST_CHARACTERS} characters together"
        return f"its earlier cells take longer than {_MOST_AGAIN_S:g} s" if self.wall_s > _MOST_AGAIN_S else ""


class NemoSkills:
    """Runs programs and cells."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._kept = KeptTexts(parts.connection, "nemo-skills", most_bytes=_MOST_BYTES)

    async def run(self, asked: Cell, request: Request, session_id: str | None) -> Response:
        """Return what became of a cell, or of a program in another language than IPython."""
        told = await (
            self._run_cell(asked, request, session_id or asked.session_id)
            if asked.language == _IPYTHON
            else self._run_program(asked, request)
        )
        cut = {name: _cut(told[name], asked.max_output_characters) for name in ("stdout", "stderr")}
        return json_answer({**told, **cut})

    async def end(self, session_id: str, request: Request) -> Response:
        """Forget a session."""
        if await asyncio.to_thread(self._kept.drop, token_of(request, session_id)):
            return json_answer({"message": f"IPython session {session_id} deleted successfully"})
        return json_answer({"error": f"IPython session {session_id} not found"}, 404)

    async def _run_program(self, asked: Cell, request: Request) -> dict[str, Any]:
        language = find_language(asked.language)
        if language is None or language.name not in (PYTHON, _SHELL):
            raise InvalidRequest(f"{asked.language} is not run here", path="language", fix="ipython, python3 or shell")
        if find_offered(await offered_languages(self._parts), language.name) is None:
            raise InvalidRequest(f"no running worker has {language.name}", path="language", fix="install it there")
        program = Program(asked.generated_code, language.name, asked.std_input, run_s=self._asked_s(asked))
        executed = await execute(self._parts, request, program, hold_s=_HOLD_S)
        completes = executed.outcome is Outcome.PASSED or (language.name == PYTHON and _ended_by_itself(executed))
        if completes:
            return _told(executed, asked, "completed", executed.stdout, executed.stderr)
        return _told(executed, asked, "error", executed.stdout, executed.stderr or f"{executed.message}\n")

    def _asked_s(self, asked: Cell) -> float:
        return asked_or_default(asked, "timeout", most_run_s(self._parts.settings), unit=1.0)

    async def _run_cell(self, asked: Cell, request: Request, session_id: str | None) -> dict[str, Any]:
        token = None if session_id is None else token_of(request, session_id)
        before = None if token is None else (await asyncio.to_thread(self._kept.read, [token]))[0]
        session = _read(before)
        is_new = {"new_session_created": before is None}
        refusal = session.refusal(asked.generated_code)
        if refusal:
            return {"process_status": "error", "stdout": "", "stderr": f"{refusal}; start another one\n", **is_new}
        run_s = session.run_s(self._asked_s(asked), self._parts.settings.max_wall_s)
        mark = secrets.token_hex(16)
        cells = (*session.cells, asked.generated_code)
        code = notebook(cells, mark, token or mark, is_minimal=asked.traceback_verbosity.lower() == "minimal")
        program = Program(code, PYTHON, asked.std_input, run_s=run_s)
        executed = await execute(self._parts, request, program, hold_s=_HOLD_S)
        told = read_notebook(executed.stdout, mark)
        if told.has_ended and executed.outcome is Outcome.PASSED and token is not None:
            now = dump_line({"cells": list(cells), "wall_s": executed.wall_s})
            if not await asyncio.to_thread(self._kept.replace, token, before, now):
                lost = "another cell of this session was run meanwhile: this one has left nothing in it\n"
                return {"process_status": "error", "stdout": "", "stderr": lost, **is_new}
        return {**_told_cell(asked, executed, told), **is_new}


def _told_cell(asked: Cell, executed: Executed, told: Told) -> dict[str, Any]:
    if told.has_ended and executed.outcome is Outcome.PASSED:
        status = "error" if told.has_failed else "completed"
        value = "" if told.value is None else f"{told.value}\n"
        return {"process_status": status, "stdout": told.stdout + value, "stderr": executed.stderr}
    why = executed.message or "the cell ended its process, and has left nothing in its session"
    return _told(executed, asked, "error", told.stdout, f"{executed.stderr}{why}\n")


def _told(executed: Executed, asked: Cell, status: str, stdout: str, stderr: str) -> dict[str, Any]:
    if executed.outcome is Outcome.TIMEOUT:
        late = f"Execution timed out after {asked.timeout:g} seconds\n"
        return {"process_status": "timeout", "stdout": stdout, "stderr": late}
    return {"process_status": status, "stdout": stdout, "stderr": stderr}


def _ended_by_itself(executed: Executed) -> bool:
    """Say whether a program has ended with an exit code: whatever the code, those clients call that completed."""
    return executed.outcome in (Outcome.RUNTIME_ERROR, Outcome.COMPILE_ERROR) and executed.signal_name is None


def _read(text: bytes | None) -> _Session:
    if text is None:
        return _Session()
    document = json.loads(text)
    return _Session(tuple(document["cells"]), document["wall_s"])


def token_of(request: Request, session_id: str) -> str:
    """Return the name of a session: those of different keys are different ones."""
    return hashlib.sha256(f"{offered_key(request)}\0{session_id}".encode("utf-8", "surrogatepass")).hexdigest()


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most] + _CUT
