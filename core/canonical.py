"""Canonical JSON: one text for one value, so that results can be compared and content can be hashed.

Lone surrogates are legal in completions (a cut escape such as `\\ud83d`), so output is ASCII-only JSON:
it carries them unharmed where UTF-8 could not.
"""

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any  # JSON values have no narrower type

from assay.errors import InvalidRequest

_LINES = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"), check_circular=False)
MOST_LEVELS = 100
"""Of nesting that every JSON library, and whatever writes a document out again, can bear."""
_BLANK = b"\xef\xbb\xbf \t\r\n"  # white space of JSON, and the byte order mark


def refuse_constant(name: str) -> None:
    """Raise ValueError: a decoder's `parse_constant` for NaN and infinities."""
    raise ValueError(f"{name} is not JSON")


_DOCUMENTS = json.JSONDecoder(parse_constant=refuse_constant)


def dump_line(value: Mapping[str, Any]) -> str:
    """Return `value` as one JSON line without its newline; key order is kept, NaN and infinities are refused."""
    return _LINES.encode(value)


def content_hash(value: Any) -> str:
    """Return 32 hex digits (128 bits of SHA-256) that name `value`; key order does not matter."""
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:32]


def load(data: bytes | str, *, path: str = "") -> Any:
    """Parse one JSON document. Raises InvalidRequest for invalid UTF-8, bad JSON, NaN or infinities."""
    text = decode(data, path=path) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    try:
        return _DOCUMENTS.decode(text)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"not valid JSON: {error}", path=path, fix="send one JSON document") from error


def check_plain(value: Any, *, path: str = "") -> None:
    """Raise InvalidRequest unless parsed JSON can be written out again: finite, and at most MOST_LEVELS deep."""
    level: list[Any] = [value]
    for _ in range(MOST_LEVELS + 1):
        if any(isinstance(one, float) and not math.isfinite(one) for one in level):
            raise InvalidRequest(
                "a number is too large for a double", path=path, fix="send numbers that a double can hold"
            )
        level = [child for one in level for child in _children(one)]
        if not level:
            return
    raise InvalidRequest(f"nested more than {MOST_LEVELS} levels deep", path=path, fix="flatten it")


def _children(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def decode(data: bytes, *, path: str = "") -> str:
    """Return JSON text without its byte order mark. Raises InvalidRequest for invalid UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(
            f"byte {error.start} is not valid UTF-8",
            path=path,
            fix="send UTF-8; escape lone surrogates as \\udXXX",
        ) from error


def load_documents(data: bytes, *, path: str = "") -> list[Any]:
    """Parse a JSON object, a JSON array (its elements) or JSON lines, told apart by content."""
    stripped = data.lstrip(_BLANK)
    if not stripped:
        return []
    try:
        whole = load(stripped, path=path)
    except InvalidRequest:
        lines = [(n, line) for n, line in enumerate(data.splitlines(), 1) if line.strip(_BLANK)]
        return [load(line, path=f"{path}:{n}") for n, line in lines]
    return whole if isinstance(whole, list) else [whole]
