"""Evaluation in double precision, with bounds of the error."""

import math
from collections.abc import Mapping
from fractions import Fraction

from assay.verifiers.maths.float_functions import call
from assay.verifiers.maths.magnitudes import EPSILON, Near, Unknown, Value, of_fraction, power, product, total
from assay.verifiers.maths.nodes import (
    Addition,
    Call,
    Constant,
    Multiplication,
    Named,
    Node,
    Number,
    Numeral,
    Power,
    Symbol,
)


def evaluate(node: Node, at: Mapping[str, complex]) -> Value:
    """Return the value where symbols have the values `at`. Raises Undefined if there is none, Unknown."""
    try:
        return _value(node, at)
    except (OverflowError, ValueError, ZeroDivisionError, RecursionError) as error:
        raise Unknown(str(error)) from error


def _value(node: Node, at: Mapping[str, complex]) -> Value:
    match node:
        case Number(value):
            return of_fraction(value)
        case Numeral(digits, base):
            return of_fraction(Fraction(int(digits, base)))
        case Constant(name):
            return _constant(name)
        case Symbol(name) if name in at:
            return Near(at[name], 0.0)
        case Addition(terms):
            return total([_value(term, at) for term in terms])
        case Multiplication(factors):
            return product([_value(factor, at) for factor in factors])
        case Power(base, exponent):
            return power(_value(base, at), _value(exponent, at))
        case Call(function, arguments):
            return call(function, [_value(argument, at) for argument in arguments])
        case _:
            raise Unknown("not evaluated here")


def _constant(name: Named) -> Value:
    match name:
        case Named.PI:
            return Near(complex(math.pi), math.pi * EPSILON)
        case Named.E:
            return Near(complex(math.e), math.e * EPSILON)
        case Named.I:
            return Near(1j, 0.0)
        case _:
            raise Unknown("infinity is no number")
