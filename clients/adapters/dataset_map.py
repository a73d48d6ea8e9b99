"""Rewards as a column of a data set, for `Dataset.map` of HuggingFace `datasets`.

    features = Features({**rows.features, "reward": Value("float64")})
    scored = rows.map(RewardColumn("http://host:8700"), batched=True, batch_size=1000, features=features)

A missing reward is null. Name the features: without them the type of the column is that of its first batch, which may
hold nothing but nulls.
"""

from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any  # Any: columns belong to the data set

from assay.clients.adapters.rows import from_column, score_rows, shared_client


@dataclass(frozen=True)
class RewardColumn:
    """Makes the column of a batch of rows: each batch is one batch of the service.

    Can be pickled: it works with `num_proc`, and `datasets` knows when it has been applied before.
    """

    url: str | None = None
    """The service; None: that of ASSAY_URL."""
    task: str = "task"
    """The column with tasks or labels, as values or JSON."""
    completion: str = "completion"
    """The column with completions, texts or lists of messages."""
    reward: str = "reward"
    """The column to be made."""

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[float | None]]:
        """Return the rewards, a column by name.

        Raises what the client raises, KeyError for a column that is not there, TypeError where `map` gives one row.
        """
        for name in (self.task, self.completion):
            if name not in batch:
                raise KeyError(f"the rows have no column {name!r}, only {', '.join(sorted(batch))}")
            if isinstance(batch[name], str | Mapping) or not isinstance(batch[name], Sized):
                raise TypeError(f"{name!r} is one value and no column of them: call `map` with batched=True")
        completions = batch[self.completion]
        rows = [{self.task: task} for task in batch[self.task]]
        results = score_rows(shared_client(self.url), rows, completions, from_column(self.task))
        return {self.reward: [result.reward for result in results]}
