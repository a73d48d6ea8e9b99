"""What is said of tasks that are refused: in the words, and by the paths, of whoever wrote them."""

from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.verifiers.builtin import default_registry

REGISTRY = default_registry()
ANSWER = {"answer": "42"}


def refusal(**fields: Any) -> InvalidRequest:
    """Return the refusal of a task."""
    with pytest.raises(InvalidRequest) as caught:
        REGISTRY.parse_task({"id": "t", **fields}, path="tasks[3]")
    return caught.value


@pytest.mark.parametrize(
    ("fields", "path", "detail"),
    [
        ({"verifier": "instructions", "checks": [{"check": "no"}]}, "tasks[3].checks[0].check", "unknown check 'no'"),
        ({"verifier": "instructions", "checks": [{"N": 1}]}, "tasks[3].checks[0].check", "'check' is missing"),
        ({"verifier": "instructions", "checks": ["a"]}, "tasks[3].checks[0]", "should be an object"),
        (
            {"verifier": "instructions", "checks": [{"check": "verify_keywords", "keyword_list": 7}]},
            "tasks[3].checks[0].keyword_list",
            "valid array",
        ),
        ({"verifier": "countdown", "numbers": [1], "target": "x"}, "tasks[3].target", "should be a number"),
        (
            {"verifier": "json_schema", "json_schema": 7},
            "tasks[3].json_schema",
            "should be an object or true or false",
        ),
        ({"verifier": "exact_match", "answers": [5]}, "tasks[3].answers[0]", "valid string"),
    ],
)
def test_of_several_types_the_words_are_plain(fields: dict[str, Any], path: str, detail: str) -> None:
    """No type of the library is in the path, and no tag in the message."""
    error = refusal(**fields)

    assert error.path == path
    assert detail in error.detail


@pytest.mark.parametrize("verifier", ["composite", "classification", "exact_match", "math"])
def test_an_unknown_profile_is_refused_by_its_field(verifier: str) -> None:
    """With those that there are."""
    error = refusal(verifier=verifier, profile="nobody/paper")

    assert error.path == "tasks[3].profile"
    assert "use one of" in error.fix


@pytest.mark.parametrize(
    ("profile", "parameters", "path"),
    [
        ("open-rs/paper", {"answer": 5}, "tasks[3].parameters.answer"),
        ("dapo/code", {**ANSWER, "max_len": "x", "cache": 1}, "tasks[3].parameters.max_len"),
        ("dapo/code", {**ANSWER, "max_len": 1, "cache": 2}, "tasks[3].parameters"),
        ("kimi/paper", {**ANSWER, "length_weight": "x"}, "tasks[3].parameters.length_weight"),
        ("d1-gsm8k/code", {"answer": ["a"]}, "tasks[3].parameters.answer"),
        ("open-rs/paper", {}, "tasks[3].parameters"),
        ("open-rs/paper", {**ANSWER, "colour": 1}, "tasks[3].parameters.colour"),
    ],
)
def test_faults_of_a_filled_profile_point_at_its_parameters(
    profile: str, parameters: dict[str, Any], path: str
) -> None:
    """Nobody wrote the terms that the profile stands for."""
    assert refusal(verifier="composite", profile=profile, parameters=parameters).path == path


def test_faults_beside_a_profile_keep_their_path() -> None:
    """What the task gives itself is found where it stands."""
    terms = [{"name": "accuracy", "verifier": "math", "task": {"answer": 5}}]

    error = refusal(verifier="composite", profile="open-rs/paper", parameters=ANSWER, terms=terms)

    assert error.path == "tasks[3].terms[0].task.answer"


@pytest.mark.parametrize("fields", [{"answer": "42"}, {"label": "cat"}, {}])
def test_without_a_verifier_the_default_is_named(fields: dict[str, Any]) -> None:
    """Fields of another verifier are unknown to it, which says little to whoever forgot to name theirs."""
    assert "a task without `verifier` is one of 'python'" in refusal(**fields).fix


def test_with_one_it_is_not() -> None:
    """Whoever names a verifier knows."""
    assert "without `verifier`" not in refusal(verifier="python", label="cat").fix


@pytest.mark.parametrize("weights", [{"nope": 1}, {"accuracy": 0}])
def test_weights_are_refused_in_parts_of_a_composite_too(weights: dict[str, float]) -> None:
    """By a path into the part."""
    part = {"name": "a", "verifier": "math", "task": {**ANSWER, "weights": weights}}

    assert refusal(verifier="composite", terms=[part]).path.startswith("tasks[3].terms[0].task.weights")
