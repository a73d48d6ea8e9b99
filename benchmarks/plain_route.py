"""A plain FastAPI route that runs one unisolated subprocess per request: what many a trainer's sandbox is.

Run as a program: `plain_route.py PORT`.
"""

import asyncio
import sys
import time

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class RunCode(BaseModel):
    """What a client sends."""

    code: str
    language: str = "python"
    stdin: str | None = None
    run_timeout: float = 10.0


def application() -> FastAPI:
    """Return the application."""
    app = FastAPI()

    @app.post("/run_code")
    async def run_code(asked: RunCode) -> dict[str, object]:
        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", asked.code, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        stdout, stderr = await asyncio.wait_for(process.communicate((asked.stdin or "").encode()), asked.run_timeout)
        result = {"status": "Finished", "execution_time": time.monotonic() - started, "return_code": process.returncode}
        told = {**result, "stdout": stdout.decode(), "stderr": stderr.decode()}
        return {"status": "Success", "run_result": told}

    return app


if __name__ == "__main__":
    uvicorn.run(application(), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
