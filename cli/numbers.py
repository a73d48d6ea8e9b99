"""Numbers on the command line, as argparse wants its types."""

import argparse
import math


def whole_number(text: str) -> int:
    """Read a whole number at or above 0. Raises ArgumentTypeError."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number at or above 0")
    return int(text)


def positive_number(text: str) -> int:
    """Read a whole number above 0. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def nonnegative(text: str) -> float:
    """Read a finite number at or above 0. Raises ArgumentTypeError."""
    return _finite(text, "a number")


def seconds(text: str) -> float:
    """Read a finite number of seconds at or above 0. Raises ArgumentTypeError."""
    return _finite(text, "a number of seconds")


def _finite(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what} at or above 0")
    return value
