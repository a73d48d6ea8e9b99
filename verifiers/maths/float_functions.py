"""Functions in double precision, with bounds of the error."""

import cmath
import math
from collections.abc import Callable

from assay.verifiers.maths.exact import Undefined
from assay.verifiers.maths.magnitudes import EPSILON, Beyond, Near, Unknown, Value, checked, power
from assay.verifiers.maths.nodes import Function

_Complex = Callable[[complex], complex]

# Each with the size of its derivative.
_SMOOTH: dict[Function, tuple[_Complex, _Complex]] = {
    Function.SIN: (cmath.sin, cmath.cos),
    Function.COS: (cmath.cos, cmath.sin),
    Function.TAN: (cmath.tan, lambda z: 1 / cmath.cos(z) ** 2),
    Function.COT: (lambda z: cmath.cos(z) / cmath.sin(z), lambda z: 1 / cmath.sin(z) ** 2),
    Function.SEC: (lambda z: 1 / cmath.cos(z), lambda z: cmath.sin(z) / cmath.cos(z) ** 2),
    Function.CSC: (lambda z: 1 / cmath.sin(z), lambda z: cmath.cos(z) / cmath.sin(z) ** 2),
    Function.ASIN: (cmath.asin, lambda z: 1 / cmath.sqrt(1 - z * z)),
    Function.ACOS: (cmath.acos, lambda z: 1 / cmath.sqrt(1 - z * z)),
    Function.ATAN: (cmath.atan, lambda z: 1 / (1 + z * z)),
    Function.ACOT: (lambda z: cmath.pi / 2 - cmath.atan(z), lambda z: 1 / (1 + z * z)),
    Function.ASEC: (lambda z: cmath.acos(1 / z), lambda z: 1 / (z * z * cmath.sqrt(1 - 1 / (z * z)))),
    Function.ACSC: (lambda z: cmath.asin(1 / z), lambda z: 1 / (z * z * cmath.sqrt(1 - 1 / (z * z)))),
    Function.SINH: (cmath.sinh, cmath.cosh),
    Function.COSH: (cmath.cosh, cmath.sinh),
    Function.TANH: (cmath.tanh, lambda z: 1 / cmath.cosh(z) ** 2),
    Function.COTH: (lambda z: 1 / cmath.tanh(z), lambda z: 1 / cmath.sinh(z) ** 2),
    Function.ASINH: (cmath.asinh, lambda z: 1 / cmath.sqrt(1 + z * z)),
    Function.ACOSH: (cmath.acosh, lambda z: 1 / cmath.sqrt(z * z - 1)),
    Function.ATANH: (cmath.atanh, lambda z: 1 / (1 - z * z)),
}


def call(function: Function, values: list[Value]) -> Value:
    """Return a function's value. Raises Undefined, Unknown."""
    if function in _SMOOTH:
        return _smooth(function, _one(values))
    match function:
        case Function.LN:
            return _ln(values[0])
        case Function.LOG:
            return _quotient(_near(_ln(values[0])), _near(_ln(values[1])))
        case Function.ROOT:
            return _root(values[0], _near(values[1]))
        case Function.ABS:
            return _size(values[0])
        case Function.FACTORIAL:
            return _gamma(values[0], 1)
        case Function.GAMMA:
            return _gamma(values[0], 0)
        case Function.REAL | Function.IMAGINARY | Function.CONJUGATE | Function.ARGUMENT:
            return _part(function, _one(values))
        case Function.FLOOR | Function.CEILING | Function.SIGN | Function.MIN | Function.MAX | Function.MOD:
            return _of_reals(function, [_real(value) for value in values])
        case Function.BINOMIAL:
            return _binomial(values)
        case _:
            raise Unknown(f"{function} is not evaluated here")


def _near(value: Value) -> Near:
    if not isinstance(value, Near):
        raise Unknown("an argument of that size")
    return value


def _one(values: list[Value]) -> Near:
    return _near(values[0])


def _real(value: Value) -> Near:
    near = _near(value)
    if not near.is_real:
        raise Unknown("a complex argument")
    return near


def _smooth(function: Function, argument: Near) -> Near:
    evaluate, slope = _SMOOTH[function]
    try:
        value = evaluate(argument.value)
    except (ZeroDivisionError, ValueError) as error:
        raise (Undefined if argument.error == 0 else Unknown)(f"{function} has a pole") from error
    try:
        steep = abs(slope(argument.value))
    except (ZeroDivisionError, ValueError):
        steep = math.inf
    off = steep * argument.error if argument.error else 0.0
    if off > 1e-3:  # near a pole or a branch point a straight line says nothing
        raise Unknown(f"{function} is steep here")
    return checked(value, off + abs(value) * 4 * EPSILON + 4e-16)


def _ln(value: Value) -> Value:
    if isinstance(value, Beyond):
        if value.sign <= 0:
            raise Unknown("the logarithm of a value whose sign is not known")
        if value.height:
            return Beyond(value.log, 1, value.height - 1)
        return Near(complex(value.log), abs(value.log) * 1e-12)
    size = abs(value.value)
    if size <= 4 * value.error:
        raise (Undefined if size == 0 and value.error == 0 else Unknown)("the logarithm of zero")
    if value.value.real < 0 and 0 < abs(value.value.imag) <= 4 * value.error:
        raise Unknown("the argument lies on a cut")
    result = cmath.log(value.value)
    return Near(result, value.error / size + (abs(result) + 1) * EPSILON)


def _quotient(top: Near, bottom: Near) -> Near:
    size = abs(bottom.value)
    if size <= 4 * bottom.error:
        raise Unknown("the logarithm of the base may be zero")
    result = top.value / bottom.value
    return Near(result, top.error / size + abs(result) * (bottom.error / size + 2 * EPSILON))


def _root(value: Value, index: Near) -> Value:
    """The real root where there is one: also that of a negative number if the index is odd."""
    if abs(index.value) <= 4 * index.error or index.value == 0:
        raise Undefined("a root with the index zero")
    inverse = Near(1 / index.value, index.error + abs(1 / index.value) * EPSILON)
    if isinstance(value, Near) and 0 < abs(value.value) <= 4 * value.error and abs(index.value) >= 1:
        bound = (abs(value.value) + 5 * value.error) ** (1 / abs(index.value))
        return Near(0j, bound) if bound < 1e-4 else _unknown()
    is_negative = isinstance(value, Near) and value.value.imag == 0 and value.value.real < 0
    if is_negative and index.error == 0 and index.value.real % 2 == 1:
        assert isinstance(value, Near)
        mirrored = power(Near(-value.value, value.error), inverse)
        return (
            Near(-mirrored.value, mirrored.error)
            if isinstance(mirrored, Near)
            else Beyond(mirrored.log, -1, mirrored.height)
        )
    return power(value, inverse)


def _unknown() -> Near:
    raise Unknown("a root that may be zero")


def _size(value: Value) -> Value:
    if isinstance(value, Beyond):
        return Beyond(value.log, 1, value.height)
    return Near(complex(abs(value.value)), value.error + abs(value.value) * EPSILON)


def _gamma(value: Value, shift: int) -> Value:
    if isinstance(value, Beyond):
        if value.sign <= 0 or value.log < 2:
            raise Unknown("a factorial of that size")
        if value.height:
            return Beyond(value.log, 1, value.height + 1)
        return Beyond(value.log + math.log(value.log - 1), 1, 1)  # n! is about n^n / e^n
    near = _real(value)
    argument = near.value.real + shift
    is_whole = near.error == 0 and argument.is_integer()
    if argument <= 0 and (is_whole or abs(argument - round(argument)) <= 4 * near.error):
        raise (Undefined if is_whole else Unknown)("the factorial of a negative number")
    if argument > 160:
        return Beyond(math.lgamma(argument), 1)
    result = math.gamma(argument)
    return checked(
        complex(result),
        abs(result) * (1e-13 + near.error * (6 + abs(argument))) if not is_whole else abs(result) * 1e-14,
    )


def _binomial(values: list[Value]) -> Near:
    top, bottom = (_real(value).value.real for value in values)
    if not 0 <= bottom <= top or max(value.error for value in map(_near, values)) > 1e-9 * (1 + abs(top)):
        raise Unknown("a binomial coefficient of that kind")
    log = math.lgamma(top + 1) - math.lgamma(bottom + 1) - math.lgamma(top - bottom + 1)
    return checked(complex(math.exp(log)), math.exp(log) * 1e-6)


def _part(function: Function, argument: Near) -> Near:
    value = argument.value
    match function:
        case Function.REAL:
            return Near(complex(value.real), argument.error)
        case Function.IMAGINARY:
            return Near(complex(value.imag), argument.error)
        case Function.CONJUGATE:
            return Near(value.conjugate(), argument.error)
        case _:
            if abs(value) <= 4 * argument.error or value == 0:
                raise Unknown("the argument of what may be zero")
            return Near(complex(cmath.phase(value)), argument.error / abs(value) + EPSILON)


def _of_reals(function: Function, arguments: list[Near]) -> Near:
    values = [argument.value.real for argument in arguments]
    error = max(argument.error for argument in arguments)
    match function:
        case Function.MIN:
            return Near(complex(min(values)), error)
        case Function.MAX:
            return Near(complex(max(values)), error)
        case Function.SIGN:
            if abs(values[0]) <= 4 * error and error:
                raise Unknown("the sign of what may be zero")
            return Near(complex((values[0] > 0) - (values[0] < 0)), 0.0)
        case Function.MOD:
            if values[1] == 0:
                raise Undefined("a remainder modulo zero")
            quotient = _step(values[0] / values[1], error)
            return Near(complex(values[0] - values[1] * math.floor(quotient)), 4 * error * (1 + abs(quotient)))
        case _:
            rounded = math.floor if function is Function.FLOOR else math.ceil
            return Near(complex(rounded(_step(values[0], error))), 0.0)


def _step(value: float, error: float) -> float:
    """Return what is to be rounded. Raises Unknown if it is so close to a step that it may lie on either side."""
    if abs(value) > 1e15 or (error and abs(value - round(value)) <= 16 * error):
        raise Unknown("a step may lie on either side")
    return value
