"""What trainers keep beside a prompt, its label or ground truth, read as a task: pure, nothing is run.

Known are tasks of ours, names of stored tasks, and the forms in which public data sets keep tests: verl's
`{inputs, outputs, fn_name?, assert_case?}` (volcengine/verl, prime_code), open-r1's
`{language, test_cases: [{input, output, fn_name?}]}` (huggingface/open-r1, verification_info; SYNTHETIC-1), and plain
answers of mathematics. With a `language` other than Python, functions become tasks of `calls` and programs of `stdio`.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any  # Any: labels are unparsed JSON

import numpy as np

from assay.canonical import check_plain, dump_line
from assay.errors import InvalidRequest
from assay.spelling import shown

Document = dict[str, Any]

_OWN = frozenset({"verifier", "tests", "test_code", "cases", "test_file"})
_MATHS = "math"
_PYTHON = "python"
_PYTHON_TOO = frozenset({_PYTHON, "python3", "py", "pypy", "pypy3"})
_LONGEST_ID = 512


def task_of_label(label: object) -> Document:
    """Return the task document that a label means; without an `id` it is named by its content.

    Raises InvalidRequest for a label in no known form.
    """
    document = _document(plain_values(label))
    check_plain(document, path="label")
    if "id" not in document:
        digest = hashlib.sha256(dump_line(document).encode("ascii")).hexdigest()
        document = {"id": f"label-{digest[:24]}", **document}
    return document


def stored_name(label: object) -> tuple[str, bool]:
    """Return the id of a stored task that a label may name, empty for none, and whether it can mean nothing else.

    `{"task_id": ID}` names any. Text alone does where it is neither a number nor a single character: those are answers,
    whatever somebody has stored under them.
    """
    found = label
    if isinstance(label, str) and label.lstrip().startswith("{"):
        try:
            found = _loaded(label)
        except ValueError:
            return "", False
    if isinstance(found, Mapping):
        name = found.get("task_id")
        return (name, True) if isinstance(name, str) and len(found) == 1 else ("", False)
    is_name = isinstance(label, str) and 1 < len(label) <= _LONGEST_ID and any(map(str.isalpha, label))
    return (str(label) if is_name else ""), False


def plain_values(value: object) -> Any:
    """Return the value with numpy's arrays and numbers, which data sets hold once they were a table, as Python's."""
    if isinstance(value, np.ndarray | np.generic):
        return plain_values(value.tolist())
    if isinstance(value, Mapping):
        return {name: plain_values(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(one) for one in value]
    return value


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
            found = _loaded(text)
        except ValueError:
            found = None  # a set, in mathematics
        if isinstance(found, Mapping):
            return _of_mapping(found)
    return {"verifier": _MATHS, "answer": text}


def _of_mapping(given: Mapping[str, Any]) -> Document:
    """Columns of a data set hold nulls for fields that a row lacks and another has: those were left out."""
    label = {name: value for name, value in given.items() if value is not None}
    if _OWN & label.keys():
        return label
    if label.get("assert_case"):
        return {"tests": _list_of(label, "assert_case"), "style": "assert"}
    if "inputs" in label and "outputs" in label:
        pairs = _list_of(label, "inputs"), _list_of(label, "outputs")
        return _of_pairs(*pairs, _text_of(label, "fn_name"), _language_of(label))
    if "test_cases" in label:
        return _of_test_cases(label)
    named = f"with the fields {', '.join(sorted(map(str, label)))[:200]}" if label else "without fields"
    raise InvalidRequest(
        f"a label {named} is in no known form",
        path="label",
        fix="give a task of Assay, {inputs, outputs}, {language, test_cases} or an answer",
    )


def _loaded(text: str) -> Any:
    """Return JSON. Raises ValueError for what is none, InvalidRequest for what no parser can bear."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise InvalidRequest("nested too deeply", path="label", fix="flatten it") from error


def _list_of(label: Mapping[str, Any], name: str) -> list[Any]:
    found = label[name]
    if isinstance(found, tuple):
        return list(found)
    if not isinstance(found, list):
        raise InvalidRequest(f"{shown(found)} is no list", path=f"label.{name}", fix="send a list")
    return found


def _text_of(holder: Mapping[str, Any], name: str) -> str | None:
    """Return the name that a field holds, None where there is none."""
    found = holder.get(name)
    if found is not None and not isinstance(found, str):
        raise InvalidRequest(f"{shown(found)} is no name", path=f"label.{name}", fix="send text, or leave it out")
    return found or None


def _language_of(label: Mapping[str, Any]) -> str:
    """Return what completions are written in; Python has one name here, whatever the label calls it."""
    named = _text_of(label, "language") or _PYTHON
    return _PYTHON if named.strip().lower() in _PYTHON_TOO else named


def _of_pairs(inputs: Sequence[Any], outputs: Sequence[Any], function: str | None, language: str) -> Document:
    if len(inputs) != len(outputs):
        raise InvalidRequest(
            f"{len(inputs)} inputs for {len(outputs)} outputs", path="label.outputs", fix="give one for each"
        )
    if function is None:
        pairs = zip(inputs, outputs, strict=True)
        programs = {"cases": [_case(one, other) for one, other in pairs]}
        return programs if language == _PYTHON else {"verifier": "stdio", "language": language, **programs}
    if all(isinstance(one, list) for one in inputs):  # values, not texts of them
        cases = [{"args": one, "expected": other} for one, other in zip(inputs, _unwrapped(outputs), strict=True)]
    else:
        cases = [
            {"args": _arguments(one), "expected": _value(other)} for one, other in zip(inputs, outputs, strict=True)
        ]
    if language != _PYTHON:
        return {"verifier": "calls", "language": language, "entry_point": function, "cases": cases}
    return {"entry_point": function, "cases": cases, "style": "calls"}


def _unwrapped(outputs: Sequence[Any]) -> Sequence[Any]:
    """APPS and those who followed keep what a call returns as x or as [x]: where all are lists of one, it is [x]."""
    wrapped = all(isinstance(one, list) and len(one) == 1 for one in outputs)
    return [one[0] for one in outputs] if wrapped else outputs


def _case(given: Any, wanted: Any) -> Document:
    """Return a test of a program; one that reads nothing may have no input, but none is without an output."""
    if wanted is None:
        raise InvalidRequest("a test of a program has no output", path="label", fix="say what it must write")
    return {"stdin": "" if given is None else _as_text(given), "stdout": _as_text(wanted)}


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
        return _loaded(text)
    except ValueError:
        return text


def _of_test_cases(label: Mapping[str, Any]) -> Document:
    listed = _list_of(label, "test_cases")
    if not all(isinstance(one, Mapping) for one in listed):
        raise InvalidRequest("a test is an object", path="label.test_cases", fix="send {input, output}")
    names = {_text_of(one, "fn_name") for one in listed}
    if len(names) > 1:
        raise InvalidRequest("tests of several functions", path="label.test_cases", fix="give each its own label")
    if any(names):
        inputs, outputs = ([one.get(name) for one in listed] for name in ("input", "output"))
        return _of_pairs(inputs, outputs, names.pop(), _language_of(label))
    cases = [_case(one.get("input"), one.get("output")) for one in listed]
    return {"verifier": "stdio", "language": _language_of(label), "cases": cases}
