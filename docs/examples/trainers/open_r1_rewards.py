"""open-r1 with Assay, in either of two ways.

Its reward functions replaced, in a copy of its `rewards.py` or before `get_reward_funcs` is called:

    REWARD_FUNCS_REGISTRY.update(reward_functions(Client(URL)))

Or only its router, `--e2b_router_url 127.0.0.1:8700`: its own scripts then run in Assay's jails.
This program calls the functions as its trainer does, and the router as its provider does.
"""

import json
import os

import httpx

from assay.clients import Client
from assay.clients.adapters.open_r1 import reward_functions

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")
TESTS = {"language": "python", "test_cases": [{"input": "5", "output": "25", "type": "stdin_stdout"}]}


def main() -> None:
    """Score completions with both functions, and run two scripts."""
    with Client(URL) as client:
        functions = reward_functions(client)
        right = [{"role": "assistant", "content": "```python\nprint(int(input()) ** 2)\n```"}]
        code = functions["code"](prompts=["p"], completions=[right], verification_info=[json.dumps(TESTS)])
        told = [[{"role": "assistant", "content": f"It is \\boxed{{{answer}}}."}] for answer in (4, 5)]
        accuracy = functions["accuracy"](prompts=["p"] * 2, completions=told, solution=["$4$"] * 2)
    sent = {"scripts": ["1 / 4", "7"], "languages": ["python"] * 2, "timeout": 30, "request_timeout": 60}
    scripts = httpx.post(f"{URL}/execute_batch", json=sent, timeout=180).raise_for_status().json()
    print("rewards:", code + accuracy + [float(one["text"]) for one in scripts])


if __name__ == "__main__":
    main()
