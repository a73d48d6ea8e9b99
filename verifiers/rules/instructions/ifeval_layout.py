"""IFEval's instructions on how a text is laid out, by their identifiers (arXiv 2311.07911, table 4)."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.instructions.check import Amount, Check, Phrase
from assay.verifiers.rules.instructions.layout import Length, headers, highlights
from assay.verifiers.rules.instructions.words import spans
from assay.verifiers.rules.literal import read_json

_PARTS = re.compile(r"\s?\*\*\*\s?")
_BULLETS = re.compile(r"^[^\S\n]*(?:\*[^*\n]|-)", re.MULTILINE)


class NumberOfParagraphs(Check):
    """Exactly `num_paragraphs` paragraphs, `***` between them; only the first and the last part may be blank."""

    check: Literal["length_constraints:number_paragraphs"]
    num_paragraphs: Amount

    def is_met(self, text: str) -> bool:
        """By dividers."""
        parts = _PARTS.split(text)
        inner = parts[1:-1]
        return all(map(str.strip, inner)) and sum(1 for part in parts if part.strip()) == self.num_paragraphs


class NthParagraph(Check):
    """Exactly `num_paragraphs` paragraphs, blank lines between them, the n-th one beginning with the word."""

    check: Literal["length_constraints:nth_paragraph_first_word"]
    num_paragraphs: Amount
    nth_paragraph: int = Field(ge=1)
    first_word: Phrase

    @model_validator(mode="after")
    def _refuse_impossible(self) -> Self:
        if self.nth_paragraph > self.num_paragraphs:
            raise misplaced(("nth_paragraph",), f"there is no paragraph {self.nth_paragraph} of {self.num_paragraphs}")
        return self

    def is_met(self, text: str) -> bool:
        """In any case, up to the first punctuation mark."""
        paragraphs = text.split("\n\n")
        if sum(1 for one in paragraphs if one.strip()) != self.num_paragraphs:
            return False
        first = (paragraphs[self.nth_paragraph - 1].split(None, 1) or [""])[0].lstrip("'\"")
        return re.split(r"[.,?!'\"]", first, maxsplit=1)[0].lower() == self.first_word.lower()


class NumberOfPlaceholders(Check):
    """At least `num_placeholders` placeholders in square brackets."""

    check: Literal["detectable_content:number_placeholders"]
    num_placeholders: Amount

    def is_met(self, text: str) -> bool:
        """Blank ones count."""
        return len(spans(text, "[", "]")) >= self.num_placeholders


class PostscriptMarker(Check):
    """The marker occurs, in any case; `P.S.` and `P.P.S` also with blanks between."""

    check: Literal["detectable_content:postscript"]
    postscript_marker: Phrase

    def is_met(self, text: str) -> bool:
        """Anywhere."""
        spaced = {"P.S.": r"p\.\s?s\.", "P.P.S": r"p\.\s?p\.\s?s"}.get(self.postscript_marker)
        lower = text.lower()
        return self.postscript_marker.lower() in lower if spaced is None else re.search(spaced, lower) is not None


class NumberOfBullets(Check):
    """Exactly `num_bullets` lines that begin with `*` or `-`."""

    check: Literal["detectable_format:number_bullet_lists"]
    num_bullets: Amount

    def is_met(self, text: str) -> bool:
        """Emphasis and dividers of asterisks do not count."""
        return len(_BULLETS.findall(text)) == self.num_bullets


class NumberOfHighlights(Check):
    """At least `num_highlights` stretches between single or double asterisks, none blank."""

    check: Literal["detectable_format:number_highlighted_sections"]
    num_highlights: Amount

    def is_met(self, text: str) -> bool:
        """By asterisks on a line."""
        return highlights(text) >= self.num_highlights


class MultipleSections(Check):
    """At least `num_sections` headers such as `Section 1`."""

    check: Literal["detectable_format:multiple_sections"]
    section_spliter: Annotated[str, Field(min_length=1, max_length=100)]
    num_sections: Amount

    def is_met(self, text: str) -> bool:
        """The splitter in any case and a number."""
        return headers(text, self.section_spliter) >= self.num_sections


class JsonText(Check):
    """The whole text is JSON, a fence around it allowed."""

    check: Literal["detectable_format:json_format"]

    def is_met(self, text: str) -> bool:
        """NaN and infinities are refused."""
        inner = text.strip()
        for fence in ("```json", "```Json", "```JSON", "```"):
            inner = inner.removeprefix(fence)
        try:
            read_json(inner.removesuffix("```").strip())
        except ValueError:
            return False
        return True


class TitleText(Check):
    """A title in double angle brackets, not blank."""

    check: Literal["detectable_format:title"]

    def is_met(self, text: str) -> bool:
        """On one line."""
        return any(title.strip("<> \t") for title in spans(text, "<<", ">>"))


class TwoAnswers(Check):
    """Two different responses, `******` between them; only the first and the last part may be blank."""

    check: Literal["combination:two_responses"]

    def is_met(self, text: str) -> bool:
        """By dividers."""
        parts = text.split("******")
        told = [part.strip() for part in parts if part.strip()]
        return all(map(str.strip, parts[1:-1])) and len(told) == 2 and told[0] != told[1]


class RepeatedPrompt(Check):
    """The text begins with the prompt, in any case."""

    check: Literal["combination:repeat_prompt"]
    prompt_to_repeat: Length

    def is_met(self, text: str) -> bool:
        """Trimmed."""
        return text.strip().lower().startswith(self.prompt_to_repeat.strip().lower())


class EndPhrase(Check):
    """The text ends with the phrase, in any case, a quotation mark behind it allowed."""

    check: Literal["startend:end_checker"]
    end_phrase: Length

    def is_met(self, text: str) -> bool:
        """Trimmed."""
        return text.strip().strip('"').lower().endswith(self.end_phrase.strip().lower())


class Quoted(Check):
    """The text begins and ends with a double quotation mark."""

    check: Literal["startend:quotation"]

    def is_met(self, text: str) -> bool:
        """Two marks."""
        return len(text.strip()) > 1 and text.strip()[0] == '"' == text.strip()[-1]


IfevalLayoutCheck = Annotated[
    NumberOfParagraphs | NthParagraph | NumberOfPlaceholders | PostscriptMarker | NumberOfBullets
    | NumberOfHighlights | MultipleSections | JsonText | TitleText | TwoAnswers | RepeatedPrompt | EndPhrase | Quoted,
    Field(discriminator="check"),
]  # fmt: skip
