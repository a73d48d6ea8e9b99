"""verl with Assay: its configuration names a file and a function of it, which verl loads and calls for each solution.

    reward.custom_reward_function.path=PATH        # this program prints it
    reward.custom_reward_function.name=compute_score_async
    +reward.custom_reward_function.reward_kwargs.assay_url=http://127.0.0.1:8700

This program calls the functions as verl does. A missing reward raises, unless `reward_kwargs.missing` names a number.
"""

import asyncio
import os
import runpy

from assay.clients.adapters import verl

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")
TESTS = {"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]}
SOLUTIONS = ["```python\nprint(sum(map(int, input().split())))\n```", "```python\nprint(3)\n```"]


def main() -> None:
    """Score one solution, one awaited, and both as a batch."""
    functions = runpy.run_path(verl.__file__)  # by path, as verl loads it
    given = {"assay_url": URL}
    one = functions["compute_score"]("sums", SOLUTIONS[0], TESTS, {"index": 0}, **given)
    awaited = asyncio.run(functions["compute_score_async"]("sums", SOLUTIONS[1], TESTS, {"index": 1}, **given))
    both = functions["compute_scores"](["sums"] * 2, SOLUTIONS, [TESTS] * 2, [None] * 2, **given)
    print("path:", verl.__file__)
    print("rewards:", [scored["score"] for scored in (one, awaited, *both)])


if __name__ == "__main__":
    main()
