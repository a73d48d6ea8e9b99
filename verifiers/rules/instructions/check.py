"""What a check is, and the words that checks of amounts use."""

from typing import Annotated, Any, Literal, assert_never  # Any: arguments that were not yet validated

from pydantic import Field, StringConstraints, model_validator

from assay.schema import Wire

Quantifier = Literal["at least", "around", "at most"]
Relation = Literal["at least", "less than"]
Amount = Annotated[int, Field(ge=0, le=1_000_000)]
Phrase = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Phrases = Annotated[tuple[Phrase, ...], Field(min_length=1, max_length=100)]


class Check(Wire):
    """One instruction. Arguments that are null count as not given, as in the published data sets."""

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, document: Any) -> Any:
        return {k: v for k, v in document.items() if v is not None} if isinstance(document, dict) else document

    def is_met(self, text: str) -> bool:
        """Whether the text follows the instruction, as the authors' code decides it."""
        raise NotImplementedError

    def is_met_strictly(self, text: str) -> bool:
        """Whether it does once the code's known gaps are closed."""
        return self.is_met(text)


def holds(count: int, quantifier: Quantifier, amount: int, slack: int) -> bool:
    """Whether a count is at least, at most, or within `slack` of an amount."""
    match quantifier:
        case "at least":
            return count >= amount
        case "at most":
            return count <= amount
        case "around":
            return abs(count - amount) <= slack
        case _:
            assert_never(quantifier)


def tenth(amount: int) -> int:
    """Return the slack of `around`: a tenth, and at least one."""
    return max(round(amount * 0.1), 1)


def relates(count: int, relation: Relation, amount: int) -> bool:
    """Whether a count is at least, or less than, an amount."""
    return count >= amount if relation == "at least" else count < amount
