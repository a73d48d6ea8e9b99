"""What the validation library finds wrong with a document, in the words and by the paths of that document."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any  # Any: documents from callers are unparsed JSON

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from assay.errors import InvalidRequest, plain
from assay.spelling import choices, nearest, shown
from assay.verifiers.fields import fields_at

Place = tuple[str | int, ...]

_KINDS = {
    "string_type": "text", "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "bool_type": "true or false", "list_type": "a list", "tuple_type": "a list", "dict_type": "an object",
    "model_type": "an object", "mapping_type": "an object", "none_required": "null", "literal_error": "{expected}",
    "enum": "{expected}", "float_parsing": "a number", "int_parsing": "a whole number", "bool_parsing": "true or false",
    "model_attributes_type": "an object",
}  # fmt: skip
"""What would have done in place of what is there, by the library's type of fault."""
_WRITTEN = {"text": "text in quotes", "a list": "a list [...]", "an object": "an object {...}"}
_UNQUOTED = ("int_type", "float_type", "bool_type")
_REMEDIES = {
    "finite_number": "write a finite number", "greater_than": "write a number above {gt}",
    "greater_than_equal": "write a number of at least {ge}", "less_than": "write a number below {lt}",
    "less_than_equal": "write a number of at most {le}", "too_short": "give {min_length} or more",
    "too_long": "give {max_length} or fewer", "string_too_short": "write {min_length} or more characters",
    "string_too_long": "write {max_length} or fewer characters", "multiple_of": "write a multiple of {multiple_of}",
    "string_pattern_mismatch": "write text that the pattern matches",
}  # fmt: skip
"""What to do about what is of the right type, by the library's type of fault."""
_LISTED = 12  # fields
_LONGEST_MESSAGE = 2000  # characters: a check of a model may repeat what is there
_LONGEST_STEP = 512  # characters of a name in a path, which a caller may have chosen
_QUOTED = re.compile("'([^']*)'")
_OBJECTS = ("dict_type", "model_type", "mapping_type", "model_attributes_type")
_PLACED, _ABSENT = "placed", "absent"


def misplaced(place: Iterable[str | int], what: str, fix: str = "", *, absent: bool = False) -> ValidationError:
    """Return what a model's own check raises for a fault in one of its fields, or deeper: `place` leads there.

    Raised as a ValueError it would be told of the model as a whole. `absent`: the field is not there, and should be.
    """
    fault = PydanticCustomError(_ABSENT if absent else _PLACED, "{what}", {"what": what, "fix": fix})
    return ValidationError.from_exception_data("task", [InitErrorDetails(type=fault, loc=tuple(place), input=None)])


def refusal(error: ValidationError, document: object, model: type[BaseModel]) -> InvalidRequest:
    """Return the refusal of a document, by a model, by its first fault; its path begins in the document."""
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
            return InvalidRequest(f"should be {_wanted(alike)}", path=json_path("", where), fix=_retyped(alike))
    if first["type"] == "extra_forbidden":
        return _of_unknown_field(where, fields_at(model, first["loc"][:-1]))
    fix = first.get("ctx", {}).get("fix") or _fix(first, faults)
    message = f"should be {_wanted([first])}" if first["type"] in _OBJECTS else plain(first["msg"])[:_LONGEST_MESSAGE]
    return InvalidRequest(message, path=json_path("", where), fix=fix)


def _of_unknown_field(where: Place, known: Sequence[str]) -> InvalidRequest:
    """Return the refusal of a field that its object does not have."""
    name = where[-1] if where else ""
    meant = nearest(name, known)
    listed = choices(name, known, most=_LISTED) if known else "check its spelling"
    fix = f"{listed}, or remove it" if meant is None else f"did you mean {meant!r}? else remove it"
    return InvalidRequest(f"unknown field {shown(name)}", path=json_path("", where), fix=fix)


def _wanted(faults: Iterable[ErrorDetails]) -> str:
    """Say what would have done, where any of several types would."""
    return " or ".join(_kinds(faults))


def _kinds(faults: Iterable[ErrorDetails]) -> dict[str, bool]:
    """Return what would have done, and whether what is there is a text that only its quotes may keep from it."""
    wanted = {
        _KINDS[fault["type"]].format(**fault.get("ctx", {})): fault["type"] in _UNQUOTED and _is_text(fault)
        for fault in faults
    }
    if "a number" in wanted:
        wanted.pop("a whole number", None)
    return wanted


def _is_text(fault: ErrorDetails) -> bool:
    return isinstance(fault["input"], str)


def _retyped(faults: Sequence[ErrorDetails]) -> str:
    """Say how to write a value whose type is another, or which is none of those listed."""
    listed = str(faults[0].get("ctx", {}).get("expected", ""))
    if len(faults) == 1 and _is_text(faults[0]) and (names := _QUOTED.findall(listed)):
        return choices(faults[0]["input"], names)
    written = (
        f"{_WRITTEN.get(kind, kind)}{' without quotes' if bare else ''}" for kind, bare in _kinds(faults).items()
    )
    return f"write {' or '.join(written)}"


def json_path(root: str, location: Iterable[str | int]) -> str:
    """Join a location to a JSON path: `("cases", 0, "stdin")` gives `root.cases[0].stdin`; long names are cut."""
    path = root
    for part in location:
        name = part if isinstance(part, int) or len(part) <= _LONGEST_STEP else f"{part[:_LONGEST_STEP]}..."
        path += f"[{name}]" if isinstance(part, int) else f".{name}" if path else str(name)
    return path


def _place(document: object, fault: ErrorDetails) -> Place:
    """Return where in the document a fault is: its location without the types that the library tried there."""
    kept: list[str | int] = []
    here: Any = document
    for number, part in enumerate(fault["loc"], 1):
        if _holds(here, part):
            here = here[part]
        elif number < len(fault["loc"]) or fault["type"] not in ("missing", _ABSENT, _PLACED):
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
    known = _QUOTED.findall(str(told["expected_tags"]))
    return InvalidRequest(f"unknown {name} {shown(told['tag'])}", path=path, fix=choices(told["tag"], known))


def _fix(fault: ErrorDetails, faults: Sequence[ErrorDetails]) -> str:
    """Say what to do about a fault of the library's own."""
    kind = fault["type"]
    if kind == "missing":
        beside = fault["loc"][:-1]
        unknown = [
            str(one["loc"][-1]) for one in faults if one["type"] == "extra_forbidden" and one["loc"][:-1] == beside
        ]
        meant = nearest(fault["loc"][-1], unknown) or next(iter(unknown), None)
        return "add the field" if meant is None else f"add the field; there is an unknown one, {shown(meant)}"
    if kind == _ABSENT:
        return "add the field"
    return remedy(fault)


def remedy(fault: ErrorDetails) -> str:
    """Say how to write a value that is there and will not do."""
    if fault["type"] in _KINDS:
        return _retyped([fault])
    return _REMEDIES.get(fault["type"], "correct the value").format(**fault.get("ctx", {}))
