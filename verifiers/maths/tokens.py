"""Tokens: what the text of an answer is made of."""

from dataclasses import dataclass
from enum import Enum, auto

from assay.verifiers.maths.nodes import Node


class Kind(Enum):
    """What a token is to the grammar."""

    NUMBER = auto()
    LETTER = auto()
    CONSTANT = auto()
    WORD = auto()
    UNIT = auto()
    FUNCTION = auto()
    COMMAND = auto()
    OPEN = auto()
    CLOSE = auto()
    GROUP = auto()
    GROUP_END = auto()
    OPERATOR = auto()
    RELATION = auto()
    COMBINATION = auto()
    KNOWN_SET = auto()
    SEPARATOR = auto()
    COLON = auto()
    BEGIN = auto()
    END = auto()
    CELL = auto()
    STOP = auto()


@dataclass(frozen=True)
class Token:
    """One token; `is_apart` if a blank stands before it."""

    kind: Kind
    text: str
    is_apart: bool = False
    node: Node | None = None
    is_integer: bool = False


class Unreadable(ValueError):
    """The text is not in the language of answers."""


class Unfamiliar(Unreadable):
    """The text may be good mathematics, in words that our grammar does not know."""
