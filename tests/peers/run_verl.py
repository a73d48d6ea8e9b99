"""verl's own reward of programs at SandboxFusion, against the service at ASSAY_URL: prints what it gives as JSON.

The package itself wants torch; this part of it does not, and is loaded alone.
"""

import importlib.util
import json
import logging
import os
import sys
from importlib.metadata import distribution
from typing import Any

RIGHT, WRONG = "print(sum(map(int, input().split())))", "print(3)"
FUNCTION = "class Solution:\n    def pair_sum(self, a, b):\n        return [a + b]"
SUMS = {"inputs": ["1 2", "5 6"], "outputs": ["3", "11"]}
CALLS = {"inputs": ["1\n2", "5\n6"], "outputs": ["[3]", "[11]"], "fn_name": "pair_sum"}
ASSERTS = {"assert_case": ["assert Solution().pair_sum(1, 2) == [3]", "assert Solution().pair_sum(1, 2) == [4]"]}


def loaded() -> Any:
    """The module of its rewards, without the packages around it."""
    place = distribution("verl").locate_file("verl/utils/reward_score/sandbox_fusion")
    spec = importlib.util.spec_from_file_location("sandbox_fusion_of_verl", f"{place}/__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Score programs and functions, and tell the words that it has for those that fail."""
    logging.disable()
    module = loaded()
    url = f"{os.environ['ASSAY_URL']}/run_code"

    def scored(code: str, tests: dict[str, Any], **more: Any) -> tuple[float, list[str]]:
        score, told = module.compute_score(url, None, 1024, f"```python\n{code}\n```", dict(tests), **more)
        return float(score), [str(one["status"]) for one in told]

    print(json.dumps({
        "right": scored(RIGHT, SUMS),
        "half": scored(WRONG, SUMS, continuous=True),
        "function": scored(FUNCTION, CALLS),
        "asserts": scored(FUNCTION, ASSERTS, continuous=True),
        "raises": scored("1 / 0", SUMS),
        "late": scored("while 1: pass", SUMS, timeout=1),
        "loud": scored("print('x' * 20_000_000)", SUMS),
        "large": scored("x = bytearray(2_000_000_000)", SUMS),
        "unreadable": scored("def f(:", SUMS),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
