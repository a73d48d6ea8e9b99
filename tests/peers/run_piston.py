"""A public client of Piston against the service at ASSAY_URL: prints what it was told as JSON."""

import asyncio
import json
import os
from typing import Any

import piston_rspy as piston


async def told(client: piston.Client, language: str, code: str, **more: Any) -> dict[str, Any]:
    """What a user reads of a run."""
    executor = piston.Executor(language=language, version="*", files=[piston.File(name="", content=code)], **more)
    answer = await client.execute(executor)
    run = answer.run
    return {"language": answer.language, "stdout": run.stdout, "code": run.code, "signal": run.signal}


async def main() -> None:
    """List runtimes, then run programs."""
    client = piston.Client.with_url(f"{os.environ['ASSAY_URL']}/api/v2")
    print(json.dumps({
        "runtimes": sorted({one.language for one in await client.fetch_runtimes()}),
        "right": await told(client, "python", "import sys\nprint(input(), sys.argv[1])", stdin="in", args=["arg"]),
        "raises": await told(client, "python", "raise SystemExit(3)"),
        "late": await told(client, "python", "while 1: pass", run_timeout=1000),
        "compiled": await told(client, "c++", '#include <cstdio>\nint main(){puts("c");}'),
    }), flush=True)  # fmt: skip
    os._exit(0)  # the client's own threads abort an interpreter that ends as usual


if __name__ == "__main__":
    asyncio.run(main())
