"""What the validation library finds wrong with a document, in the words and by the paths of that document."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any  # Any: documents from callers are unparsed JSON

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from assay.errors import InvalidRequest, plain

Place = tuple[str | int, ...]

_KINDS = {
    "string_type": "text", "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "list_type": "a list", "tuple_type": "a list", "dict_type": "an object",
    "model_type": "an object", "mapping_type": "an object", "none_required": "null", "literal_error": "{expected}",
    "enum": "{expected}", "float_parsing": "a number", "int_parsing": "a whole number", "bool_parsing": "true or false",
    "model_attributes_type": "an object",
}  # fmt: skip
"""What would have done in place of what is there, by the library's type of fault."""
_OBJECTS = ("dict_type", "model_type", "mapping_type", "model_attributes_type")


def refusal(error: ValidationError, document: object) -> InvalidRequest:
    """Return the refusal of a document by its first fault; its path begins in the document."""
    faults = error.errors(include_url=False)
    first = faults[0]
    where = _place(document, first)
    if first["type"] in ("union_tag_invalid", "union_tag_not_found"):
        return _of_tag(first, where)
    alike = [fault for fault in faults if _place(document, fault)[: len(where)] == where]
    deepest = max(alike, key=lambda fault: len(_place(document, fault)))
    if len(alike) > 1 and len(where) < len(first["loc"]):  # a union: whichever type got furthest was meant
        if deepest is not first and len(_place(document, deepest)) > len(where):
            first, where = deepest, _place(document, deepest)
        elif all(fault["type"] in _KINDS for fault in alike):
            return InvalidRequest(_wanted(alike), path=json_path("", where), fix="correct the value")
    fix = _fix(first["type"], _unknown_beside(faults, first))
    message = _wanted([first]) if first["type"] in _OBJECTS else plain(first["msg"])
    return InvalidRequest(message, path=json_path("", where), fix=fix)


def _wanted(faults: Iterable[ErrorDetails]) -> str:
    """Say what would have done, where any of several types would."""
    wanted = dict.fromkeys(_KINDS[fault["type"]].format(**fault.get("ctx", {})) for fault in faults)
    if "a number" in wanted:
        wanted.pop("a whole number", None)
    return f"should be {' or '.join(wanted)}"


def json_path(root: str, location: Iterable[str | int]) -> str:
    """Join a location to a JSON path: `("cases", 0, "stdin")` gives `root.cases[0].stdin`."""
    path = root
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def _place(document: object, fault: ErrorDetails) -> Place:
    """Return where in the document a fault is: its location without the types that the library tried there."""
    kept: list[str | int] = []
    here: Any = document
    for number, part in enumerate(fault["loc"], 1):
        if _holds(here, part):
            here = here[part]
        elif number < len(fault["loc"]) or fault["type"] != "missing":
            continue
        kept.append(part)
    return tuple(kept)


def _holds(here: object, part: str | int) -> bool:
    if isinstance(here, Mapping):
        return part in here
    return isinstance(part, int) and isinstance(here, Sequence) and not isinstance(here, str) and part < len(here)


def _of_tag(fault: ErrorDetails, where: Place) -> InvalidRequest:
    """Return the refusal of an object whose kind is not told, or not known."""
    told = fault.get("ctx", {})
    name = str(told["discriminator"]).strip("'")
    path = json_path("", (*where, name))
    if fault["type"] == "union_tag_not_found":
        return InvalidRequest(f"{name!r} is missing", path=path, fix=f"say by {name!r} which kind of object this is")
    known = str(told["expected_tags"]).replace("'", "")
    return InvalidRequest(f"unknown {name} {told['tag']!r}", path=path, fix=f"use one of {known}")


def _unknown_beside(faults: Sequence[ErrorDetails], fault: ErrorDetails) -> str:
    """Name a field that is unknown where a fault is: perhaps the missing one, misspelled."""
    beside = fault["loc"][:-1]
    unknown = (one["loc"] for one in faults if one["type"] == "extra_forbidden")
    return next((str(where[-1]) for where in unknown if where[:-1] == beside), "")


def _fix(kind: str, unknown: str) -> str:
    known = {
        "extra_forbidden": "remove the field, or check its spelling",
        "missing": f"add the field; there is an unknown one, {unknown!r}" if unknown else "add the field",
    }
    return known.get(kind, "correct the value")
