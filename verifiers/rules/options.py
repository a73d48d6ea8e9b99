"""Which option of a multiple-choice question an answer names, and the fields of tasks that ask for one."""

import re
from typing import Literal, Self

from pydantic import Field, model_validator

from assay.verifiers.refusals import misplaced
from assay.verifiers.rules.answering import AnsweringTask

_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST = 2_000  # characters
# A letter alone, set off by a mark, or before a text: but `A man` and `I see` may be texts themselves.
_GOLD = re.compile(r"\s*(?:[(\[]?([A-Za-z])(?:\s*$|[)\].:,])|([B-HJ-Z])(?=\s))")
_WHOLE = re.compile(r"[(\[]?([A-Za-z])[)\].:]*+")
_LEADING = re.compile(r"(?:[(\[]([A-Z])[)\]]|([A-Z])[).:])")
_ALONE = re.compile(r"(?<!\w)(?:([B-Z])|(A)(?! (?!(?:is|or|and|because|since)\b)[a-z]))(?![\w'\u2019])")
_DENIED = re.compile(
    r"(?:not|\bexcept|n['\u2019]t)(?: +(?:be|the|an?|answer|option|choice))* *[(*\"']*$", re.IGNORECASE
)
"""What stands before a letter that an answer rules out."""


class OptionTask(AnsweringTask):
    """Fields of tasks whose answer is the letter of an option."""

    answer: str = Field(min_length=1)
    """The right option: its letter, alone or before its text (`B`, `(B)`, `B. a red car`; A and I with a mark)."""
    letters: str = Field("ABCDEFG", pattern="^[A-Z]+$")
    """Letters that options can have; others are not read."""
    choices: tuple[str, ...] | None = Field(None, max_length=26)
    """Texts of the options, the first one being A: an answer that is one of them names it, unless `reader` is
    `first_capital`."""
    reader: Literal["option", "first_capital"] = "option"
    """`option`: the answer is a letter, or begins with one that is set off (`B.`, `(B)`), or holds just one that stands
    alone (not the article A, nor a letter that is ruled out, as in `not B`), or is the text of a choice, its letter
    before it or not; more letters, or none, name no option.
    `first_capital`: the first capital among `letters`, even inside a word."""
    both_unreadable: Literal["wrong", "right"] = "wrong"
    """`right`: where neither the answer nor the gold holds a letter to read, they count as equal, as released."""

    @model_validator(mode="after")
    def _refuse_unreachable(self) -> Self:
        if self.both_unreadable == "wrong" and self.right_letter() not in self.letters:
            raise misplaced(
                ("answer",), f"{self.answer[:40]!r} is none of the options {self.letters}", "give its letter"
            )
        if self.choices and _ALPHABET.find(self.right_letter()) >= len(self.choices):
            raise misplaced(
                ("answer",),
                f"{self.answer[:40]!r} is none of the {len(self.choices)} choices",
                "give the letter of one",
            )
        return self

    def right_letter(self) -> str:
        """Return the letter of the right option, or an empty text where the released reader finds none."""
        if self.both_unreadable == "right":
            return _first_capital(self.answer, self.letters)
        match = _GOLD.match(self.answer)
        return (match[1] or match[2]).upper() if match else " "

    def read(self, answer: str) -> str:
        """Return the letter that an answer names, or an empty text."""
        if self.reader == "first_capital":
            return _first_capital(answer, self.letters)
        return _named(answer.strip(), self.letters, self.choices or ())

    def is_right(self, letter: str) -> bool:
        """Whether that letter, as read, earns the accuracy term."""
        return letter == self.right_letter() and (letter != "" or self.both_unreadable == "right")


def _first_capital(text: str, letters: str) -> str:
    match = re.search(f"[{letters}]", text)
    return match[0] if match else ""


def _named(text: str, letters: str, choices: tuple[str, ...]) -> str:
    if not text or len(text) > _LONGEST:
        return ""
    if whole := _WHOLE.fullmatch(text):
        found = {whole[1].upper()}
    elif leading := _LEADING.match(text):
        found = {leading[1] or leading[2]}
    elif spelt := _spelt(text, choices):
        found = {spelt}
    else:
        alone = [match for match in _ALONE.finditer(text) if match[0] in letters]
        is_denied = all(_DENIED.search(text, 0, match.start()) for match in alone)
        found = set() if is_denied else {match[0] for match in alone}
    return found.pop() if len(found) == 1 and found <= set(letters) else ""


def _spelt(text: str, choices: tuple[str, ...]) -> str:
    """Return the letter of the one choice whose text this is, alone or behind its own letter."""
    given = _plain(text)
    found = [
        letter
        for letter, choice in zip(_ALPHABET, map(_plain, choices), strict=False)
        if given in (choice, f"{letter} {choice}".casefold())
    ]
    return found[0] if len(found) == 1 else ""


def _plain(text: str) -> str:
    return " ".join(text.split()).removesuffix(".").casefold()
