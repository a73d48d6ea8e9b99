"""A place in a list of tokens, with what the grammar must remember on its way."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from assay.verifiers.maths.nodes import Node
from assay.verifiers.maths.tokens import Kind, Token, Unreadable
from assay.verifiers.maths.units import below

Result = TypeVar("Result")

MOST_NESTED = 40
"""Brackets, groups and arguments inside one another; doubled brackets do not count."""


Rule = Callable[["Cursor"], Node]


@dataclass(frozen=True)
class Rules:
    """The rules of the grammar that its parts call in their turn."""

    item: Rule
    """One item of a list: a relation, a ratio, or an expression."""
    product: Rule
    """Factors with what joins them."""
    operand: Rule
    """An atom with what is raised or appended to it."""
    atom: Rule
    """A number, a name, a call, or something in brackets."""


@dataclass
class Cursor:
    """Walks over tokens once."""

    tokens: list[Token]
    rules: "Rules"
    log_base: Node
    """The base of `log` where none is written."""
    at: int = 0
    units: list[str] = field(default_factory=list)
    """Units that were read beside values, in order."""
    bars: int = 0
    """Open bars of absolute values in the brackets of the moment."""
    in_set: bool = False
    in_grid: bool = False
    _nested: int = 0

    @property
    def next(self) -> Token:
        """The token to come."""
        return self.tokens[self.at]

    def take(self) -> Token:
        """Return the token to come and pass it. Raises Unreadable at the end."""
        token = self.tokens[self.at]
        if token.kind is Kind.STOP:
            raise Unreadable("it ends too early")
        self.at += 1
        return token

    def sees(self, kind: Kind, *texts: str) -> bool:
        """Whether the token to come is of that kind, and has one of those texts if any are given."""
        token = self.tokens[self.at]
        return token.kind is kind and (not texts or token.text in texts)

    def accept(self, kind: Kind, *texts: str) -> Token | None:
        """Pass the token to come if it is that, and return it."""
        return self.take() if self.sees(kind, *texts) else None

    def expect(self, kind: Kind, *texts: str) -> Token:
        """Pass the token to come, which must be that. Raises Unreadable."""
        if not self.sees(kind, *texts):
            wanted = " or ".join(texts) or kind.name.lower().replace("_", " ")
            raise Unreadable(f"{self.next.text or 'the end'!r} stands where {wanted} should")
        return self.take()

    def inside(self, read: Callable[[], Result], *, in_set: bool = False, in_grid: bool = False) -> Result:
        """Read what is inside brackets, with a state of its own. Raises Unreadable beyond MOST_NESTED."""
        outer = self.bars, self.in_set, self.in_grid
        self.bars, self.in_set, self.in_grid = 0, in_set, in_grid
        result = self.deeper(read)
        self.bars, self.in_set, self.in_grid = outer
        return result

    def below_bar(self, read: Callable[[], Result]) -> Result:
        """Read a divisor; the units in it stand below the bar."""
        before = len(self.units)
        result = read()
        self.units[before:] = map(below, self.units[before:])
        return result

    def deeper(self, read: Callable[[], Result]) -> Result:
        """Read what is nested. Raises Unreadable beyond MOST_NESTED."""
        if self._nested >= MOST_NESTED:
            raise Unreadable(f"nested more than {MOST_NESTED} deep")
        self._nested += 1
        result = read()
        self._nested -= 1
        return result
