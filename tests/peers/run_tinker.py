"""The code rewards of tinker-cookbook against the service at ASSAY_URL: prints what they are as JSON."""

import asyncio
import json
import os

os.environ["SANDBOX_URL"] = f"{os.environ['ASSAY_URL']}/run_code"

from tinker_cookbook.recipes.code_rl.code_grading import (
    sandbox_check_correctness,
)

SUMS = [{"input": "1 2\n", "output": "3\n", "testtype": "stdin_stdout", "metadata": {"func_name": None}}]
CALLS = [{"input": "[1, 2]", "output": "3", "testtype": "functional", "metadata": {"func_name": "total"}}]
PROGRAMS = {
    "right": (SUMS, "print(sum(map(int, input().split())))"),
    "wrong": (SUMS, "print(4)"),
    "function": (CALLS, "class Solution:\n    def total(self, numbers):\n        return sum(numbers)"),
    "wrong function": (CALLS, "class Solution:\n    def total(self, numbers):\n        return 4"),
}


async def main() -> None:
    """Check programs and functions."""
    told = {}
    for name, (tests, code) in PROGRAMS.items():
        told[name], _ = await sandbox_check_correctness(tests, code, timeout=6)
    print(json.dumps(told))


if __name__ == "__main__":
    asyncio.run(main())
