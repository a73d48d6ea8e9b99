"""Emptying the processor's caches: whatever a kernel left there, or the judge wrote for it, is driven out."""

from pathlib import Path

import numpy as np

_FOLDER = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}
_USUAL_BYTES = 2**25
_MOST_BYTES = 2**28


class Flusher:
    """Reads a buffer of twice the size of the largest cache from end to end."""

    def __init__(self, cache_bytes: int | None = None) -> None:
        size = cache_bytes if cache_bytes is not None else last_level_bytes()
        self._buffer = np.ones(2 * min(size, _MOST_BYTES) // 8, dtype=np.int64)

    def flush(self) -> None:
        """Fill the caches with what no kernel reads."""
        self._buffer.sum()


def last_level_bytes(folder: Path = _FOLDER) -> int:
    """Return the size of the largest cache of the first processor; a usual one if the machine does not tell."""
    sizes = []
    for path in folder.glob("index*/size"):
        text = path.read_text(encoding="ascii").strip()
        sizes.append(int(text[:-1]) * _UNITS[text[-1]] if text[-1:] in _UNITS else int(text))
    return max(sizes, default=_USUAL_BYTES)
