"""What an answer says, as data: numbers, symbols, calls, and the structures that answers are given in.

Nothing here computes. A node is plain and immutable, so that it can be compared, remembered, and sent to another
process as data: no text that a model wrote is ever parsed where a verdict is reached.
"""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


@dataclass(frozen=True)
class Number:
    """A rational number; `decimals` counts the digits after the point if it was written with one."""

    value: Fraction
    decimals: int | None = None


@dataclass(frozen=True)
class Numeral:
    """Digits with a base, as in `1011_2`."""

    digits: str
    base: int


class Named(StrEnum):
    """Constants."""

    PI = "pi"
    E = "e"
    I = "i"  # noqa: E741 - the name of the imaginary unit
    INFINITY = "oo"


@dataclass(frozen=True)
class Constant:
    """A constant with a name."""

    name: Named


@dataclass(frozen=True)
class Symbol:
    """A variable, with its subscript and decoration in its name."""

    name: str


@dataclass(frozen=True)
class Addition:
    """A sum of at least two terms."""

    terms: tuple["Node", ...]


@dataclass(frozen=True)
class Multiplication:
    """A product of at least two factors."""

    factors: tuple["Node", ...]


@dataclass(frozen=True)
class Power:
    """A base with its exponent; a quotient is a product with powers of -1."""

    base: "Node"
    exponent: "Node"


class Function(StrEnum):
    """Functions of one or more arguments."""

    ROOT = "root"  # radicand, index
    ABS = "abs"
    LN = "ln"
    LOG = "log"  # argument, base
    SIN = "sin"
    COS = "cos"
    TAN = "tan"
    COT = "cot"
    SEC = "sec"
    CSC = "csc"
    ASIN = "asin"
    ACOS = "acos"
    ATAN = "atan"
    ACOT = "acot"
    ASEC = "asec"
    ACSC = "acsc"
    SINH = "sinh"
    COSH = "cosh"
    TANH = "tanh"
    COTH = "coth"
    ASINH = "asinh"
    ACOSH = "acosh"
    ATANH = "atanh"
    FLOOR = "floor"
    CEILING = "ceiling"
    FACTORIAL = "factorial"
    DOUBLE_FACTORIAL = "factorial2"
    GAMMA = "gamma"
    BINOMIAL = "binomial"
    GCD = "gcd"
    LCM = "lcm"
    MIN = "min"
    MAX = "max"
    MOD = "mod"
    REAL = "re"
    IMAGINARY = "im"
    CONJUGATE = "conj"
    ARGUMENT = "arg"
    SIGN = "sign"
    PLUS_MINUS = "pm"  # one of two signs, the same for all in one answer
    MINUS_PLUS = "mp"
    DEGREES = "deg"
    PERCENT = "percent"


@dataclass(frozen=True)
class Call:
    """A function with its arguments."""

    function: Function
    arguments: tuple["Node", ...]


class Operator(StrEnum):
    """Operators that bind a variable."""

    SUM = "sum"
    PRODUCT = "prod"
    INTEGRAL = "int"
    LIMIT = "lim"
    DERIVATIVE = "diff"


@dataclass(frozen=True)
class Bound:
    """An operator over a variable: its range is `low` to `high`, where it has one; a limit has only `low`.

    `body` is what it is applied to. A derivative's `low` is its order.
    """

    operator: Operator
    variable: str
    body: "Node"
    low: "Node | None" = None
    high: "Node | None" = None


class Bracket(StrEnum):
    """What a sequence stands in."""

    NONE = ""
    ROUND = "("
    SQUARE = "["
    CURLY = "{"


class Joint(StrEnum):
    """What joins the items of a bare sequence."""

    COMMA = ","
    AND = "and"
    OR = "or"


@dataclass(frozen=True)
class Sequence:
    """Items side by side: a set in curly brackets, a tuple in round ones, solutions without any."""

    items: tuple["Node", ...]
    bracket: Bracket = Bracket.NONE
    joint: Joint = Joint.COMMA


@dataclass(frozen=True)
class Span:
    """An interval, where its brackets leave no other reading."""

    low: "Node"
    high: "Node"
    is_left_open: bool
    is_right_open: bool


class Combination(StrEnum):
    """Operations on sets."""

    UNION = "cup"
    INTERSECTION = "cap"
    DIFFERENCE = "setminus"


@dataclass(frozen=True)
class Combined:
    """Two sets, combined."""

    how: Combination
    left: "Node"
    right: "Node"


class Known(StrEnum):
    """Sets that have a name."""

    EMPTY = "empty"
    NATURAL = "N"
    INTEGER = "Z"
    RATIONAL = "Q"
    REAL = "R"
    COMPLEX = "C"


@dataclass(frozen=True)
class KnownSet:
    """A set that has a name."""

    name: Known


class Sign(StrEnum):
    """Signs of relations."""

    EQUAL = "="
    ABOUT = "~"
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    MEMBER = "in"


@dataclass(frozen=True)
class Relation:
    """Members with signs between them: one sign less than members."""

    members: tuple["Node", ...]
    signs: tuple[Sign, ...]


@dataclass(frozen=True)
class Grid:
    """A matrix; or the branches of a definition by cases, each a row."""

    rows: tuple[tuple["Node", ...], ...]
    is_cases: bool = False


@dataclass(frozen=True)
class Ratio:
    """Parts with colons between them; `is_clock` if it is written like a time of day."""

    parts: tuple["Node", ...]
    is_clock: bool = False


@dataclass(frozen=True)
class Words:
    """Words, folded: a text answer, or a unit beside a value."""

    text: str


Scalar = Number | Numeral | Constant | Symbol | Addition | Multiplication | Power | Call | Bound
Node = Scalar | Sequence | Span | Combined | KnownSet | Relation | Grid | Ratio | Words
