"""Which tasks of the verifier `calls` are refused, and what they are told to do."""

import re
from typing import Any

import pytest

from assay.errors import InvalidRequest
from assay.verifiers.languages.calls import CallsTask, CallsVerifier
from assay.verifiers.languages.drivers import JAVASCRIPT
from assay.verifiers.languages.table import LANGUAGES
from assay.verifiers.registry import Registry


def parse(**fields: Any) -> object:
    """A task of one call."""
    given = {"language": "js", "entry_point": "f", "cases": [{"args": [], "expected": 1}], **fields}
    return Registry([CallsVerifier()]).parse_task({"id": "t", "verifier": "calls", **given})


def test_the_name_of_a_function_may_be_given_as_data_sets_do() -> None:
    """`fn_name` is LiveCodeBench's word."""
    assert CallsTask.model_validate({"id": "t", "language": "ts", "fn_name": "f", "cases": []}).entry_point == "f"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"language": "python"}, "use the verifier python"),
        ({"language": "cpp"}, "use the verifier stdio"),
        ({"entry_point": "f(); process.exit"}, "entry_point"),
        ({"entry_point": "f\n"}, "entry_point"),
        ({"weights": (1.0,)}, "weights"),
        ({"cases": [{"args": []}]}, "expected"),
    ],
)
def test_what_cannot_be_called_is_refused(fields: dict[str, Any], told: str) -> None:
    """The message says which verifier does."""
    with pytest.raises(InvalidRequest, match=told):
        parse(**fields)


@pytest.mark.parametrize("source", [JAVASCRIPT, "import('fs').then(console.log);", "const exported = 1;"])
def test_what_a_script_may_hold_asks_nobody_whether_it_is_a_module(source: str) -> None:
    """Asking costs a start of the runtime: what stands behind every completion must not bring it about."""
    assert re.search(LANGUAGES["javascript"].unsettled, source) is None


@pytest.mark.parametrize(
    "source", ["import 'fs';", "import{x} from 'fs';", "import.meta.url", "export {};", "await 1;"]
)
def test_what_only_a_module_may_hold_is_asked_about(source: str) -> None:
    """Its parser then tells."""
    assert re.search(LANGUAGES["javascript"].unsettled, source) is not None
