"""Keys whose hashes are alike: sets and mappings of them take time that is quadratic in their number."""

from collections import Counter
from collections.abc import Hashable, Sequence

from assay.verifiers.split.wire import ProtocolError

_MOST_ALIKE = 1000
"""Different keys of one set or mapping that may have one hash: comparing each with each takes some milliseconds."""


def check_spread(keys: Sequence[Hashable]) -> None:
    """Raise ProtocolError if more keys have one hash than any but a hostile peer sends; TypeError if one has none.

    Integers that differ by multiples of 2**61 - 1 have one, and so have tuples of such integers.
    """
    if len(keys) <= _MOST_ALIKE:
        return
    if len(keys) - len(set(map(hash, keys))) < _MOST_ALIKE:
        return
    if max(Counter(map(hash, keys)).values()) > _MOST_ALIKE:
        raise ProtocolError(f"more than {_MOST_ALIKE} keys of one set or mapping have the same hash")


def mapping_of(pairs: Sequence[tuple[Hashable, object]]) -> dict[Hashable, object]:
    """Return the mapping of pairs. Raises as `check_spread` does."""
    if len(pairs) > _MOST_ALIKE:
        check_spread([key for key, _ in pairs])
    return dict(pairs)
