"""What an attempt takes into the second pass over its group: plain values, so that they can wait in Redis."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict


class GroupKind(StrEnum):
    """What a group term measures."""

    RELATIVE_LENGTH = "relative_length"
    """How short the completion is among those of its group."""
    MAJORITY = "majority"
    """Whether the answer is the one that most of the group gave."""
    DUPLICATES = "duplicates"
    """The share of the group's other attempts that say the same."""


class Showing(BaseModel):
    """What one attempt shows for one group term."""

    model_config = ConfigDict(frozen=True)

    name: str
    kind: GroupKind
    weight: float
    counts: bool = True
    """Whether the term's gate has passed: the raw value is handed back in any case."""
    is_right: bool = True
    """For relative lengths: whether the attempt may earn, and not only lose."""
    length: int = 0
    answer: str | None = None
    """What is compared; None where the completion gives no answer."""
    quorum: int = 1
    """Votes that a majority must have."""
    decides: bool = False
    """Whether the term must be at its best for the outcome `passed`."""


class Standing(BaseModel):
    """One attempt's part in the second pass, and what its reward is made of besides."""

    model_config = ConfigDict(frozen=True)

    showings: tuple[Showing, ...]
    sum: float
    """Weighted sum of the terms of the first pass, not clipped."""
    low: float | None = None
    high: float | None = None
    """What the reward is clipped to, if to anything."""
    pass_threshold: float | None = None
