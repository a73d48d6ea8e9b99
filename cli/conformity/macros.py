"""Size macros of conformity files: a small file can ask for large text.

`{"$repeat": [text, n]}` is text n times, `{"$concat": [part, ...]}` the parts joined; they nest.
"""

from typing import Any  # Any: JSON values before they are typed

from assay.errors import InvalidRequest

_LARGEST = 256 * 2**20  # characters; a typing error in a file must not fill the memory


def expand(value: Any) -> Any:
    """Return `value` with every macro replaced, at any depth. Raises InvalidRequest for a malformed one."""
    if isinstance(value, list):
        return [expand(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "$repeat" in value:
        return _repeat(value)
    if "$concat" in value:
        return _concat(value)
    return {key: expand(item) for key, item in value.items()}


def _repeat(macro: dict[str, Any]) -> str:
    match macro:
        case {"$repeat": [text, int(times)]} if len(macro) == 1 and times >= 0:
            part = expand(text)
            if isinstance(part, str) and len(part) * times <= _LARGEST:
                return part * times
    raise InvalidRequest(f"malformed macro: {_start(macro)}", fix='write {"$repeat": [text, n]}')


def _concat(macro: dict[str, Any]) -> str:
    match macro:
        case {"$concat": [*parts]} if len(macro) == 1:
            texts = [expand(part) for part in parts]
            if all(isinstance(text, str) for text in texts) and sum(map(len, texts)) <= _LARGEST:
                return "".join(texts)
    raise InvalidRequest(f"malformed macro: {_start(macro)}", fix='write {"$concat": [part, ...]}')


def _start(macro: dict[str, Any]) -> str:
    return repr(macro)[:80]
