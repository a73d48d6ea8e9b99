"""What the worker of a step is told."""

from collections.abc import Sequence
from dataclasses import dataclass

from assay.verifiers.models.interface import Request

PROMPT_VERSION = "1"
"""Changes with the text."""
CONTROL = "Answer briefly."
"""A subtask that no endpoint refuses."""


@dataclass(frozen=True)
class Seen:
    """An earlier step that a worker sees: its number as the plan counts, what it was told, what it said."""

    number: int
    subtask: str
    output: str


def worker_request(question: str, seen: Sequence[Seen], subtask: str) -> Request:
    """Return the question to the worker of a step: the task's question, the earlier steps it sees, its subtask."""
    sections = [f"Question:\n{question}"] if question else []
    sections += [
        f"Step {one.number} was told:\n{one.subtask}\n\nStep {one.number} answered:\n{one.output}" for one in seen
    ]
    sections.append(f"Your subtask:\n{subtask}")
    return Request("\n\n".join(sections))
