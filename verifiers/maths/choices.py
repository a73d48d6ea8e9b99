"""Letters of multiple choice: `B`, `(B)`, `\\text{B}`, `(B) 42`, `Option B`."""

import re

_WRAPPER = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox|boldsymbol)\s*\{([^{}]{1,200})\}")
_GOLD = re.compile(r"\(?([A-J])\)?[.:]?")
_ALONE = re.compile(r"\(?([A-Ja-j])\)?[.:]?")
_WITH_CONTENT = re.compile(r"(?:\(([A-J])\)|([A-J])[).:])(?:\s|\\|$).*", re.DOTALL)
_NAMED = re.compile(r"(?:option|choice|answer)\s*:?\s*\(?([A-J])\)?[.:]?", re.IGNORECASE)


def choice_of_gold(text: str) -> str | None:
    """Return the letter if a gold is one of multiple choice: a capital up to J, with or without brackets."""
    found = _GOLD.fullmatch(_plain(text))
    return found.group(1) if found else None


def choice_of_answer(text: str) -> str | None:
    """Return the letter that an answer chooses, or None; what it says of its content does not count."""
    plain = _plain(text)
    for pattern in (_ALONE, _NAMED, _WITH_CONTENT):
        found = pattern.fullmatch(plain)
        if found:
            return next(group for group in found.groups() if group).upper()
    return None


def _plain(text: str) -> str:
    return _WRAPPER.sub(r"\1", text).replace("$", "").replace("\\ ", " ").strip(" *")
