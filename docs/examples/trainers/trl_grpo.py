"""GRPO with TRL, rewarded by Assay, on a processor: a model of random weights that learns to say little.

    pip install . trl            # in Assay's checkout; and `assay serve` in another terminal
    python docs/examples/trainers/trl_grpo.py

`script/test-trl` runs it. For a run of your own take a real model and data set; the two reward functions stay as they
are. One of the two is enough: TRL adds up what several return.
"""

import json
import os
import tempfile
from collections.abc import Callable, Sequence
from typing import Any  # Any: trl's own types are not needed to read this

from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

from assay.clients import AsyncClient, Client
from assay.clients.adapters.trl import async_reward_function, reward_function

URL = os.environ.get("ASSAY_URL", "http://127.0.0.1:8700")
ROWS = [
    {"prompt": "Be brief.", "task": {"verifier": "length", "kind": "soft_overlong", "max_len": 20, "cache": 20}},
    {"prompt": "How much is 6 * 7?", "task": "42"},
]
"""The column `task` holds a task of Assay, or a label: an answer, tests, the id of a stored task."""


def tiny_model() -> tuple[LlamaForCausalLM, PreTrainedTokenizerFast]:
    """Return a model of random weights and a tokenizer of bytes; nothing is downloaded."""
    names = ["<pad>", "<eos>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    plain = Tokenizer(models.BPE(vocab={name: number for number, name in enumerate(names)}, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain, pad_token="<pad>", eos_token="<eos>")
    config = LlamaConfig(
        vocab_size=len(names), hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=128, pad_token_id=0, eos_token_id=1, bos_token_id=None,
    )  # fmt: skip
    return LlamaForCausalLM(config), tokenizer


def train(reward_funcs: Sequence[Callable[..., Any]], folder: str) -> GRPOTrainer:
    """Train for two steps of one group each; return the trainer, with its history."""
    model, tokenizer = tiny_model()
    settings = GRPOConfig(
        output_dir=folder, max_steps=2, per_device_train_batch_size=8, num_generations=4, max_completion_length=16,
        logging_steps=1, save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=True, bf16=False, seed=0,
    )  # fmt: skip
    trainer = GRPOTrainer(
        model=model, reward_funcs=list(reward_funcs), args=settings, train_dataset=Dataset.from_list(table(ROWS)),
        processing_class=tokenizer,
    )  # fmt: skip
    trainer.train()
    return trainer


def table(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with tasks as JSON: a column of tables would get every field of every task, filled with null."""
    return [{**row, "task": json.dumps(row["task"])} for row in rows]


def main() -> None:
    """Train, and print what was logged."""
    waiting = async_reward_function(AsyncClient(URL), name="assay_async")
    with Client(URL) as client, tempfile.TemporaryDirectory() as folder:
        history = train([reward_function(client), waiting], folder).state.log_history
    for entry in history:
        print({name: value for name, value in entry.items() if "reward" in name})


if __name__ == "__main__":
    main()
