"""In the oracle: instances of builtin types' subclasses, with the content that the candidate committed to.

They are real instances of the builtin type, so comparing, hashing, ordering, iterating and `len` happen here, on
the content, and so do arithmetic, items and what the builtin type's other methods read unless the class is the subject
of the test: a list whose `index` or items tell another story than its content would pass tests of an order. Text forms,
calls, and whatever the builtin type lacks ask the candidate; so does everything that would change a list, dict, set or
bytearray, whose content then follows.
"""

from collections.abc import Callable
from typing import Any  # contents are of every type

from assay.verifiers.split import trust
from assay.verifiers.split.kinds import is_dunder, link_of
from assay.verifiers.split.operations import ARITHMETIC
from assay.verifiers.split.plain import stored_as
from assay.verifiers.split.proxies import METHODS, ask_attribute
from assay.verifiers.split.wire import MUTABLE_BASES, ProtocolError

_ASKED = frozenset({"__str__", "__repr__", "__format__", "__call__", "__missing__", "__enter__", "__exit__"})
_MUTATING = ("__setitem__", "__delitem__")
_READING = frozenset(
    {
        "count", "decode", "difference", "endswith", "find", "get", "hex", "index", "intersection", "isdisjoint",
        "issubset", "issuperset", "items", "join", "keys", "rfind", "rindex", "split", "startswith", "strip",
        "symmetric_difference", "union", "values",
    }
)  # fmt: skip
"""Methods of mutable builtin types that change nothing."""


def fill(shadow: Any, content: Any) -> Any:
    """Give a stand-in this content and return it. Raises ProtocolError if the content is of another type."""
    base: Any = stored_as(type(shadow))
    if type(content) is not base:
        raise ProtocolError("a change to something else")
    if base is list or base is bytearray:
        base.__setitem__(shadow, slice(None), content)
    elif base is dict or base is set:
        base.clear(shadow)
        base.update(shadow, content)
    return shadow


def shadow_methods(base: type, special: list[str]) -> dict[str, Any]:
    """Return the namespace of a stand-in class over a builtin type."""
    methods: dict[str, Any] = {
        "__getattr__": ask_attribute,
        "__setattr__": _set_attribute,
        "__copy__": METHODS["__copy__"],
        "__deepcopy__": METHODS["__deepcopy__"],
    }
    methods.update({name: METHODS[name] for name in special if name in _ASKED and name in METHODS})
    for name in ("__str__", "__repr__"):
        if name in special:
            methods[name] = _text(name)
    if "__format__" in special:
        methods["__format__"] = _format
    if "__getitem__" in special:
        methods["__getitem__"] = _item(base)
    for name in special:
        if name.replace("__r", "__", 1) in ARITHMETIC or name in ARITHMETIC:
            methods[name] = _arithmetic(name, METHODS[name], base)
    if base.__name__ in MUTABLE_BASES:
        methods["__getattribute__"] = _get_attribute
        methods.update({name: METHODS[name] for name in _MUTATING if hasattr(base, name)})
        methods.update({name: METHODS[name] for name in METHODS if name.startswith("__i") and _is_in_place(name, base)})
    return methods


def _is_in_place(name: str, base: type) -> bool:
    return "__" + name[3:] in ARITHMETIC and hasattr(base, name)


def _text(name: str) -> Callable[[Any], str]:
    def convert(self: Any) -> str:
        link, _ = link_of(self)
        return trust.exact(name, str, link.special(name.strip("_"), self))

    return convert


def _format(self: Any, spec: str) -> str:
    link, _ = link_of(self)
    return trust.exact("__format__", str, link.special("format", self, spec))


def _arithmetic(name: str, ask: Callable[..., Any], base: type) -> Callable[..., Any]:
    plain = getattr(base, name, None)

    def compute(self: Any, *args: Any) -> Any:
        if plain is None or (trust.is_subject(type(self)) and all(trust.may_match(self, other) for other in args)):
            return ask(self, *args)
        return plain(self, *args)

    return compute


def _item(base: type) -> Callable[..., Any]:
    plain = getattr(base, "__getitem__", None)

    def get(self: Any, key: Any) -> Any:
        if plain is None or trust.is_subject(type(self)):
            return METHODS["__getitem__"](self, key)
        return plain(self, key)

    return get


def _get_attribute(self: Any, name: str) -> Any:
    """Methods that change a mutable builtin would change only the copy here: ask for them."""
    if is_dunder(name) or name.startswith("_assay_"):
        return object.__getattribute__(self, name)
    if name in _READING and hasattr(stored_as(type(self)), name) and not trust.is_subject(type(self)):
        return object.__getattribute__(self, name)
    return ask_attribute(self, name)


def _set_attribute(self: Any, name: str, value: Any) -> None:
    if is_dunder(name):
        raise AttributeError(f"{name} of a {type(self).__name__} cannot be set from here")
    link_of(self)[0].special("setattr", self, name, value)
