"""Request bodies: bounded reading, decompression, and a walk through JSON that never stops the service for long.

One C call of `json.loads` on 256 MB would hold the interpreter for seconds. The walk decodes one task or one
attempt at a time instead, so other threads get their turn, and a fault is known by its path.
"""

import codecs
import gzip
import io
import json
import re
import zlib
from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from json.decoder import JSONDecodeError
from typing import Any  # Any: JSON values have no narrower type

import zstandard

from assay.canonical import decode, load, refuse_constant
from assay.errors import InvalidRequest, TooLarge, UnsupportedMedia

_BLANK = re.compile(r"[ \t\n\r]*")
_READ_BYTES = 1 << 20
_ZSTD_WINDOW_BYTES = 1 << 27
_ZSTD_STEP_BYTES = 1024  # of input; four bytes may unpack to 128 kB
_LISTS = frozenset({"tasks", "attempts"})
_JSON_TYPES = frozenset({"application/json", "text/json"})
_NDJSON_TYPES = frozenset(
    {"application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines"}
)


class Kind(StrEnum):
    """How a body is laid out."""

    JSON = "json"
    NDJSON = "ndjson"


@dataclass(frozen=True)
class Part:
    """One value of a body: a whole top-level field, or one element of `tasks` or `attempts`; `size` in characters."""

    name: str
    index: int | None
    value: Any
    size: int

    @property
    def path(self) -> str:
        """Where it stands."""
        return self.name if self.index is None else f"{self.name}[{self.index}]"


def media_kind(content_type: str | None) -> Kind:
    """Tell the layout by the media type. Raises UnsupportedMedia."""
    media = (content_type or "application/json").split(";")[0].strip().lower()
    if media in _JSON_TYPES:
        return Kind.JSON
    if media in _NDJSON_TYPES:
        return Kind.NDJSON
    raise UnsupportedMedia(
        f"cannot read a body of type {media}", fix="send Content-Type: application/json or application/x-ndjson"
    )


async def read_raw(stream: AsyncIterator[bytes], declared: str | None, limit_bytes: int) -> bytes:
    """Return the body as sent, reading no further than the limit. Raises TooLarge, InvalidRequest if it is empty."""
    if declared is not None and declared.isdigit() and int(declared) > limit_bytes:
        raise _too_large(limit_bytes)
    parts: list[bytes] = []
    size = 0
    async for part in stream:
        size += len(part)
        if size > limit_bytes:
            raise _too_large(limit_bytes)
        parts.append(part)
    if not size:
        raise _empty_body()
    return b"".join(parts)


def inflate(raw: bytes, encoding: str | None, limit_bytes: int) -> bytes:
    """Undo Content-Encoding, never holding more than the limit. Raises TooLarge, UnsupportedMedia, InvalidRequest."""
    name = (encoding or "identity").strip().lower()
    if name == "identity":
        return raw
    if name not in ("gzip", "x-gzip", "zstd"):
        raise UnsupportedMedia(f"cannot undo Content-Encoding {name}", fix="send gzip, zstd or an uncompressed body")
    pieces = _unpack_zstd(raw) if name == "zstd" else _unpack_gzip(raw)
    parts: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            size += len(piece)
            if size > limit_bytes:
                raise _too_large(limit_bytes)
            parts.append(piece)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise InvalidRequest(f"the body is not valid {name}: {error}", fix="compress it again") from error
    return b"".join(parts)


def _unpack_gzip(raw: bytes) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as reader:
        while piece := reader.read(_READ_BYTES):
            yield piece


def _unpack_zstd(raw: bytes) -> Iterator[bytes]:
    """Yield what the frames hold. zstandard's own reader takes a cut frame for the end of the data."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    view = memoryview(raw)
    at = 0
    while at < len(view):
        frame = decompressor.decompressobj()
        while not frame.eof:
            if at >= len(view):
                raise EOFError("the last frame is cut")
            step = view[at : at + _ZSTD_STEP_BYTES]
            yield frame.decompress(step)
            at += len(step)
        at -= len(frame.unused_data)


def parse_object(data: bytes) -> dict[str, Any]:
    """Return a small body that is one JSON object, whole. Raises InvalidRequest."""
    document = load(_text(data))
    if not isinstance(document, dict):
        raise InvalidRequest("the body is not a JSON object", fix="send {...}")
    return document


def walk(data: bytes) -> Iterator[Part]:
    """Yield the parts of a JSON object in the order in which they stand. Raises InvalidRequest."""
    text = _text(data)
    decoder = json.JSONDecoder(parse_constant=refuse_constant)
    at = _skip(text, 0)
    if text[at : at + 1] != "{":
        load(text)  # says what is wrong if it is no JSON at all
        raise InvalidRequest("the body is not a JSON object", fix='send {"tasks": [...], "attempts": [...]}')
    at = _skip(text, at + 1)
    seen: set[str] = set()
    while text[at : at + 1] != "}":
        name, at = _field_name(decoder, text, at, seen)
        if name in _LISTS and text[at : at + 1] == "[":
            at = yield from _elements(decoder, text, at, name)
        else:
            value, end = _value(decoder, text, at, name)
            yield Part(name, None, value, end - at)
            at = end
        at = _next_item(text, at, "}", "")
    if _skip(text, at + 1) != len(text):
        raise InvalidRequest(f"not valid JSON: extra data at character {at + 1}", fix="send one JSON object")


def walk_lines(data: bytes) -> Iterator[Part]:
    """Yield the values of JSON lines; blank lines are skipped. Raises InvalidRequest with `lines[N]` as path."""
    is_empty = True
    for number, line in enumerate(io.BytesIO(data)):
        if _is_blank(line.removeprefix(codecs.BOM_UTF8)):
            continue
        is_empty = False
        yield Part("lines", number, load(line, path=f"lines[{number}]"), len(line))
    if is_empty:
        raise _empty_body()


def _elements(decoder: json.JSONDecoder, text: str, at: int, name: str) -> Generator[Part, None, int]:
    at = _skip(text, at + 1)
    index = 0
    while text[at : at + 1] != "]":
        path = f"{name}[{index}]"
        value, end = _value(decoder, text, at, path)
        yield Part(name, index, value, end - at)
        at = _next_item(text, end, "]", path)
        index += 1
    return at + 1


def _field_name(decoder: json.JSONDecoder, text: str, at: int, seen: set[str]) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise _bad_json("expecting a field name in double quotes", at, "")
    name, at = _value(decoder, text, at, "")
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise _bad_json("expecting ':'", at, name)
    if name in seen:
        raise InvalidRequest(f"field {name!r} stands twice", path=name, fix="send each field once")
    seen.add(name)
    return name, _skip(text, at + 1)


def _next_item(text: str, at: int, closing: str, path: str) -> int:
    at = _skip(text, at)
    mark = text[at : at + 1]
    if mark == closing:
        return at
    if mark != ",":
        raise _bad_json(f"expecting ',' or '{closing}'", at, path)
    at = _skip(text, at + 1)
    if text[at : at + 1] in ("", closing):
        raise _bad_json("expecting another item after ','", at, path)
    return at


def _value(decoder: json.JSONDecoder, text: str, at: int, path: str) -> tuple[Any, int]:
    try:
        return decoder.raw_decode(text, at)
    except JSONDecodeError as error:
        raise _bad_json(error.msg, error.pos, path) from error
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"not valid JSON: {error}", path=path, fix="send plain, finite JSON values") from error


def _bad_json(what: str, at: int, path: str) -> InvalidRequest:
    return InvalidRequest(f"not valid JSON: {what} at character {at}", path=path, fix="send one JSON object")


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _text(data: bytes) -> str:
    text = decode(data)
    if _is_blank(text):
        raise _empty_body()
    return text


def _is_blank(text: str | bytes) -> bool:
    return not text or text.isspace()


def _empty_body() -> InvalidRequest:
    return InvalidRequest("the body is empty", fix="send JSON")


def _too_large(limit_bytes: int) -> TooLarge:
    return TooLarge(
        f"the body is larger than {limit_bytes} bytes", fix="send smaller batches, or raise ASSAY_MAX_BODY_MB"
    )
