"""A plain FastAPI route that runs one unisolated subprocess per request: what many a trainer's sandbox is.

The program is written to a temporary folder and run by the interpreter's name through the shell, as SandboxFusion does
it; nothing is done here that such a server could leave out. Run as a program: `plain_route.py PORT [INTERPRETER]`.
"""

import asyncio
import os
import shlex
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class RunCode(BaseModel):
    """What a client sends."""

    code: str
    language: str = "python"
    stdin: str | None = None
    run_timeout: float = 10.0


def application(interpreter: str) -> FastAPI:
    """Return the application."""
    app = FastAPI()

    @app.post("/run_code")
    async def run_code(asked: RunCode) -> dict[str, object]:
        with TemporaryDirectory() as folder:
            Path(folder, "main.py").write_text(asked.code, encoding="utf-8")
            result = await run(f"{shlex.quote(interpreter)} main.py", folder, asked)
        return {"status": "Success" if result["return_code"] == 0 else "Failed", "run_result": result}

    return app


async def run(command: str, folder: str, asked: RunCode) -> dict[str, object]:
    """Run a command line through the shell."""
    started = time.monotonic()
    stdin = None if asked.stdin is None else asked.stdin.encode()
    process = await asyncio.create_subprocess_shell(
        command, cwd=folder, stdin=DEVNULL if stdin is None else PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    try:
        stdout, stderr = await asyncio.wait_for(process.communicate(stdin), asked.run_timeout)
    except TimeoutError:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        return {"status": "TimeLimitExceeded", "return_code": None, "stdout": "", "stderr": ""}
    told = {"stdout": stdout.decode("utf-8", "replace"), "stderr": stderr.decode("utf-8", "replace")}
    spent_s = time.monotonic() - started
    return {"status": "Finished", "execution_time": spent_s, "return_code": process.returncode, **told}


if __name__ == "__main__":
    chosen = sys.argv[2] if len(sys.argv) > 2 else sys.executable
    uvicorn.run(application(chosen), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
