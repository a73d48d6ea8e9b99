"""`--resume` of an output that holds lines of another kind: told by their place, and nothing is changed."""

import json

import pytest

from assay.cli.results.lines import CONTENT
from assay.cli.resuming import _result, _told
from assay.errors import InvalidRequest

_LINE = {"task_id": "t", "attempt": "0", "outcome": "passed", "flags": [], "versions": {CONTENT: "a"}}


@pytest.mark.parametrize(
    "line",
    [
        "[" * 200_000,
        json.dumps({**_LINE, "flags": 5}),
        json.dumps({**_LINE, "versions": {CONTENT: [1]}}),
        json.dumps({**_LINE, "versions": {CONTENT: 2**70}}),
        json.dumps({**_LINE, "versions": {CONTENT: "\ud800"}}),
        json.dumps({**_LINE, "reward": float("nan")}),
        json.dumps({**_LINE, "metadata": {"x": float("-inf")}}),
        json.dumps(_LINE)[:-1] + ', "reward": 1e400}',
        json.dumps(_LINE)[:-1] + ', "reward": ' + "9" * 5000 + "}",
        json.dumps({**_LINE, "metadata": {}}).replace("{}", "[" * 300 + "]" * 300),
    ],
)
def test_a_line_that_is_no_result_is_told_by_its_place(line: str) -> None:
    with pytest.raises(InvalidRequest, match="no result line") as caught:
        _told(line.encode(), "out.jsonl:3")

    assert caught.value.path == "out.jsonl:3"


def test_a_result_with_a_field_of_another_type_is_told_by_its_place() -> None:
    with pytest.raises(InvalidRequest, match="no result of this version"):
        _result(json.dumps({**_LINE, "reward": "x"}).encode(), "out.jsonl:3")
