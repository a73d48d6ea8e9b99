"""IFEval's instructions on what a text says and how long it is, by their identifiers (arXiv 2311.07911, table 4).

Decided as its checker does, but for three things that need a trained model or word lists there: sentences are split by
punctuation, words in capitals are runs of letters, and languages are told by letters and common words. English in
capitals or small letters is judged by its letters alone. Keywords are words, not patterns.
"""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from assay.verifiers.rules.instructions.check import Amount, Check, Phrase, Phrases, Relation, relates
from assay.verifiers.rules.instructions.language import Language, is_in
from assay.verifiers.rules.instructions.words import capital_words, occurrences, sentences, words

_ANSWERS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")


class Existence(Check):
    """All keywords occur, in any case, also inside words."""

    check: Literal["keywords:existence"]
    keywords: Phrases

    def is_met(self, text: str) -> bool:
        """As substrings."""
        lower = text.lower()
        return all(keyword.lower() in lower for keyword in self.keywords)


class Frequency(Check):
    """The keyword occurs at least, or less than, `frequency` times, in any case, also inside words."""

    check: Literal["keywords:frequency"]
    keyword: Phrase
    frequency: Amount
    relation: Relation

    def is_met(self, text: str) -> bool:
        """By counting substrings."""
        return relates(text.lower().count(self.keyword.lower()), self.relation, self.frequency)


class Forbidden(Check):
    """None of the words occurs, in any case."""

    check: Literal["keywords:forbidden_words"]
    forbidden_words: Phrases

    def is_met(self, text: str) -> bool:
        """As words."""
        return not any(occurrences(text, word) for word in self.forbidden_words)


class LetterCount(Check):
    """The letter occurs at least, or less than, `let_frequency` times, in any case."""

    check: Literal["keywords:letter_frequency"]
    letter: Annotated[str, StringConstraints(min_length=1, max_length=1)]
    let_frequency: Amount
    let_relation: Relation

    def is_met(self, text: str) -> bool:
        """By counting."""
        return relates(text.lower().count(self.letter.lower()), self.let_relation, self.let_frequency)


class InLanguage(Check):
    """The text is in the language."""

    check: Literal["language:response_language"]
    language: Language

    def is_met(self, text: str) -> bool:
        """By letters and common words."""
        return is_in(text, self.language)


class NumberOfSentences(Check):
    """At least, or less than, `num_sentences` sentences."""

    check: Literal["length_constraints:number_sentences"]
    num_sentences: Amount
    relation: Relation

    def is_met(self, text: str) -> bool:
        """By punctuation."""
        return relates(sentences(text), self.relation, self.num_sentences)


class NumberOfWords(Check):
    """At least, or less than, `num_words` words."""

    check: Literal["length_constraints:number_words"]
    num_words: Amount
    relation: Relation

    def is_met(self, text: str) -> bool:
        """Counting runs of letters and digits."""
        return relates(len(words(text)), self.relation, self.num_words)


class ConstrainedResponse(Check):
    """One of `My answer is yes.`, `My answer is no.`, `My answer is maybe.` occurs."""

    check: Literal["detectable_format:constrained_response"]

    def is_met(self, text: str) -> bool:
        """As written."""
        return any(answer in text for answer in _ANSWERS)


class CapitalFrequency(Check):
    """At least, or less than, `capital_frequency` words in capitals."""

    check: Literal["change_case:capital_word_frequency"]
    capital_frequency: Amount
    capital_relation: Relation

    def is_met(self, text: str) -> bool:
        """Of any alphabet."""
        return relates(capital_words(text, ascii_only=False), self.capital_relation, self.capital_frequency)


class Capitals(Check):
    """All letters are capitals."""

    check: Literal["change_case:english_capital"]

    def is_met(self, text: str) -> bool:
        """There is one."""
        return text.isupper()


class SmallLetters(Check):
    """All letters are small."""

    check: Literal["change_case:english_lowercase"]

    def is_met(self, text: str) -> bool:
        """There is one."""
        return text.islower()


class NoComma(Check):
    """No comma."""

    check: Literal["punctuation:no_comma"]

    def is_met(self, text: str) -> bool:
        """Not `,`."""
        return "," not in text


IfevalContentCheck = Annotated[
    Existence | Frequency | Forbidden | LetterCount | InLanguage | NumberOfSentences | NumberOfWords
    | ConstrainedResponse | CapitalFrequency | Capitals | SmallLetters | NoComma,
    Field(discriminator="check"),
]  # fmt: skip
