"""`json_schema`: documents that keep to a schema."""

import json
import time
from typing import Any

import pytest
from attempts import judge
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.errors import InvalidRequest
from assay.outcomes import Outcome
from assay.verifiers.rules.sameness import same_json

AGE = {"type": "object", "required": ["age"], "properties": {"age": {"type": "integer"}}}


def terms(completion: str, schema: Any = AGE, **fields: Any) -> dict[str, float]:
    """The raw terms."""
    return dict(judge("json_schema", completion, json_schema=schema, **fields).terms)


@pytest.mark.parametrize(
    ("completion", "valid"),
    [
        ('{"age": 3}', 1), (' {"age": 3}\n', 1), ('{"age": 3.0}', 1), ('{"age": "3"}', 0), ("[]", 0), ("{age: 3}", 0),
        ('{"age": 3} ok', 0), ('{"age": NaN}', 0), ('{"age": 3, "b": 1e999}', 0), ('{"age": ' + "9" * 5000 + "}", 0),
        ('{"age": 3, "age": "x"}', 0), ('{"age": "\ud800"}', 0), ("[" * 100_000, 0),
        ('{"age": 3, "b": ' + "[" * 300 + "]" * 300 + "}", 1),
    ],
    ids=lambda value: str(value)[:30].encode("ascii", "replace").decode(),
)  # fmt: skip
def test_a_document_is_valid_or_not(completion: str, valid: int) -> None:
    """Read strictly: no prose around, no NaN, no infinity."""
    assert terms(completion) == {"valid": valid}


def test_an_expected_document_is_compared_by_value() -> None:
    """Keys in any order, 1 equals 1.0 and not true."""
    wanted = {"age": 1, "tags": ["a"]}

    assert terms('{"tags": ["a"], "age": 1.0}', expected=wanted) == {"valid": 1, "equal": 1}
    assert terms('{"age": 1, "tags": []}', expected=wanted) == {"valid": 1, "equal": 0}
    assert terms('{"age": true, "tags": ["a"]}', True, expected=wanted) == {"valid": 1, "equal": 0}
    assert terms('{"tags": ["a"]}', expected=wanted) == {"valid": 0, "equal": 0}


def test_a_document_that_is_right_is_not_called_wrong() -> None:
    """Where it earns less than full marks for it."""
    found = judge("json_schema", '{"age": 1}', json_schema=AGE, expected={"age": 1}, weights={"valid": -1})

    assert found.message == "the reward 0 is less than full marks, 1"


def test_the_document_may_stand_in_a_fence_or_a_tag() -> None:
    """The last of them."""
    fenced = 'So:\n```json\n{}\n```\nor\n```json\n{"age": 3}\n```\nDone.'

    assert terms(fenced, extract="fence") == {"valid": 1}
    assert terms('<out>{"age": 3}</out>', extract="tag", tag="out") == {"valid": 1}
    assert judge("json_schema", "none", json_schema=AGE, extract="fence").outcome is Outcome.NO_ANSWER
    assert judge("json_schema", "none", json_schema=AGE, extract="tag").outcome is Outcome.NO_ANSWER


@pytest.mark.parametrize(
    "fields",
    [
        {"json_schema": {"type": 12}}, {"json_schema": {"pattern": "("}}, {"json_schema": {"pattern": "(?=a)"}},
        {"json_schema": {"$ref": "http://localhost/x.json"}}, {"json_schema": {"$ref": "file:///etc/passwd"}},
        {"json_schema": {"pattern": "x(a{0,1000}){0,1000}$"}}, {"json_schema": AGE, "expected": {}},
        {"json_schema": json.loads('{"items":' * 300 + "{}" + "}" * 300)}, {"json_schema": "object"},
        {"json_schema": True, "expected": json.loads("[" * 900 + "]" * 900)}, {"json_schema": {"$ref": "#/none"}},
    ],
    ids=lambda fields: str(fields)[:50],
)  # fmt: skip
def test_schemas_that_cannot_be_used_are_refused(fields: dict[str, Any]) -> None:
    """Broken ones, patterns without bound, references that would have to be fetched, golds that do not keep to them."""
    with pytest.raises(InvalidRequest):
        judge("json_schema", "{}", **fields)


def test_formats_are_checked() -> None:
    """Those that the drafts name."""
    assert terms('"2024-02-30"', {"format": "date"}) == {"valid": 0}
    assert terms('"2024-02-29"', {"format": "date"}) == {"valid": 1}


@pytest.mark.parametrize(
    ("schema", "completion"),
    [
        ({"pattern": "^(a+)+$"}, json.dumps("a" * 900_000 + "!")),
        ({"uniqueItems": True}, json.dumps([[number] for number in range(100_000)])),
        (
            {"anyOf": [{"properties": {"l": {"$ref": "#"}}, "required": ["q"]}, {"properties": {"l": {"$ref": "#"}}}]},
            '{"l":' * 200 + "1" + "}" * 200,
        ),
        ({"oneOf": [{"items": {"$ref": "#"}, "minItems": 2}, {"items": {"$ref": "#"}}]}, "[" * 200 + "]" * 200),
        ({"allOf": [{"$ref": "#"}]}, "1"),
    ],
    ids=["pattern", "unique", "branching", "one of", "endless"],
)
def test_hostile_documents_end(schema: Any, completion: str) -> None:
    """Neither patterns nor recursive schemas take more than a moment."""
    started = time.process_time()

    judge("json_schema", completion, json_schema=schema)

    assert time.process_time() - started < 20  # what is exponential takes for ever


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, 0.5, "a", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=8,
)


@settings(deadline=None, max_examples=100, derandomize=True)
@given(JSON, JSON)
def test_sameness_is_an_equivalence_that_crossing_json_keeps(one: Any, other: Any) -> None:
    """A value equals its own copy; which comes first does not matter."""
    assert same_json(one, json.loads(json.dumps(one)))
    assert same_json(one, other) == same_json(other, one)
    assert terms(json.dumps(one), True) == {"valid": 1}
