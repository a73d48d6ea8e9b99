"""Units under one name each, for tasks in which they count."""

import re
from collections.abc import Iterable

_NAMES = {
    "m": "meter metre meters metres", "cm": "centimeter centimetre centimeters centimetres",
    "mm": "millimeter millimetre millimeters millimetres", "km": "kilometer kilometre kilometers kilometres",
    "in": "inch inches", "ft": "foot feet", "yd": "yard yards", "mi": "mile miles", "g": "gram grams",
    "kg": "kilogram kilograms", "mg": "milligram milligrams", "lb": "lbs pound pounds", "oz": "ounce ounces",
    "s": "sec secs second seconds", "min": "mins minute minutes", "h": "hr hrs hour hours", "d": "day days",
    "l": "liter liters litre litres", "ml": "milliliter milliliters", "usd": "dollar dollars", "cent": "cents",
    "unit": "units", "rad": "radian radians", "2": "square sq", "3": "cubic cu", "'": "'",
}  # fmt: skip
_CANONICAL = {alias: name for name, aliases in _NAMES.items() for alias in aliases.split()}


def unit_names(units: Iterable[str]) -> tuple[str, ...]:
    """Return the parts of units, each under one name, in alphabetical order: `square feet` is `ft^2`."""
    parts = re.split(r"([ /^])", re.sub(r"\bper\b", "/", " ".join(units)))
    named = [_CANONICAL.get(part, part) for part in parts if part not in ("", " ", "^")]
    spread = [piece for name in named for piece in re.findall(r"[a-z']+(?![a-z])|[0-9]+|/", name)]
    return tuple(sorted(spread))
