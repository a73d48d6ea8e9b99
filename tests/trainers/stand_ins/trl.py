"""Stands in for TRL, beside Unsloth's: calls reward functions as TRL's trainer does, with texts that nobody generated.

`python` of a test that has this folder in its path; the real TRL is run by `script/test-trl`.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

if "unsloth" not in sys.modules:
    raise ImportError("unsloth changes trl, and must be imported before it")

REPLIES = ("It is \\boxed{42}.", "It is \\boxed{41}.", "I do not know.", "\\boxed{41}, no: \\boxed{42}")


class GRPOConfig:
    """The trainer's settings."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings


class GRPOTrainer:
    """Calls the reward functions once for the first row, and prints what they were given and returned."""

    def __init__(
        self,
        *,
        model: Any,
        processing_class: Any,
        args: GRPOConfig,
        train_dataset: Sequence[Mapping[str, Any]],
        reward_funcs: Sequence[Callable[..., Sequence[float | None]]],
    ) -> None:
        self._about = {"model": model.model_name, "adapter": model.adapter, "tokenizer": processing_class.model_name}
        self._args = args
        self._row = dict(train_dataset[0])
        self._reward_funcs = reward_funcs

    def train(self) -> None:
        """Do as TRL does for one group: columns as lists, conversational completions, and its own arguments."""
        count = self._args.settings["num_generations"]
        replies = [REPLIES[number % len(REPLIES)] for number in range(count)]
        columns = {name: [value] * count for name, value in self._row.items() if name != "prompt"}
        extras: dict[str, object] = {}
        metrics: dict[str, float] = {}
        rewards = {
            one.__name__: one(
                prompts=[self._row["prompt"]] * count,
                completions=[[{"role": "assistant", "content": reply}] for reply in replies],
                completion_ids=[[1, 2, 3]] * count,
                trainer_state=object(),
                log_extra=extras.__setitem__,
                log_metric=metrics.__setitem__,
                **columns,
            )
            for one in self._reward_funcs
        }
        print(json.dumps({**self._about, "rewards": rewards, "metrics": metrics}))
