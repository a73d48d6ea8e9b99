"""Checks of how a text is laid out, by open-instruct's names and arguments."""

import json
import re
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.instructions.check import Amount, Check, Phrase
from assay.verifiers.rules.instructions.words import spans
from assay.verifiers.rules.literal import read_json

Length = Annotated[str, Field(min_length=1, max_length=100_000)]
_HIGHLIGHT = re.compile(r"\*([^\n*]*)\*")
_STARS = re.compile(r"\*+")
_BULLET = re.compile(r"^[ \t]*[*-][ \t]+(?!\*[ \t]+\*|-[ \t]+-)\S", re.MULTILINE)  # no rule such as `* * *`


class ParagraphCount(Check):
    """Exactly N paragraphs, none of them blank, `* * *` between them."""

    check: Literal["verify_paragraph_count"]
    N: Amount

    def is_met(self, text: str) -> bool:
        """Lines are trimmed first."""
        trimmed = "\n".join(line.strip() for line in text.splitlines()).strip()
        paragraphs = trimmed.split("* * *")
        return len(paragraphs) == self.N and all(map(str.strip, paragraphs))


class Paragraphs(Check):
    """Exactly N paragraphs, a blank line between them, the i-th one starting with the word.

    Strictly: several blank lines part two paragraphs too, and the word is whole.
    """

    check: Literal["validate_paragraphs"]
    N: Amount
    first_word: Phrase
    i: int = Field(ge=1)

    @model_validator(mode="after")
    def _refuse_impossible(self) -> Self:
        if self.i > self.N:
            raise misplaced(("i",), f"there is no paragraph {self.i} of {self.N}")
        return self

    def is_met(self, text: str) -> bool:
        """As the text's beginning."""
        paragraphs = text.split("\n\n")
        return len(paragraphs) == self.N and paragraphs[self.i - 1].strip().startswith(self.first_word)

    def is_met_strictly(self, text: str) -> bool:
        """As a word."""
        paragraphs = [paragraph.strip() for paragraph in text.split("\n\n") if paragraph.strip()]
        if len(paragraphs) != self.N or not paragraphs[self.i - 1].startswith(self.first_word):
            return False
        following = paragraphs[self.i - 1][len(self.first_word) :][:1]
        return not following.isalnum() or not self.first_word[-1].isalnum()


class Postscript(Check):
    """The marker occurs, and something follows it. Strictly: it begins a line."""

    check: Literal["verify_postscript"]
    postscript_marker: Phrase

    def is_met(self, text: str) -> bool:
        """Anywhere."""
        return _has_more(text[text.find(self.postscript_marker) :], self.postscript_marker)

    def is_met_strictly(self, text: str) -> bool:
        """At the beginning of a line."""
        behind = f"\n{text}".rpartition(f"\n{self.postscript_marker}")
        return bool(behind[1]) and bool(behind[2].strip())


class Placeholders(Check):
    """At least N placeholders in square brackets. Strictly: none of them blank."""

    check: Literal["validate_placeholders"]
    N: Amount

    def is_met(self, text: str) -> bool:
        """Blank ones count."""
        return len(spans(text, "[", "]")) >= self.N

    def is_met_strictly(self, text: str) -> bool:
        """Blank ones do not."""
        return sum(1 for inside in spans(text, "[", "]") if inside.strip()) >= self.N


class BulletPoints(Check):
    """Exactly N lines that begin with `*` or `-`. Strictly: with white space and text behind."""

    check: Literal["verify_bullet_points"]
    N: Amount

    def is_met(self, text: str) -> bool:
        """Rules and emphasis count too."""
        return sum(1 for line in text.split("\n") if line.strip().startswith(("*", "-"))) == self.N

    def is_met_strictly(self, text: str) -> bool:
        """Rules and emphasis do not."""
        return len(_BULLET.findall(text)) == self.N


class Title(Check):
    """A title in double angle brackets. Strictly: not blank."""

    check: Literal["validate_title"]

    def is_met(self, text: str) -> bool:
        """Even a blank one."""
        return bool(spans(text, "<<", ">>"))

    def is_met_strictly(self, text: str) -> bool:
        """Not a blank one."""
        return any(title.strip(" \t<>") for title in spans(text, "<<", ">>"))


class HighlightedSections(Check):
    """At least N stretches between asterisks on a line. Strictly: not blank, and double asterisks count once."""

    check: Literal["validate_highlighted_sections"]
    N: Amount

    def is_met(self, text: str) -> bool:
        """Any pair of asterisks."""
        return sum(line.count("*") // 2 for line in text.split("\n")) >= self.N

    def is_met_strictly(self, text: str) -> bool:
        """Pairs with something between."""
        return highlights(text) >= self.N


class Sections(Check):
    """Exactly N pieces between splitters, the first one aside if it is empty.

    Strictly: at least N headers such as `Section 1`, the splitter in any case.
    """

    check: Literal["validate_sections"]
    N: Amount
    section_splitter: Annotated[str, Field(min_length=1, max_length=100)]

    def is_met(self, text: str) -> bool:
        """By splitting: what stands before the first splitter is a section too."""
        return text.count(self.section_splitter) + 1 - text.startswith(self.section_splitter) == self.N

    def is_met_strictly(self, text: str) -> bool:
        """By counting headers."""
        return headers(text, self.section_splitter) >= self.N


class JsonFormat(Check):
    """The whole text is JSON. Strictly: an object or an array, NaN and infinities refused."""

    check: Literal["validate_json_format"]

    def is_met(self, text: str) -> bool:
        """Anything that Python's parser takes."""
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
        return True

    def is_met_strictly(self, text: str) -> bool:
        """An object or an array."""
        try:
            return isinstance(read_json(text), dict | list)
        except ValueError:
            return False


class RepeatPrompt(Check):
    """The text begins with the prompt. Strictly: and goes on."""

    check: Literal["validate_repeat_prompt"]
    original_prompt: Length

    def is_met(self, text: str) -> bool:
        """To the letter."""
        return text.startswith(self.original_prompt)

    def is_met_strictly(self, text: str) -> bool:
        """With an answer behind; white space around the prompt does not matter."""
        prompt = self.original_prompt.strip()
        return text.startswith(prompt) and bool(text[len(prompt) :].strip())


class TwoResponses(Check):
    """Two different responses with one `******` between. Strictly: neither is blank."""

    check: Literal["validate_two_responses"]

    def is_met(self, text: str) -> bool:
        """One may be blank."""
        first, _, second = text.partition("******")
        return text.count("******") == 1 and first.strip() != second.strip()

    def is_met_strictly(self, text: str) -> bool:
        """Neither may be blank."""
        first, _, second = text.partition("******")
        return self.is_met(text) and bool(first.strip("* \n\t\r")) and bool(second.strip("* \n\t\r"))


class End(Check):
    """The text ends with the phrase."""

    check: Literal["validate_end"]
    end_phrase: Length

    def is_met(self, text: str) -> bool:
        """To the letter."""
        return text.endswith(self.end_phrase)


class Quotation(Check):
    """The text begins and ends with a double quotation mark. Strictly: with something between the two."""

    check: Literal["validate_quotation"]

    def is_met(self, text: str) -> bool:
        """One mark may be both."""
        return text.startswith('"') and text.endswith('"')

    def is_met_strictly(self, text: str) -> bool:
        """Two marks."""
        return self.is_met(text) and bool(text[1:-1].strip())


def headers(text: str, splitter: str) -> int:
    """Return how often the splitter, in any case, stands before a number, with at most one blank between."""
    return len(re.findall(re.escape(splitter.lower()) + r"\s?\d+", text.lower()))


def highlights(text: str) -> int:
    """Return how many stretches between asterisks, single or double, hold something."""
    return sum(1 for inside in _HIGHLIGHT.findall(_STARS.sub("*", text)) if inside.strip())


def _has_more(text: str, marker: str) -> bool:
    return text.startswith(marker) and len(text.strip()) > len(marker)


LayoutCheck = Annotated[
    ParagraphCount | Paragraphs | Postscript | Placeholders | BulletPoints | Title | HighlightedSections | Sections
    | JsonFormat | RepeatPrompt | TwoResponses | End | Quotation,
    Field(discriminator="check"),
]  # fmt: skip
