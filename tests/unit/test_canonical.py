"""Canonical JSON: one text for one value, and refusals of what is not JSON."""

import pytest

from assay.canonical import content_hash, dump_line, load, load_documents
from assay.errors import InvalidRequest


def test_lines_keep_key_order_and_are_ascii() -> None:
    """Order is the caller's; everything beyond ASCII is escaped, lone surrogates too."""
    assert dump_line({"b": 1, "a": "é\ud83d"}) == '{"b":1,"a":"\\u00e9\\ud83d"}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_lines_hold_no_nan_and_no_infinity(value: float) -> None:
    """What JSON cannot say is refused."""
    with pytest.raises(ValueError, match="Out of range"):
        dump_line({"reward": value})


def test_hashes_do_not_depend_on_key_order() -> None:
    """Equal content has one name, other content another."""
    assert content_hash({"a": 1, "b": [2]}) == content_hash({"b": [2], "a": 1})
    assert content_hash({"a": 1}) != content_hash({"a": 2})
    assert content_hash("\ud83d") != content_hash("\ud83e")
    assert len(content_hash({})) == 32


def test_escaped_surrogates_are_read() -> None:
    """A cut escape in a completion is legal."""
    assert load(b'"\\ud83d"') == "\ud83d"


@pytest.mark.parametrize("data", [b'"\xff"', b"\xed\xa0\xbd", b"{", b"NaN", b"[Infinity]", b"", b"1 2", b"[" * 100_000])
def test_what_is_not_json_is_refused(data: bytes) -> None:
    """Bad bytes, bad syntax, constants of other languages, depth without end: one exception, with the path."""
    with pytest.raises(InvalidRequest) as caught:
        load(data, path="body")

    assert caught.value.path == "body"


@pytest.mark.parametrize(
    ("data", "documents"),
    [
        (b"", []),
        (b" \n", []),
        (b'{"a": 1}', [{"a": 1}]),
        (b'[{"a": 1}, {"b": 2}]', [{"a": 1}, {"b": 2}]),
        (b'{"a": 1}\n\n{"b": 2}\r\n', [{"a": 1}, {"b": 2}]),
        (b'\xef\xbb\xbf{"a":\n1}', [{"a": 1}]),
    ],
)
def test_documents_are_told_by_content(data: bytes, documents: list[object]) -> None:
    """Object, array or lines: the content decides."""
    assert load_documents(data) == documents


def test_a_bad_line_is_named_by_its_number() -> None:
    """The path of the refusal ends in the line's number, blank lines counted."""
    with pytest.raises(InvalidRequest) as caught:
        load_documents(b'\n{"a": 1}\n\n{oops}\n', path="file")

    assert caught.value.path == "file:4"
    with pytest.raises(InvalidRequest) as caught:
        load_documents(b"\n{oops}\n", path="file")

    assert caught.value.path == "file:2"
