"""What the run verifier accepts as a task."""

import pytest

from assay.errors import InvalidRequest
from assay.verifiers.builtin import default_registry


@pytest.mark.parametrize(
    "fields",
    [
        {"files": {"main.py": ""}},
        {"files": {"a": "", "a/b": ""}},
        {"compare": "tokens"},
        {"scoring": "weighted"},
        {"stdout": "1", "compare": "fuzzy"},
    ],
    ids=str,
)
def test_fields_that_could_not_take_effect_are_refused(fields: dict[str, object]) -> None:
    """A comparison needs an output to compare with, weights need several tests, files a place of their own."""
    with pytest.raises(InvalidRequest):
        default_registry().parse_task({"id": "t", "verifier": "run", **fields})


def test_a_comparison_goes_with_an_output() -> None:
    """Both together are a task."""
    task = default_registry().parse_task({"id": "t", "verifier": "run", "stdout": "1 2", "compare": "tokens"})

    assert task.model_dump()["compare"] == "tokens"
