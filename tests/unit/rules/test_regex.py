"""`regex`: patterns by an engine of linear time."""

import sys
from typing import Any

import pytest
from attempts import judge

from assay.errors import InvalidRequest
from assay.outcomes import Outcome


def matched(completion: str, **fields: Any) -> float:
    """The raw term."""
    return judge("regex", completion, **fields).terms["matched"]


def test_the_reward_is_the_share_of_patterns_that_hold() -> None:
    """Forbidden ones hold where they do not match."""
    fields = {"patterns": [r"\d{4}-\d{2}", "cat"], "forbidden": ["dog", r"\bfox\b"]}

    assert matched("2024-05 cat", **fields) == 1
    assert matched("2024-05 dog", **fields) == 0.5
    assert judge("regex", "2024-05 dog", **fields).outcome is Outcome.FAILED


@pytest.mark.parametrize(
    ("fields", "completion", "value"),
    [
        ({"patterns": ["cat"]}, "concatenate", 1), ({"patterns": ["cat"], "where": "whole"}, "concatenate", 0),
        ({"patterns": ["cat"], "where": "whole"}, " cat\n", 1), ({"patterns": ["CAT"]}, "cat", 0),
        ({"patterns": ["CAT"], "ignore_case": True}, "cat", 1), ({"patterns": ["a.b"]}, "a\nb", 0),
        ({"patterns": ["a.b"], "dot_all": True}, "a\nb", 1), ({"patterns": ["^b$"]}, "a\nb", 0),
        ({"patterns": ["^b$"], "multi_line": True}, "a\nb", 1), ({"patterns": [r"\p{Greek}"]}, "\u03b1", 1),
        ({"patterns": ["b"]}, "\ud83d b", 1), ({"forbidden": ["b"]}, "", 1),
    ],
)  # fmt: skip
def test_options_say_how_patterns_match(fields: dict[str, Any], completion: str, value: float) -> None:
    """Each of them, and text of any kind."""
    assert matched(completion, **fields) == value


@pytest.mark.parametrize(
    "patterns", [[], ["("], ["(?=a)a"], [r"(a)\1"], [""], ["(.{1,30}){1,30}{1,9}"], ["a" * 2001], ["(a{1000}){1000}"]]
)
def test_patterns_that_the_engine_cannot_take_are_refused(patterns: list[str]) -> None:
    """Broken, too large, looking around or referring back."""
    with pytest.raises(InvalidRequest):
        matched("", patterns=patterns)


def test_a_text_beyond_what_a_pattern_can_search_in_time_does_not_hold() -> None:
    """Length times size of the program is bounded; neither a pattern nor a forbidden one holds."""
    text = "ab" * 400_000

    assert matched(text, patterns=["[ab]{0,900}b"], forbidden=["[ab]{0,900}c"]) == 0


def test_without_the_engine_tasks_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to install."""
    monkeypatch.setitem(sys.modules, "re2", None)

    with pytest.raises(InvalidRequest, match=r"'\.\[text\]'"):
        matched("a", patterns=["a"])


@pytest.mark.parametrize("field", ["patterns", "forbidden"])
def test_a_pattern_that_is_none_is_refused_at_its_place(field: str) -> None:
    """In the words of the engine, which gives bytes."""
    with pytest.raises(InvalidRequest) as caught:
        judge("regex", "", **{field: ["a", "("]})

    assert caught.value.path == f"task.{field}[1]"
    assert "missing )" in caught.value.detail
    assert "b'" not in caught.value.detail
