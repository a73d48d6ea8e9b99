"""What trainers keep beside a prompt, its label or ground truth, read as a task: pure, nothing is run.

Known are tasks of ours, names of stored tasks, and the forms in which public data sets keep tests: verl's
`{inputs, outputs, fn_name?, assert_case?}` (volcengine/verl, prime_code), open-r1's
`{language, test_cases: [{input, output}]}` (huggingface/open-r1, verification_info), and plain answers of mathematics.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any  # Any: labels are unparsed JSON

from assay.canonical import dump_line
from assay.errors import InvalidRequest
from assay.spelling import shown

Document = dict[str, Any]

_OWN = frozenset({"verifier", "tests", "test_code", "cases", "test_file"})
_MATHS = "math"


def task_of_label(label: object) -> Document:
    """Return the task document that a label means; without an `id` it is named by its content.

    Raises InvalidRequest for a label in no known form.
    """
    document = _document(label)
    if "id" not in document:
        digest = hashlib.sha256(dump_line(document).encode("ascii")).hexdigest()
        document = {"id": f"label-{digest[:24]}", **document}
    return document


def _document(label: object) -> Document:
    if isinstance(label, str):
        return _of_text(label)
    if isinstance(label, bool) or label is None:
        raise InvalidRequest(f"{shown(label)} is no label", path="label", fix="give a task, tests or an answer")
    if isinstance(label, (int, float)):
        return {"verifier": _MATHS, "answer": str(label)}
    if isinstance(label, Mapping):
        return _of_mapping(label)
    raise InvalidRequest("a label is text, a number or an object", path="label", fix="give a task, tests or an answer")


def _of_text(text: str) -> Document:
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except ValueError:
            found = None  # a set, in mathematics
        if isinstance(found, Mapping):
            return _of_mapping(found)
    return {"verifier": _MATHS, "answer": text}


def _of_mapping(label: Mapping[str, Any]) -> Document:
    if _OWN & label.keys():
        return dict(label)
    if label.get("assert_case"):
        return {"tests": list(label["assert_case"]), "style": "assert"}
    if "inputs" in label and "outputs" in label:
        return _of_pairs(label["inputs"], label["outputs"], label.get("fn_name"))
    if "test_cases" in label:
        return _of_test_cases(label)
    raise InvalidRequest(
        f"a label with the fields {', '.join(sorted(map(str, label)))[:200]} is in no known form",
        path="label",
        fix="give a task of Assay, {inputs, outputs}, {language, test_cases} or an answer",
    )


def _of_pairs(inputs: Sequence[Any], outputs: Sequence[Any], function: str | None) -> Document:
    if len(inputs) != len(outputs):
        raise InvalidRequest(
            f"{len(inputs)} inputs for {len(outputs)} outputs", path="label.outputs", fix="give one for each"
        )
    if function is None:
        pairs = zip(inputs, outputs, strict=True)
        return {"cases": [{"stdin": _as_text(one), "stdout": _as_text(other)} for one, other in pairs]}
    cases = [{"args": _arguments(one), "expected": _value(other)} for one, other in zip(inputs, outputs, strict=True)]
    return {"entry_point": function, "cases": cases, "style": "calls"}


def _as_text(value: Any) -> str:
    """Programs read lines; some data sets keep them apart."""
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _arguments(value: Any) -> list[Any]:
    """One argument a line, in JSON, or a list of them."""
    if isinstance(value, list):
        return value
    return [_value(line) for line in str(value).split("\n") if line.strip()]


def _value(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _of_test_cases(label: Mapping[str, Any]) -> Document:
    cases = [{"stdin": one.get("input", ""), "stdout": one.get("output", "")} for one in label["test_cases"]]
    return {"verifier": "stdio", "language": label.get("language", "python"), "cases": cases}
