"""Deriving the entry point from the texts of a task, where it is not given. Text only: nothing is compiled here."""

import builtins
import keyword
import re
from collections import Counter
from collections.abc import Sequence

_CALL = re.compile(r"(?<![\w.])([^\W\d]\w*)\s*\(")
_DEFINITION = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+([^\W\d]\w*)", re.MULTILINE)
_CHECKED = re.compile(r"\bcheck\(\s*([^\W\d]\w*)\s*\)")
_TEXT = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_NOT_ENTRIES = frozenset((*dir(builtins), *keyword.kwlist, "check", "candidate"))


def derive_entry(prompt: str, tests: Sequence[str], signature: str) -> str:
    """Return the name of the function asked for, or an empty text.

    It is the signature's name; else the name that most tests call, neither a builtin nor defined by the tests
    themselves, the prompt's own names first; else the last one that the prompt defines or writes as a call.
    """
    if match := re.match(r"\s*(?:(?:async\s+)?def\s+)?([^\W\d]\w*)\s*\(", signature):
        return str(match.group(1))
    called: Counter[str] = Counter()
    defined = {name for test in tests for name in _DEFINITION.findall(test)}
    for test in tests:
        called.update(dict.fromkeys(_CHECKED.findall(test) or _CALL.findall(_TEXT.sub("''", test))).keys())
    wanted = [name for name in called if name not in _NOT_ENTRIES and name not in defined]
    in_prompt = [*_DEFINITION.findall(prompt), *_CALL.findall(prompt)]
    if wanted:
        return max(wanted, key=lambda name: (name in in_prompt, called[name]))
    candidates: list[str] = _DEFINITION.findall(prompt) or [name for name in in_prompt if name not in _NOT_ENTRIES]
    return candidates[-1] if candidates else ""


def imported_names(source: str, module: str) -> tuple[str, ...]:
    """Return the names that `source` takes from `module`, by `from module import ...` or `module.name`."""
    escaped = re.escape(module)
    found: list[str] = []
    for group in re.findall(rf"^[ \t]*from[ \t]+{escaped}[ \t]+import[ \t]+(\([^)]*\)|[^\n#]*)", source, re.MULTILINE):
        for part in group.strip("() ").split(","):
            name = part.split("#")[0].split(" as ")[0].strip()
            if name.isidentifier():
                found.append(name)
    aliases = re.findall(rf"^[ \t]*import[ \t]+{escaped}(?:[ \t]+as[ \t]+(\w+))?", source, re.MULTILINE)
    for alias in {alias or module for alias in aliases}:
        found.extend(re.findall(rf"(?<![\w.]){re.escape(alias)}\.([^\W\d]\w*)", source))
    return tuple(dict.fromkeys(found))
