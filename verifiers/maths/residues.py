"""Identity of rational functions: both sides are evaluated at one point of a large prime field.

Sums, products and whole powers of numbers, symbols, pi, e and i are polynomials in independent unknowns; i is a
square root of -1, which the field has. If two of them agree at a random point they are the same function, but for a
chance of about degree / 2^61 (Schwartz, Zippel); if they do not, they are different functions. The point is drawn
from a digest of both sides: always the same for them, and out of reach of whoever writes one of them to meet it.
"""

from dataclasses import dataclass
from hashlib import blake2b

from assay.verifiers.maths.nodes import (
    Addition,
    Call,
    Constant,
    Function,
    Multiplication,
    Named,
    Node,
    Number,
    Numeral,
    Power,
    Symbol,
)

PRIME = 2305843009213693921  # 2^61 - 31, which is 1 modulo 4
_MOST_EXPONENT = 10_000


class _NotRational(Exception):
    """It is no rational function, or has a pole at the point."""


def are_identical(left: Node, right: Node) -> bool | None:
    """Whether two rational functions are the same one; None if one of them is not a rational function."""
    point = _Point(digest_of(left, right))
    try:
        return point.value(left) == point.value(right)
    except _NotRational:
        return None


def digest_of(*nodes: Node) -> bytes:
    """Return a digest of what the nodes say."""
    return blake2b("\0".join(map(repr, nodes)).encode("utf-8", "replace"), digest_size=16).digest()


@dataclass(frozen=True)
class _Point:
    """A point of the field."""

    seed: bytes

    def value(self, node: Node) -> int:
        """Return the value there. Raises _NotRational."""
        match node:
            case Number(value):
                return value.numerator * _inverse(value.denominator) % PRIME
            case Numeral(digits, base):
                return int(digits, base) % PRIME
            case Symbol(name):
                return self._coordinate(name)
            case Constant(Named.I):
                return _SQUARE_ROOT_OF_MINUS_ONE
            case Constant(Named.PI | Named.E as name):
                return self._coordinate(f"constant {name}")
            case Addition(terms):
                return sum(map(self.value, terms)) % PRIME
            case Multiplication(factors):
                product = 1
                for factor in factors:
                    product = product * self.value(factor) % PRIME
                return product
            case Power(base, Number(exponent)) if exponent.denominator == 1 and abs(exponent) <= _MOST_EXPONENT:
                return _power(self.value(base), int(exponent))
            case Call(Function.BINOMIAL, (top, Number(bottom))) if bottom.denominator == 1 and 0 <= bottom <= 20:
                return _binomial(self.value(top), int(bottom))
            case _:
                raise _NotRational

    def _coordinate(self, name: str) -> int:
        drawn = blake2b(name.encode("utf-8", "replace"), key=self.seed, digest_size=16).digest()
        return int.from_bytes(drawn, "big") % PRIME


def _power(base: int, exponent: int) -> int:
    if exponent == 0 and base == 0:
        raise _NotRational
    return pow(_inverse(base), -exponent, PRIME) if exponent < 0 else pow(base, exponent, PRIME)


def _binomial(top: int, bottom: int) -> int:
    product = 1
    for step in range(bottom):
        product = product * (top - step) * _inverse(step + 1) % PRIME
    return product


def _inverse(value: int) -> int:
    if value % PRIME == 0:
        raise _NotRational
    return pow(value, -1, PRIME)


def _square_root_of_minus_one() -> int:
    for base in range(2, 100):
        candidate = pow(base, (PRIME - 1) // 4, PRIME)
        if candidate * candidate % PRIME == PRIME - 1:
            return candidate
    raise AssertionError("the prime is not 1 modulo 4")


_SQUARE_ROOT_OF_MINUS_ONE = _square_root_of_minus_one()
