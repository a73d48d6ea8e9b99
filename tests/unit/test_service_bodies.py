"""Bodies: bounded reading, decompression, and the walk through JSON."""

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Callable

import pytest
import zstandard

from assay.errors import InvalidRequest, TooLarge, UnsupportedMedia
from assay.service.bodies import Kind, inflate, media_kind, parse_object, read_raw, walk, walk_lines


def test_a_walk_yields_elements_with_their_paths() -> None:
    """Elements of `tasks` and `attempts` come one by one, other fields whole, in the order of the text."""
    text = b' { "tasks" : [ {"id": "a"}, {"id": "b"} ], "options": {"x": [1, 2]}, "attempts":[] } '

    parts = list(walk(text))

    assert [(part.path, part.value) for part in parts] == [
        ("tasks[0]", {"id": "a"}),
        ("tasks[1]", {"id": "b"}),
        ("options", {"x": [1, 2]}),
    ]


@pytest.mark.parametrize(
    "document",
    [{}, {"tasks": []}, {"a": None, "b": '\ud83d\u00e9 " \\ ', "c": -1.5e300}, {"attempts": [[], {}, "x", 1, True]}],
)
def test_a_walk_reads_what_json_reads(document: dict[str, object]) -> None:
    """Putting the parts together again gives the document."""
    rebuilt: dict[str, object] = {name: [] for name, value in document.items() if value == []}

    for part in walk(json.dumps(document, indent=1).encode()):
        if part.index is None:
            rebuilt[part.name] = part.value
        else:
            rebuilt.setdefault(part.name, []).append(part.value)  # type: ignore[attr-defined]  # a list, as made above

    assert rebuilt == document


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "}", "{,}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1 "b":2}', '{"tasks":[1,]}', '{"tasks":[1 2]}',
        '{"tasks":[', '{"tasks":[1', "{'a':1}", '{"a":1}}', '{"a":NaN}', '{"a":-Infinity}', '{"a":"\n"}', "null", "3",
    ],
)  # fmt: skip
def test_a_walk_refuses_what_is_no_json_object(text: str) -> None:
    """Everything that is not one JSON object is refused, wherever it goes wrong."""
    with pytest.raises(InvalidRequest):
        list(walk(text.encode()))


@pytest.mark.parametrize("blank", [b"", b" ", b" \r\n\t\n", b"\xef\xbb\xbf", b"\f"])
@pytest.mark.parametrize(
    "read",
    [lambda data: list(walk(data)), lambda data: list(walk_lines(data)), parse_object],
    ids=["json", "lines", "one"],
)
def test_white_space_alone_is_an_empty_body(read: Callable[[bytes], object], blank: bytes) -> None:
    """However a body is laid out, one without content is refused in the same words."""
    with pytest.raises(InvalidRequest) as caught:
        read(blank)

    assert caught.value.detail == "the body is empty"


def test_a_byte_order_mark_is_dropped() -> None:
    """A leading byte order mark is no fault."""
    assert [part.name for part in walk(b'\xef\xbb\xbf{"a": 1}')] == ["a"]


def test_lines_are_counted_with_blank_ones() -> None:
    """Blank lines are skipped, but count, so that a path names the line in the caller's file."""
    parts = list(walk_lines(b'{"a": 1}\n\n{"b": 2}\r\n'))

    assert [(part.path, part.value) for part in parts] == [("lines[0]", {"a": 1}), ("lines[2]", {"b": 2})]


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_inflating_stops_at_the_limit(name: str) -> None:
    """What unpacks to more than the limit is refused, what fits is returned."""
    pack = gzip.compress if name == "gzip" else zstandard.compress

    assert inflate(pack(b"x" * 1000), name, 1000) == b"x" * 1000
    with pytest.raises(TooLarge):
        inflate(pack(b"x" * 1001), name, 1000)


def test_several_frames_are_one_body() -> None:
    """Concatenated gzip members and zstd frames are read to the end."""
    assert inflate(gzip.compress(b"a") + gzip.compress(b"b"), "gzip", 10) == b"ab"
    assert inflate(zstandard.compress(b"a") + zstandard.compress(b"b"), "zstd", 10) == b"ab"


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_cut_compression_is_refused(name: str) -> None:
    """A compressed body that ends too early is a fault, not a shorter body."""
    whole = gzip.compress(b"x" * 100_000) if name == "gzip" else zstandard.compress(bytes(range(256)) * 4000)

    with pytest.raises(InvalidRequest):
        inflate(whole[: len(whole) // 2], name, 10_000_000)


def test_media_types() -> None:
    """JSON and JSON lines are told by their media types; nothing is guessed."""
    assert media_kind(None) is Kind.JSON
    assert media_kind("application/json; charset=utf-8") is Kind.JSON
    assert media_kind("application/x-ndjson") is Kind.NDJSON
    with pytest.raises(UnsupportedMedia):
        media_kind("application/x-www-form-urlencoded")


def test_reading_stops_at_the_limit() -> None:
    """A stream that is too long is not read to its end; a declared length is believed at once."""
    taken = 0

    async def stream() -> AsyncIterator[bytes]:
        nonlocal taken
        for _ in range(100):
            taken += 10
            yield b"x" * 10

    with pytest.raises(TooLarge):
        asyncio.run(read_raw(stream(), None, 25))
    assert taken == 30
    with pytest.raises(TooLarge):
        asyncio.run(read_raw(stream(), "26", 25))
    assert taken == 30


@pytest.mark.parametrize("data", [b"", b" \n", b"\xef\xbb\xbf"])
def test_an_empty_body_is_called_empty(data: bytes) -> None:
    """Nothing, or nothing but white space, is not called bad JSON."""
    with pytest.raises(InvalidRequest, match="the body is empty"):
        list(walk(data))


@pytest.mark.parametrize("data", [b"", b" \n"])
def test_a_body_without_lines_is_called_empty(data: bytes) -> None:
    """The same for JSON lines."""
    with pytest.raises(InvalidRequest, match="the body is empty"):
        list(walk_lines(data))
