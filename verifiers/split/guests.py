"""In the candidate's process: stand-ins for objects of the tests that were passed as arguments.

A guest does what the tests' object does by asking for it: calls, attributes, operators, iteration. The other end
(`assay.verifiers.split.exports`) decides what may be asked for.
"""

import builtins
import inspect
from collections.abc import Callable, Iterator
from typing import Any  # operands and results are of every type

from assay.verifiers.split.loops import Pending
from assay.verifiers.split.operations import ARITHMETIC, CONVERSIONS, ITEMS, ORDERING

Ask = Callable[..., Any]
"""`ask(operation, handle, *args, **kwargs)` has the oracle do something with one of its objects."""


class Guest:
    """A stand-in for an object of the tests."""

    __slots__ = ("__weakref__", "_assay_link")
    _assay_link: tuple[Ask, int]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return ask_about(self, "getattr", name)

    def __setattr__(self, name: str, value: object) -> None:
        ask_about(self, "setattr", name, value)

    def __delattr__(self, name: str) -> None:
        ask_about(self, "delattr", name)


class GuestClass(type):
    """The type of stand-ins for classes of the tests: calling one makes an instance over there."""

    _assay_class: tuple[Ask, int]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        ask, handle = cls._assay_class
        return ask("call", handle, *args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        ask, handle = cls._assay_class
        return ask("getattr", handle, name)


def ask_about(guest: Any, operation: str, *args: Any, **kwargs: Any) -> Any:
    """Ask for an operation on the object behind `guest`."""
    ask, handle = object.__getattribute__(guest, "_assay_link")
    return ask(operation, handle, *args, **kwargs)


def make_class(name: str, special: list[str], link: tuple[Ask, int], exception: str | None) -> type:
    """Make the class of guests whose originals have these special methods."""
    methods: dict[str, Any] = {"_assay_class": link, "__slots__": ()}
    methods.update({method: _METHODS[method] for method in special if method in _METHODS})
    if exception is None:
        return GuestClass(name, (Guest,), methods)
    del methods["__slots__"]
    return type(name, (getattr(builtins, exception),), methods)


def make_guest(cls: type, link: tuple[Ask, int]) -> Any:
    """Make a guest of a class from `make_class`."""
    guest: Any = object.__new__(cls)
    object.__setattr__(guest, "_assay_link", link)
    return guest


def make_function(link: tuple[Ask, int], name: str, doc: str | None, parameters: Any, is_async: bool) -> Any:
    """Make a function that calls a function of the tests."""
    ask, handle = link

    def call(*args: Any, **kwargs: Any) -> Any:
        return ask("call", handle, *args, **kwargs)

    async def call_async(*args: Any, **kwargs: Any) -> Any:
        return await ask("call", handle, *args, **kwargs)

    function: Any = call_async if is_async else call
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    if parameters is not None:
        function.__signature__ = signature_from(parameters)
    return function


def signature_from(parameters: list[Any]) -> inspect.Signature:
    """Build a signature from [name, kind, has default, default] of each parameter. Raises ValueError, TypeError."""
    return inspect.Signature(
        [
            inspect.Parameter(
                name, inspect._ParameterKind(kind), default=default if has_default else inspect.Parameter.empty
            )
            for name, kind, has_default, default in parameters
        ]
    )


def _plain(operation: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        return ask_about(self, operation, *args)

    return method


def _reflected(operation: str) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        return ask_about(self, "r" + operation, other)

    return method


def _call(self: Any, *args: Any, **kwargs: Any) -> Any:
    return ask_about(self, "call", *args, **kwargs)


def _iter(self: Any) -> Iterator[Any]:
    found = ask_about(self, "iter")
    return found if hasattr(type(found), "__next__") else iter(found)


def _await(self: Any) -> Any:
    result = ask_about(self, "await")
    if isinstance(result, Pending):
        return (yield from result.future)
    return result


def _exit(self: Any, _type: Any, error: Any, _traceback: Any) -> Any:
    return ask_about(self, "exit", error)


_METHODS: dict[str, Callable[..., Any]] = {
    **{name: _plain(operation) for name, (operation, _) in CONVERSIONS.items()},
    **{name: _plain(operation) for name, operation in ARITHMETIC.items()},
    **{f"__r{operation}__": _reflected(operation) for operation in ARITHMETIC.values()},
    **{f"__i{operation}__": _plain(f"i{operation}") for operation in ARITHMETIC.values()},
    **{name: _plain(operation) for name, operation in ORDERING.items()},
    **{name: _plain(operation) for name, operation in ITEMS.items()},
    "__eq__": _plain("eq"),
    "__contains__": _plain("contains"),
    "__format__": _plain("format"),
    "__next__": _plain("next"),
    "__call__": _call,
    "__iter__": _iter,
    "__exit__": _exit,
    "__await__": _await,
}
