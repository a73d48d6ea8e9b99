"""Units as powers of names, for tasks in which they count: a metre per second is no second per metre."""

import re
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction

_NAMES = {
    "m": "meter metre meters metres", "cm": "centimeter centimetre centimeters centimetres",
    "mm": "millimeter millimetre millimeters millimetres", "km": "kilometer kilometre kilometers kilometres",
    "in": "inch inches", "ft": "foot feet", "yd": "yard yards", "mi": "mile miles", "g": "gram grams",
    "kg": "kilogram kilograms", "mg": "milligram milligrams", "lb": "lbs pound pounds", "oz": "ounce ounces",
    "s": "sec secs second seconds", "min": "mins minute minutes", "h": "hr hrs hour hours", "d": "day days",
    "l": "liter liters litre litres", "ml": "milliliter milliliters", "usd": "dollar dollars", "cent": "cents",
    "eur": "euro euros", "inr": "rs rupee rupees", "jpy": "yen", "unit": "units", "rad": "radian radians",
}  # fmt: skip
_CANONICAL = {alias: name for name, aliases in _NAMES.items() for alias in aliases.split()}
_AHEAD = {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_SPEEDS = {"mph": "mi/h", "kph": "km/h", "kmh": "km/h"}
_SIGNS = {"$": "usd", "pounds": "gbp", "euro": "eur", "yen": "jpy", "rupee": "inr", "cents": "cent"}
_WORD = re.compile(r"[^\W\d_]+")
_PART = re.compile(r"(\*?/\*?|\*)|([^\W\d_]+|')(?:\^?(-?[0-9]+(?:/[1-9][0-9]*)?))?")
_SIGN = re.compile(r"\\(\$|(?:pounds|euro|yen|rupee|cents)(?![A-Za-z]))")
_BELOW = "1/("


def below(unit: str) -> str:
    """Return the unit that stands below a bar."""
    return f"{_BELOW}{unit})"


def joined(units: Iterable[str]) -> str:
    """Return the product of units; one that begins with `/` is a divisor."""
    return "*".join(units)


def unit_names(units: Iterable[str], text: str) -> tuple[str, ...]:
    """Return units, each as powers of names in order, and the currencies whose signs are in the text they are from.

    `square feet` is `ft^2`, `m/s` and `meters per second` are `m^1 s^-1`.
    """
    signs = [_SIGNS[sign] for sign in _SIGN.findall(text)]
    return tuple(sorted(_powers(unit) for unit in (*units, *signs)))


def _powers(unit: str) -> str:
    side = 1
    while unit.startswith(_BELOW):
        unit, side = unit[len(_BELOW) : -1], -side
    powers: defaultdict[str, Fraction] = defaultdict(Fraction)
    is_below, ahead = False, 1
    for joint, name, power in _PART.findall(_WORD.sub(_in_symbols, unit)):
        if joint:
            is_below = "/" in joint  # up to the end of its own text: J/kg K is J/(kg K)
        elif name in _AHEAD:
            ahead = _AHEAD[name]
        else:
            exponent = side * ahead * Fraction(power or 1)
            powers[_CANONICAL.get(name, name)] += -exponent if is_below else exponent
            ahead = 1
    return " ".join(f"{name}^{power}" for name, power in sorted(powers.items()) if power)


def _in_symbols(word: re.Match[str]) -> str:
    return "/" if word[0] == "per" else _SPEEDS.get(word[0], word[0])
