"""The official client of Judge0 against the service at ASSAY_URL: prints what it was told as JSON."""

import json
import os
from typing import Any

import judge0

SQUARE = "print(int(input()) ** 2)"


def told(one: judge0.Submission) -> dict[str, Any]:
    """What a user reads of a submission."""
    return {
        "status": str(one.status), "stdout": one.stdout, "stderr": bool(one.stderr), "exit_code": one.exit_code,
        "timed": (one.time or 0) >= 0 and (one.wall_time or 0) > 0, "finished": one.finished_at is not None,
    }  # fmt: skip


def main() -> None:
    """Look at the service, then run programs alone, over test cases, in every language, and with files."""
    client = judge0.Client(os.environ["ASSAY_URL"])
    python = judge0.LanguageAlias.PYTHON
    print(json.dumps({
        "version": client.version,
        "languages": sorted({one.name for one in client.languages}),
        "one": client.get_language(71).name,
        "statuses": len(client.get_statuses()),
        "alone": told(judge0.run(client=client, source_code="print('hello')", language=python)),
        "cases": [
            told(one)
            for one in judge0.run(
                client=client, source_code=SQUARE, language=python, test_cases=[("3", "9\n"), ("4", "15\n"), ("x", "")]
            )
        ],
        "many": [
            one.stdout
            for one in judge0.run(
                client=client, source_code=SQUARE, language=python, test_cases=[(str(n), None) for n in range(150)]
            )
        ],
        "late": told(judge0.run(client=client, source_code="while 1: pass", language=python, cpu_time_limit=1)),
        "compiled": told(judge0.run(
            client=client, source_code='#include <stdio.h>\nint main(){puts("c");}', language=judge0.LanguageAlias.C
        )),
        "uncompiled": told(judge0.run(client=client, source_code="int main(", language=judge0.LanguageAlias.C)),
        "files": told(judge0.run(
            client=client, source_code="print(open('a/b.txt').read())", language=python,
            additional_files=judge0.Filesystem(content=[judge0.File(name="a/b.txt", content="beside")]),
        )),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
