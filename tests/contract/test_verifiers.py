"""Every verifier describes itself so that a caller can use it without reading our source."""

import pytest

from assay.verifiers.builtin import default_registry

NAMES = default_registry().names


@pytest.mark.parametrize("name", NAMES)
def test_the_example_of_a_verifier_is_a_good_task(name: str) -> None:
    """The first example in a task's schema parses as a task of that verifier."""
    registry = default_registry()
    schema = registry.get(name).task_model.model_json_schema()

    task = registry.parse_task(schema["examples"][0])

    assert task.verifier == name


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_refuses_unknown_fields(name: str) -> None:
    """Task models forbid fields that nobody reads."""
    schema = default_registry().get(name).task_model.model_json_schema()

    assert schema["additionalProperties"] is False
