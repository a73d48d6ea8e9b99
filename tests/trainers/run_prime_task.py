"""The example of prime `verifiers` in the real package (0.4); run by `script/test-prime`, where it is installed."""

import asyncio
import runpy
from importlib.metadata import version
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "trainers" / "prime_environment.py"


def main() -> None:
    """Run, print, and assert: right, wrong, and a task without a verdict, whose reward stays unset."""
    example = runpy.run_path(str(EXAMPLE))
    asyncio.run(example["main"]())
    scored = example["scored"]
    rewards = [asyncio.run(scored(*one)) for one in (("42", "\\boxed{42}"), ("42", "no"), ('{"tests": []}', "x"))]
    assert rewards == [1.0, 0.0, None], rewards
    print(f"verifiers {version('verifiers')}, a task's reward: passed")


if __name__ == "__main__":
    main()
