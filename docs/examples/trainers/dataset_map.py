"""A column of rewards for a data set of HuggingFace `datasets`: no trainer, for filtering or as an evaluation.

    pip install . datasets       # in Assay's checkout; and `assay serve` in another terminal
    python docs/examples/trainers/dataset_map.py

A missing reward is null. `script/test-trl` runs this.
"""

import os

from datasets import Dataset, Features, Value

from assay.clients.adapters.dataset_map import RewardColumn

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")
ROWS = [
    {"task": '{"tests": []}', "completion": "A task without tests has no verdict."},
    {"task": "42", "completion": "It is \\boxed{42}."},
    {"task": "42", "completion": "It is \\boxed{41}."},
]


def main() -> None:
    """Add the column."""
    rows = Dataset.from_list(ROWS)
    features = Features({**rows.features, "reward": Value("float64")})  # the first batch may hold nothing but nulls
    scored = rows.map(RewardColumn(URL), batched=True, batch_size=1, features=features)
    print("rewards:", list(scored["reward"]))


if __name__ == "__main__":
    main()
