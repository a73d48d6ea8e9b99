"""What a name was probably meant to be: the one piece that suggests names, wherever one is refused."""

import difflib
from collections.abc import Iterable
from itertools import islice

_LONGEST = 40  # characters: comparing two names takes time by the product of their lengths
_COMPARED = 200
_LISTED = 40


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return which of the first 200 `known` names `name` resembles most, letter case aside; None if none, or too long.

    Source: Ratcliff and Obershelp's measure, at least 0.6, as Python's difflib has it.
    """
    if not isinstance(name, str) or len(name) > _LONGEST:
        return None
    by_folded = {one.casefold(): one for one in islice(known, _COMPARED) if len(one) <= _LONGEST}
    found = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    return by_folded[found[0]] if found else None


def choices(name: object, known: Iterable[str], *, most: int = _LISTED) -> str:
    """Say what to write in place of an unknown name: the nearest of the `known`, and which there are, up to `most`."""
    names = list(known)
    listed = ", ".join(one[:_LONGEST] for one in names[:most])
    guess = nearest(name, names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    meant = f"did you mean {guess!r}? " if guess is not None else ""
    return f"{meant}use one of {listed}{more}"


def shown(value: object) -> str:
    """Return a name, or what stands in place of one, as a message shows it: of bounded length."""
    if isinstance(value, str):
        return repr(str(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]}...")
    return repr(value)[: 2 * _LONGEST]
