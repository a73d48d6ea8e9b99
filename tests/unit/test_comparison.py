"""The named comparisons of stdin/stdout cases."""

import time

import pytest

from assay.verifiers.comparison import Comparison, Mode, parse_comparison


@pytest.mark.parametrize(
    ("mode", "expected", "actual", "accepted"),
    [
        ("exact", "a\n", b"a\n", True),
        ("exact", "a\n", b"a", False),
        ("exact", "\ufffd", b"\xff", False),
        ("trailing_whitespace", "a\nb\n", b"a  \r\nb\t\n\n\n", True),
        ("trailing_whitespace", "a\n", b" a\n", False),
        ("trailing_whitespace", "1\n2\n3\n", b"1\n", False),
        ("trailing_whitespace", "1\n", b"1\n2\n", False),
        ("trailing_whitespace", "a\n\nb", b"a\nb", False),
        ("trailing_whitespace", "YES\n", b"Yes\n", False),
        ("trailing_whitespace", "a\0b\n", b"a\0b\n", True),
        ("trailing_whitespace", "ab\n", b"a\0b\n", False),
        ("trailing_whitespace", "", b"\n \n", True),
        ("trailing_whitespace", "\udc80\n", b"\xed\xb2\x80\n", True),
        ("trailing_whitespace", "\udcff\n", b"\xff\n", False),
        ("trailing_whitespace", "\ufffd\n", b"\xff\n", False),  # noqa: PT014 - ruff reads \udcff as \ufffd
        ("tokens", "1 2\n3", b"1\n2 3\n", True),
        ("tokens", "1 2 3", b"1 2", False),
        ("tokens", "1.0", b"1", False),
        ("lines_unordered", "a b\nc\nc\n", b"c\na b \nc\n\n", True),
        ("lines_unordered", "a\nb\nb\n", b"a\na\nb\n", False),
        ("lines_unordered", "a b", b"b a", False),
        ("float(1e-6)", "0.3333333333", b"0.3333333", True),
        ("float(1e-6)", "3.14159", b"3.1416", False),
        ("float(1e-6)", "2.0", b"2", True),
        ("float(1e-6)", "0.0000001", b"1e-07", True),
        ("float(1e-6)", "1000000.0", b"1000000.5", True),
        ("float(0.1)", "100000000000000000000", b"100000000000000000001", False),
        ("float(0.1)", "7", b"+007", True),
        ("float(0.1)", "7", b"8", False),
        ("float(1e-6)", "-0", b"0", True),
        ("float(1e-6)", "nan", b"NaN", True),
        ("float(1e-6)", "1.5", b"nan", False),
        ("float(1e-6)", "nan", b"1.5", False),
        ("float(1e9)", "inf", b"-inf", False),
        ("float(1e-6)", "inf", b"Infinity", True),
        ("float(1e-6)", "1.5", b"inf", False),
        ("float(1e-6)", "yes 1.0", b"no 1.0", False),
        ("float(1e-6)", "1000.0", b"1_000.0", False),
        ("float(1e-6)", "1.0 2.0", b"1.0", False),
    ],
)
def test_comparison_accepts_what_the_mode_says(mode: str, expected: str, actual: bytes, accepted: bool) -> None:
    """Each mode ignores what it names and nothing else."""
    assert parse_comparison(mode).accepts(expected, actual) is accepted


@pytest.mark.parametrize("text", ["fuzzy", "float", "float()", "float(x)", "float(-1)", "float(inf)", "EXACT", ""])
def test_unknown_comparisons_are_refused(text: str) -> None:
    """A comparison that does not exist is a ValueError that lists those that do."""
    with pytest.raises(ValueError, match=r"comparison|tolerance|convert"):
        parse_comparison(text)


def test_the_default_ignores_trailing_white_space() -> None:
    """A comparison that nobody named is trailing_whitespace."""
    assert Comparison().mode is Mode.TRAILING_WHITESPACE


@pytest.mark.parametrize("piece", [b"0", b"9", b"1 ", b"\n", b" ", b"1e", b"\xff", b"-"])
def test_comparison_is_linear_in_the_output(piece: bytes) -> None:
    """A megabyte of anything repeated is compared in a time that only linear comparison keeps."""
    output = piece * (1_000_000 // len(piece))
    started = time.process_time()

    accepted = parse_comparison("float(1e-6)").accepts("1" * 1_000_000, output)

    assert (accepted, time.process_time() - started < 20) == (False, True)


@pytest.mark.parametrize(
    ("spec", "expected", "actual", "words"),
    [
        ("exact", "a\nb", b"a\nb ", "differs at line 2: 'b '"),
        ("exact", "a\n", b"a", "ends too early, after line 1"),
        ("trailing_whitespace", "a\nb\n", b"a \nc\nd", "differs at line 2: 'c'"),
        ("trailing_whitespace", "a", b"a\nmore", "differs at line 2: 'more'"),
        ("trailing_whitespace", "a\nb", b"a\n\n", "ends too early, after line 1"),
        ("trailing_whitespace", "a", b"", "there is no output"),
        ("lines_unordered", "a\nb\nb", b"b\na\na", "differs at line 3: 'a'"),
        ("tokens", "1 2 3 4", b"1 2\n3 5", "differs at line 2: '3 5'"),
        ("float(0.1)", "1.0 2.0", b"1.05\n2.5", "differs at line 2: '2.5'"),
        ("exact", "a", b"\xff", r"differs at line 1: '\udcff'"),
    ],
)
def test_a_difference_is_told_by_line(spec: str, expected: str, actual: bytes, words: str) -> None:
    """The first line of the output that is not as expected is quoted."""
    comparison = parse_comparison(spec)

    assert not comparison.accepts(expected, actual)
    assert words in comparison.describe_difference(expected, actual)


def test_a_long_line_is_cut() -> None:
    """200 characters are shown of it."""
    told = parse_comparison("exact").describe_difference("", b"x" * 5000)

    assert told == f"the output differs at line 1: '{'x' * 200}'..."
