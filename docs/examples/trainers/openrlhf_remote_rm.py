"""OpenRLHF with Assay as its remote reward model: nothing but an address.

    --remote_rm_url http://127.0.0.1:8700/openrlhf/get_reward --label_key answer

The label is an answer, tests, a task of Assay as JSON, or the id of a stored task. This program sends what OpenRLHF
does: whole texts, the prompts in them, labels.
"""

import os

import httpx

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")


def main() -> None:
    """Ask for the rewards of two texts."""
    prompt = "How much is 6 * 7?\n"
    sent = {
        "query": [f"<s>{prompt}It is \\boxed{{42}}.", f"<s>{prompt}It is \\boxed{{41}}."],
        "prompts": [prompt, prompt],
        "labels": ["42", "42"],
    }
    answer = httpx.post(f"{URL}/openrlhf/get_reward", json=sent, timeout=180).raise_for_status().json()
    print("rewards:", answer["rewards"])


if __name__ == "__main__":
    main()
