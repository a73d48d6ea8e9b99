"""Group terms as a task names them, and what one completion shows for each."""

import hashlib
from typing import Annotated, Literal, assert_never

from pydantic import Field

from assay.schema import Wire
from assay.standing import GroupKind, Showing
from assay.verifiers.rules.answers.extraction import Source, read
from assay.verifiers.rules.answers.minerva import minerva
from assay.verifiers.rules.rule import Factor

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]

_LONGEST = 1000  # characters of an answer that are kept and normalised; longer ones are compared by their hash


class _GroupTermBase(Wire):
    name: Name
    """What the term is called in `terms` and `weights`."""
    weight: Factor = 1.0
    """Factor of the term in the reward."""
    gate: Name | None = None
    """A term that must have passed for this one to count; its raw value is handed back in any case."""


class RelativeLength(_GroupTermBase):
    """0.5 - (length - shortest) / (longest - shortest); at most 0 for a wrong attempt, 0 if all are equally long."""

    kind: Literal["relative_length"]
    """Kimi's length reward."""
    right: Name | None = None
    """The term that says whether the attempt is right; default: those that decide the outcome."""
    unit: Literal["characters", "words"] = "characters"
    """What is counted."""


class _Answered(_GroupTermBase):
    answer: Source = Source.TAG
    """Where the answer stands: as `extract` of `exact_match`."""
    tag: Name = "answer"
    """The tag that holds the answer, for `tag` and `after_tag`."""
    normalise: Literal["text", "exact", "minerva"] = "text"
    """How answers are compared. `text`: case folded, with white space as single blanks; `exact`: trimmed; `minerva`:
    as Minerva's strings. Answers of more than 1,000 characters are compared to the letter."""


class Majority(_Answered):
    """1 for the answer that most attempts of the group give, else 0; no answer is no vote."""

    kind: Literal["majority"]
    """The majority's answer."""
    quorum: int = Field(2, ge=1)
    """Votes that the majority must have: with fewer nobody earns anything."""


class Duplicates(_Answered):
    """The share of the group's other attempts that give the same answer; usually weighed below 0."""

    kind: Literal["duplicates"]
    """Repeated answers."""
    answer: Source = Source.WHOLE
    """What is compared: as `extract` of `exact_match`."""


GroupTerm = Annotated[RelativeLength | Majority | Duplicates, Field(discriminator="kind")]


def show(term: RelativeLength | Majority | Duplicates, completion: str, *, decides: bool) -> Showing:
    """Return what a completion shows for a term; whether its gate has passed and it is right is not known here."""
    showing = Showing(name=term.name, kind=GroupKind(term.kind), weight=term.weight, decides=decides)
    match term:
        case RelativeLength(unit=unit):
            length = len(completion) if unit == "characters" else len(completion.split())
            return showing.model_copy(update={"length": length})
        case Majority(quorum=quorum):
            return showing.model_copy(update={"answer": _answer(term, completion), "quorum": quorum})
        case Duplicates():
            return showing.model_copy(update={"answer": _answer(term, completion)})


def _answer(term: Majority | Duplicates, completion: str) -> str | None:
    """Return what is compared, or None where there is no answer."""
    found = (read(completion, term.answer, term.tag) or "").strip()
    if len(found) > _LONGEST:
        return "sha256:" + hashlib.sha256(found.encode("utf-8", "surrogatepass")).hexdigest()
    match term.normalise:
        case "text":
            return " ".join(found.split()).casefold() or None
        case "exact":
            return found or None
        case "minerva":
            return minerva(found) or None
        case _:
            assert_never(term.normalise)
