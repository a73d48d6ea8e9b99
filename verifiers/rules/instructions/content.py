"""Checks of what a text says and how long it is, by open-instruct's names and arguments."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from assay.verifiers.rules.instructions.check import Amount, Check, Phrase, Phrases, Quantifier, holds, tenth
from assay.verifiers.rules.instructions.language import Language, is_in
from assay.verifiers.rules.instructions.words import (
    capital_words,
    occurrences,
    sentence_breaks,
    sentences,
    spoken_words,
    words,
)


class Keywords(Check):
    """All keywords occur, in any case. Strictly: as words, not inside others."""

    check: Literal["verify_keywords"]
    keyword_list: Phrases

    def is_met(self, text: str) -> bool:
        """As substrings."""
        lower = text.lower()
        return all(keyword.lower() in lower for keyword in self.keyword_list)

    def is_met_strictly(self, text: str) -> bool:
        """As words."""
        return all(occurrences(text, keyword) for keyword in self.keyword_list)


class KeywordFrequency(Check):
    """The word occurs exactly N times, in any case. Strictly: phrases of several words are found too."""

    check: Literal["verify_keyword_frequency"]
    word: Phrase
    N: Amount

    def is_met(self, text: str) -> bool:
        """As one run of letters and digits."""
        word = self.word.lower()
        is_one = words(word) == [word]
        return (occurrences(text, word, self.N + 1) if is_one else 0) == self.N

    def is_met_strictly(self, text: str) -> bool:
        """As one or several words."""
        return occurrences(text, self.word, self.N + 1) == self.N


class ForbiddenWords(Check):
    """None of the words occurs, in any case. Strictly: as words, not inside others."""

    check: Literal["validate_forbidden_words"]
    forbidden_words: Phrases

    def is_met(self, text: str) -> bool:
        """As substrings."""
        lower = text.lower()
        return not any(word.lower() in lower for word in self.forbidden_words)

    def is_met_strictly(self, text: str) -> bool:
        """As words."""
        return not any(occurrences(text, word) for word in self.forbidden_words)


class LetterFrequency(Check):
    """The character occurs exactly N times; capitals are other letters."""

    check: Literal["verify_letter_frequency"]
    letter: Annotated[str, StringConstraints(min_length=1, max_length=1)]
    N: Amount

    def is_met(self, text: str) -> bool:
        """By counting."""
        return text.count(self.letter) == self.N


class ResponseLanguage(Check):
    """The text is in the language, as far as its letters and commonest words tell; see `instructions.language`."""

    check: Literal["validate_response_language"]
    language: Language

    def is_met(self, text: str) -> bool:
        """By letters and common words; the released code asks langdetect, which draws lots on short texts."""
        return is_in(text, self.language)


class WordConstraint(Check):
    """At least, around (a tenth, at least one, off) or at most N words. Strictly: pieces with a letter or digit."""

    check: Literal["validate_word_constraint"]
    N: Amount
    quantifier: Quantifier

    def is_met(self, text: str) -> bool:
        """Counting what stands between white space."""
        return holds(len(text.split()), self.quantifier, self.N, tenth(self.N))

    def is_met_strictly(self, text: str) -> bool:
        """Counting those with a letter or a digit."""
        return holds(spoken_words(text), self.quantifier, self.N, tenth(self.N))


class SentenceConstraint(Check):
    """At least, around (one off) or at most N sentences. Strictly: sentences hold a word, quotes may close them."""

    check: Literal["verify_sentence_constraint"]
    N: Amount
    quantifier: Quantifier

    def is_met(self, text: str) -> bool:
        """Counting `.`, `?` and `!` before white space, plus one."""
        return holds(sentence_breaks(text) + 1, self.quantifier, self.N, 1)

    def is_met_strictly(self, text: str) -> bool:
        """Counting sentences that hold a word."""
        return holds(sentences(text), self.quantifier, self.N, 1)


class Choice(Check):
    """One of the options occurs. Strictly: exactly one, as words; an option inside a longer one that occurs is none."""

    check: Literal["validate_choice"]
    options: Phrases

    def is_met(self, text: str) -> bool:
        """As substrings, as written."""
        return any(option in text for option in self.options)

    def is_met_strictly(self, text: str) -> bool:
        """As words, in any case."""
        rest = text.lower()
        chosen = set()
        for option in sorted({option.lower() for option in self.options}, key=len, reverse=True):
            if occurrences(rest, option):
                chosen.add(option)
                rest = rest.replace(option, "\0")
        return len(chosen) == 1


class Uppercase(Check):
    """Without small letters. Strictly: with capitals."""

    check: Literal["validate_uppercase"]

    def is_met(self, text: str) -> bool:
        """Nothing changes in capitals."""
        return text == text.upper()

    def is_met_strictly(self, text: str) -> bool:
        """There are letters, all capital."""
        return text.isupper()


class Lowercase(Check):
    """Without capitals. Strictly: with small letters."""

    check: Literal["validate_lowercase"]

    def is_met(self, text: str) -> bool:
        """Nothing changes in small letters."""
        return text == text.lower()

    def is_met_strictly(self, text: str) -> bool:
        """There are letters, all small."""
        return text.islower()


class CapitalWords(Check):
    """At least, around (a tenth, at least one, off) or at most N words in capitals. Strictly: of any alphabet."""

    check: Literal["validate_frequency_capital_words"]
    N: Amount
    quantifier: Quantifier

    def is_met(self, text: str) -> bool:
        """Runs of A to Z."""
        return holds(capital_words(text, ascii_only=True), self.quantifier, self.N, tenth(self.N))

    def is_met_strictly(self, text: str) -> bool:
        """Words of any alphabet."""
        return holds(capital_words(text, ascii_only=False), self.quantifier, self.N, tenth(self.N))


class NoCommas(Check):
    """No comma. Strictly: none of any script."""

    check: Literal["validate_no_commas"]

    def is_met(self, text: str) -> bool:
        """Not `,`."""
        return "," not in text

    def is_met_strictly(self, text: str) -> bool:
        """Neither full-width, Arabic nor ideographic ones."""
        return not any(comma in text for comma in ",\uff0c\u3001\u060c\ufe50\ufe10")


ContentCheck = Annotated[
    Keywords | KeywordFrequency | ForbiddenWords | LetterFrequency | ResponseLanguage | WordConstraint
    | SentenceConstraint | Choice | Uppercase | Lowercase | CapitalWords | NoCommas,
    Field(discriminator="check"),
]  # fmt: skip
