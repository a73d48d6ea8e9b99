"""In the oracle: stand-ins for the candidate's classes, objects, functions and methods.

A proxy has exactly the special methods that the candidate says its class has, out of a closed list, so that
`len(x)` or `iter(x)` fail where they would fail; each asks the candidate. What a comparison means is never asked
without the rules of `assay.verifiers.split.trust`.
"""

from collections.abc import Callable, Iterator
from typing import Any  # operands and results are of every type

from assay.verifiers.split import trust
from assay.verifiers.split.guests import signature_from
from assay.verifiers.split.kinds import Link, ProxyObject, Standin, StandinClass, link_of
from assay.verifiers.split.likeness import code_like
from assay.verifiers.split.operations import ARITHMETIC, CONVERSIONS, ITEMS, ORDERING

_VISIBLE = frozenset({"__wrapped__", "__annotations__", "__match_args__", "__members__", "__name__", "__qualname__"})
"""Double-underscore attributes that may be asked for; all others do not exist on a proxy."""


class RemoteClass(StandinClass):
    """The type of stand-ins for the candidate's classes: calling one makes an instance over there."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> "RemoteClass":
        """Only `assay.verifiers.split.standins` makes such classes; tests cannot derive from them."""
        if "_assay_link" not in namespace:
            raise TypeError(f"{name}: a class of the completion cannot be derived from in a split oracle")
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        link, handle = target_of(cls)
        return link.call(handle, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_assay_") or (is_dunder(name) and name not in _VISIBLE):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        link, _ = target_of(cls)
        return link.special("getattr", cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        if name.startswith(("__", "_assay_", "_abc")):
            super().__setattr__(name, value)
        else:
            target_of(cls)[0].special("setattr", cls, name, value)

    def __iter__(cls) -> Iterator[Any]:
        return iter(target_of(cls)[0].special("iter", cls))

    def __len__(cls) -> int:
        return trust.exact("__len__", int, target_of(cls)[0].special("len", cls))

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return target_of(cls)[0].special("getitem", cls, key)

    def __contains__(cls, item: Any) -> bool:
        return trust.exact("__contains__", bool, target_of(cls)[0].special("contains", cls, item))


def target_of(cls: RemoteClass) -> tuple[Link, int]:
    """Return where a class lives, after a restart in the new candidate; note that the test has used it by name."""
    link, handle = cls._assay_link
    if link.gone is not None:
        link, handle = link.renew(cls.__qualname__)
        type.__setattr__(cls, "_assay_link", (link, handle))
    type.__setattr__(cls, "_assay_used", True)
    return link, handle


class Proxy(ProxyObject):
    """A stand-in for an object of the candidate's."""

    __slots__ = ("__weakref__", "_assay_at")
    _assay_at: tuple[Link, int]

    def __getattr__(self, name: str) -> Any:
        return ask_attribute(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _refuse_dunder(self, name)
        link_of(self)[0].special("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        _refuse_dunder(self, name)
        link_of(self)[0].special("delattr", self, name)

    def __eq__(self, other: object) -> Any:
        return trust.equal(self, other)

    def __ne__(self, other: object) -> Any:
        equal = trust.equal(self, other)
        return equal if equal is NotImplemented else not equal

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return trust.exact("__repr__", str, link_of(self)[0].special("repr", self))

    def __str__(self) -> str:
        return trust.exact("__str__", str, link_of(self)[0].special("str", self))

    def __format__(self, spec: str) -> str:
        return trust.exact("__format__", str, link_of(self)[0].special("format", self, spec))

    def __dir__(self) -> list[str]:
        return trust.exact("__dir__", list, link_of(self)[0].special("dir", self))

    def __copy__(self) -> Any:
        return _copy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return _deepcopy(self, memo)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"an object of the completion ({type(self).__name__}) cannot be pickled")


def ask_attribute(obj: Any, name: str) -> Any:
    """Return an attribute of the candidate's object; methods without asking."""
    if is_dunder(name) and name not in _VISIBLE:
        if name == "__dict__":
            return trust.exact("__dict__", dict, link_of(obj)[0].special("vars", obj))
        raise AttributeError(f"{type(obj).__name__!r} object has no attribute {name!r}")
    link, _ = link_of(obj)
    if name in type(obj)._assay_methods:
        return MethodStub(obj, name)
    return link.special("getattr", obj, name)


def is_dunder(name: str) -> bool:
    """Say whether a name has two underscores on both sides."""
    return name.startswith("__") and name.endswith("__")


def _refuse_dunder(obj: Any, name: str) -> None:
    if is_dunder(name):
        raise AttributeError(f"{name} of a {type(obj).__name__} cannot be set from here")


class MethodStub(Standin):
    """A method of the candidate's object, not yet called."""

    __slots__ = ("__self__", "_assay_name")

    def __init__(self, owner: Any, name: str) -> None:
        self.__self__ = owner
        self._assay_name = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        trust.check_method(self.__self__, self._assay_name, args, kwargs)
        link, handle = link_of(self.__self__)
        return link.method(handle, self._assay_name, args, kwargs)

    @property
    def __name__(self) -> str:
        return self._assay_name

    def __getattr__(self, name: str) -> Any:
        if is_dunder(name) and name not in _VISIBLE and name not in ("__func__", "__doc__"):
            raise AttributeError(name)
        link, _ = link_of(self.__self__)
        return getattr(link.special("getattr", self.__self__, self._assay_name), name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MethodStub) and (
            self.__self__ is other.__self__ and self._assay_name == other._assay_name
        )

    def __hash__(self) -> int:
        return hash((id(self.__self__), self._assay_name))

    def __copy__(self) -> "MethodStub":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "MethodStub":
        return self

    def __repr__(self) -> str:
        return f"<bound method {type(self.__self__).__name__}.{self._assay_name}>"


def _told(index: int) -> property:
    """A fact about a function that the candidate is asked for."""

    def tell(self: "FunctionStub") -> Any:
        link, handle = where(self)
        return link.claim_function(handle)[index]

    return property(tell)


class FunctionStub(Standin):
    # A function of the candidate's. One that was asked for by name outlives its candidate. (No docstring here:
    # `__doc__` is the candidate's.)

    __slots__ = ("__weakref__", "_assay_anchor", "_assay_at", "_assay_name", "_is_coroutine")
    _is_coroutine: Any
    __module__ = _told(2)
    __doc__ = _told(3)

    def __init__(self, link: Link, handle: int, name: str) -> None:
        object.__setattr__(self, "_assay_at", (link, handle))
        object.__setattr__(self, "_assay_anchor", None)
        object.__setattr__(self, "_assay_name", name)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        link, handle = where(self)
        return link.call(handle, args, kwargs)

    @property
    def __name__(self) -> str:
        return str(object.__getattribute__(self, "_assay_name"))

    @property
    def __signature__(self) -> Any:
        link, handle = where(self)
        parameters = link.claim_function(handle)[4]
        try:
            return signature_from(parameters)
        except (ValueError, TypeError) as error:
            raise AttributeError("__signature__") from error

    @property
    def __code__(self) -> Any:
        link, handle = where(self)
        *_, parameters, kind = link.claim_function(handle)
        try:
            return code_like(self.__name__, parameters, kind)
        except (ValueError, TypeError, LookupError) as error:
            raise AttributeError("__code__") from error

    def __getattr__(self, name: str) -> Any:
        link, handle = where(self)
        if name == "__qualname__":
            return link.claim_function(handle)[1]
        if is_dunder(name) and name not in _VISIBLE | {"__defaults__", "__kwdefaults__"}:
            raise AttributeError(f"function {self.__name__!r} has no attribute {name!r}")
        return link.special("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        _refuse_dunder(self, name)
        where(self)[0].special("setattr", self, name, value)

    def __copy__(self) -> "FunctionStub":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "FunctionStub":
        return self

    def __repr__(self) -> str:
        return f"<function {self.__name__} of the completion>"


def where(stub: FunctionStub) -> tuple[Link, int]:
    """Return where a function lives, after a restart in the new candidate."""
    link, handle = object.__getattribute__(stub, "_assay_at")
    anchor = object.__getattribute__(stub, "_assay_anchor")
    if link.gone is not None and anchor is not None:
        link, handle = link.renew(anchor)
        object.__setattr__(stub, "_assay_at", (link, handle))
    return link, handle


def anchor(stub: FunctionStub, name: str) -> None:
    """Remember the module-level name of a function, so that it can be found in the next candidate."""
    object.__setattr__(stub, "_assay_anchor", name)


def _conversion(method: str, operation: str, result: type | None) -> Callable[..., Any]:
    def convert(self: Any) -> Any:
        value = link_of(self)[0].special(operation, self)
        return value if result is None else trust.exact(method, result, value)

    return convert


def _arithmetic(operation: str, *, reflected: bool = False) -> Callable[..., Any]:
    def compute(self: Any, other: Any, *more: Any) -> Any:
        if not trust.may_absorb(self, other):
            return NotImplemented
        operands = (other, self) if reflected else (self, other)
        return link_of(self)[0].special(operation, *operands, *more)

    return compute


def _ordering(operation: str) -> Callable[..., Any]:
    def compare(self: Any, other: Any) -> Any:
        if not trust.may_order(self, other):
            return NotImplemented
        return trust.exact(f"__{operation}__", bool, link_of(self)[0].special(operation, self, other))

    return compare


def _item(operation: str) -> Callable[..., Any]:
    def access(self: Any, *args: Any) -> Any:
        return link_of(self)[0].special(operation, self, *args)

    return access


def _contains(self: Any, item: Any) -> bool:
    if trust.may_absorb(self, item):
        return trust.exact("__contains__", bool, link_of(self)[0].special("contains", self, item))
    return any(found is item or found == item for found in self)


def _call(self: Any, /, *args: Any, **kwargs: Any) -> Any:
    link, handle = link_of(self)
    return link.call(handle, args, kwargs)


def _next(self: Any) -> Any:
    link, handle = link_of(self)
    return link.next_item(handle, eager=False)


def _hint(self: Any) -> Any:
    """`list(x)` and its like ask this first: all items are wanted, so they may come in batches."""
    link, handle = link_of(self)
    link.next_item(handle, eager=True)
    return NotImplemented


def _exit(self: Any, _type: Any, error: BaseException | None, traceback: Any) -> bool:
    link, _ = link_of(self)
    swallows = trust.exact("__exit__", bool, link.special("exit", self, error))
    return swallows and trust.may_swallow(error, traceback)


def _leave_async(self: Any, _type: Any, error: BaseException | None, traceback: Any) -> Any:
    link, _ = link_of(self)
    leaving = link.special("aexit", self, error)

    async def leave() -> bool:
        return bool(await leaving) and trust.may_swallow(error, traceback)

    return leave()


def _copy(self: Any) -> Any:
    return link_of(self)[0].special("copy", self)


def _deepcopy(self: Any, _memo: dict[int, Any]) -> Any:
    return link_of(self)[0].special("deepcopy", self)


METHODS: dict[str, Callable[..., Any]] = {
    **{name: _conversion(name, *entry) for name, entry in CONVERSIONS.items()},
    **{name: _arithmetic(operation) for name, operation in ARITHMETIC.items()},
    **{f"__r{operation}__": _arithmetic(operation, reflected=True) for operation in ARITHMETIC.values()},
    **{f"__i{operation}__": _arithmetic(f"i{operation}") for operation in ARITHMETIC.values()},
    **{name: _ordering(operation) for name, operation in ORDERING.items()},
    **{name: _item(operation) for name, operation in ITEMS.items()},
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
    "__contains__": _contains,
    "__call__": _call,
    "__next__": _next,
    "__length_hint__": _hint,
    "__exit__": _exit,
    "__aexit__": _leave_async,
}
"""The special methods of proxies by name."""
