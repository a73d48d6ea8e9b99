"""Group terms as a task names them, and what one completion shows for each."""

import hashlib
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from assay.schema import Wire
from assay.standing import GroupKind, Showing
from assay.verifiers.rules.blocks import last_block

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Factor = Annotated[float, Field(allow_inf_nan=False, ge=-1e9, le=1e9)]

_SHOWN = 200  # characters of an answer that are kept as they are; longer ones are compared by their hash


class AnswerSource(StrEnum):
    """Which text of a completion is its answer, where answers of a group are compared."""

    TAG = "tag"
    """The last `<answer>` block."""
    TEXT = "text"
    """The whole completion."""


class _GroupTermBase(Wire):
    name: Name
    weight: Factor = 1.0
    """Factor of the term in the reward."""
    gate: Name | None = None
    """A term that must have passed for this one to count; its raw value is handed back in any case."""


class RelativeLength(_GroupTermBase):
    """0.5 - (length - shortest) / (longest - shortest); at most 0 for a wrong attempt, 0 if all are equally long."""

    kind: Literal["relative_length"]
    right: Name | None = None
    """The term that says whether the attempt is right; default: those that decide the outcome."""
    unit: Literal["characters", "words"] = "characters"
    """What is counted."""


class Majority(_GroupTermBase):
    """1 for the answer that most attempts of the group give, else 0; no answer is no vote."""

    kind: Literal["majority"]
    answer: AnswerSource = AnswerSource.TAG
    """Where the answer stands. Answers are compared trimmed, with white space as single blanks, and case folded."""
    quorum: int = Field(2, ge=1)
    """Votes that the majority must have: with fewer nobody earns anything."""


class Duplicates(_GroupTermBase):
    """The share of the group's other attempts that give the same answer; usually weighed below 0."""

    kind: Literal["duplicates"]
    answer: AnswerSource = AnswerSource.TEXT
    """What is compared, in the same way as votes are."""


GroupTerm = Annotated[RelativeLength | Majority | Duplicates, Field(discriminator="kind")]


def show(term: RelativeLength | Majority | Duplicates, completion: str, *, decides: bool) -> Showing:
    """Return what a completion shows for a term; whether its gate has passed and it is right is not known here."""
    showing = Showing(name=term.name, kind=GroupKind(term.kind), weight=term.weight, decides=decides)
    match term:
        case RelativeLength(unit=unit):
            length = len(completion) if unit == "characters" else len(completion.split())
            return showing.model_copy(update={"length": length})
        case Majority(answer=source, quorum=quorum):
            return showing.model_copy(update={"answer": _answer(completion, source), "quorum": quorum})
        case Duplicates(answer=source):
            return showing.model_copy(update={"answer": _answer(completion, source)})


def _answer(completion: str, source: AnswerSource) -> str | None:
    found = completion if source is AnswerSource.TEXT else last_block(completion, "answer")
    answer = " ".join((found or "").split()).casefold()
    if len(answer) <= _SHOWN:
        return answer or None
    return "sha256:" + hashlib.sha256(answer.encode("utf-8", "surrogatepass")).hexdigest()
