"""GRPO with Unsloth, which trains through TRL: the reward function is TRL's.

    pip install . unsloth        # in Assay's checkout; and `assay serve` in another terminal
    python docs/examples/trainers/unsloth_grpo.py

Needs a GPU and downloads a model. The tests run it with stand-ins for Unsloth and TRL that call the reward function as
TRL does, against a service; `script/test-trl` has the real TRL call the same function.
"""

import os

import unsloth  # isort: skip  # before trl, which it changes
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from assay.clients import Client
from assay.clients.adapters.trl import reward_function

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")
ROWS = [{"prompt": [{"role": "user", "content": "How much is 6 * 7? Answer in \\boxed{}."}], "task": "42"}]


def main() -> None:
    """Train an adapter of a small model for a few steps."""
    model, tokenizer = unsloth.FastLanguageModel.from_pretrained(
        "unsloth/Qwen3-0.6B", max_seq_length=1024, load_in_4bit=True
    )
    model = unsloth.FastLanguageModel.get_peft_model(model, r=16)
    settings = GRPOConfig(
        output_dir="out", max_steps=10, per_device_train_batch_size=4, num_generations=4, max_completion_length=512
    )
    with Client(URL) as client:
        GRPOTrainer(
            model=model, processing_class=tokenizer, args=settings, train_dataset=Dataset.from_list(ROWS),
            reward_funcs=[reward_function(client)],
        ).train()  # fmt: skip


if __name__ == "__main__":
    main()
