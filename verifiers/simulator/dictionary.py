"""The parameters that a completion gives: found, read as a literal, matched with the known names; nothing is run."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any  # Any: a literal's values may be anything plain

from assay.verifiers.extraction import without_reasoning
from assay.verifiers.rules.blocks import last_block
from assay.verifiers.rules.literal import finite, read_python
from assay.verifiers.simulator.interface import Parameter

_ASSIGNED = re.compile(r"new_mpc_params\s*=\s*(?=\{)")
_REASONING = re.compile(r"<reasoning>.*?(?:</reasoning>|\Z)", re.DOTALL)
_ASSIGNMENTS = 10  # that are looked at
_CLOSINGS = 8  # braces that may end one of them
_CHARACTERS = 4000  # of a dictionary; eleven parameters take three hundred
_HALF = 0.5
_SHOWN = 40


@dataclass(frozen=True)
class Refused:
    """Parameters that no run is worth: `reason` says which and why."""

    reason: str


def answer_of(text: str) -> str:
    """Return the part of a text that answers: its last block <answer>, else all of it but reasoning. Linear."""
    said = without_reasoning(text)
    block = last_block(said, "answer")
    return _REASONING.sub("", said) if block is None else block


def find_dictionary(text: str) -> Mapping[Any, Any] | None:
    """Return the first literal dictionary after `new_mpc_params =` that is not empty, or None.

    As the released code: an assignment that is no literal is passed over. The first 10 assignments are looked at, each
    up to 4,000 characters and 8 closing braces.
    """
    for match in islice(_ASSIGNED.finditer(text), _ASSIGNMENTS):
        start = end = match.end()
        for _ in range(_CLOSINGS):
            end = text.find("}", end, start + _CHARACTERS) + 1
            if not end:
                break
            found = _read(text[start:end])
            if found:
                return found
    return None


def name_share(given: Mapping[Any, Any], known: Mapping[str, Parameter], *, empty_counts: bool) -> float:
    """Return the share of the names that are known: 1 each; an alias or a part of a known name counts half.

    The empty name is a part of every name; `empty_counts` says whether it earns its half.
    """
    if not given:
        return 0.0
    aliases = _aliases(known)
    return math.fsum(_credit(name, known, aliases, empty_counts) for name in given) / len(given)


def settle(given: Mapping[Any, Any], known: Mapping[str, Parameter]) -> Mapping[str, float] | Refused:
    """Return the value of every known parameter: given by its name, else by an alias, else its default.

    Refused are values that are no finite number or out of bounds. Names that mean no parameter change nothing.
    """
    aliases = _aliases(known)
    values = {name: parameter.default for name, parameter in known.items()}
    by_alias = {aliases[name]: value for name, value in given.items() if isinstance(name, str) and name in aliases}
    by_name = {name: value for name, value in given.items() if isinstance(name, str) and name in known}
    for name, value in {**by_alias, **by_name}.items():
        number = finite(value)
        if number is None:
            return Refused(f"{name} is no finite number: {_shown(value)}")
        low, high = known[name].low, known[name].high
        if not low <= number <= high:
            return Refused(f"{name} is {number:g}: {low:g} to {high:g} {known[name].unit}".rstrip() + " are driven")
        values[name] = number
    return values


def _read(source: str) -> Mapping[Any, Any] | None:
    try:
        value = read_python(source)
    except ValueError:
        return None
    return value if isinstance(value, Mapping) else None


def _aliases(known: Mapping[str, Parameter]) -> Mapping[str, str]:
    """Return the name that each alias means."""
    return {alias: name for name, one in known.items() for alias in one.aliases if alias not in known}


def _credit(name: Any, known: Mapping[str, Parameter], aliases: Mapping[str, str], empty_counts: bool) -> float:
    if not isinstance(name, str):
        return 0.0
    if name in known:
        return 1.0
    if not name:
        return _HALF if empty_counts else 0.0
    return _HALF if name in aliases or any(name in one for one in known) else 0.0


def _shown(value: Any) -> str:
    """Return a value in a few characters. Integers of many digits cannot be written, nor what holds them."""
    plain = value is None or isinstance(value, bool | float | complex | str | bytes)
    return repr(value[:_SHOWN] if isinstance(value, str | bytes) else value)[:_SHOWN] if plain else _kind(value)


def _kind(value: Any) -> str:
    return "a huge integer" if isinstance(value, int) else f"a {type(value).__name__}"
