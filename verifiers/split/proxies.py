"""In the oracle: stand-ins for the candidate's classes and objects.

A proxy has exactly the special methods that the candidate says its class has, out of a closed list, so that
`len(x)` or `iter(x)` fail where they would fail; each asks the candidate. What a comparison means is never asked
without the rules of `assay.verifiers.split.trust`.
"""

from collections.abc import Callable, Iterator
from typing import Any  # operands and results are of every type

from assay.verifiers.split import trust
from assay.verifiers.split.functions import MethodStub
from assay.verifiers.split.kinds import (
    VISIBLE,
    Link,
    ProxyObject,
    StandinClass,
    is_dunder,
    is_predicate,
    link_of,
    refuse_dunder,
)
from assay.verifiers.split.operations import ARITHMETIC, CONVERSIONS, ITEMS, ORDERING


class RemoteClass(StandinClass):
    """The type of stand-ins for the candidate's classes: calling one makes an instance over there."""

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> "RemoteClass":
        """Only `assay.verifiers.split.standins` makes such classes; tests cannot derive from them."""
        if "_assay_link" not in namespace:
            raise TypeError(f"{name}: a class of the completion cannot be derived from in a split oracle")
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        link, handle = target_of(cls)
        return trust.construct(link.call(handle, args, kwargs))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("_assay_") or (is_dunder(name) and name not in VISIBLE):
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        link, _ = target_of(cls)
        if is_predicate(name) and not trust.is_subject(cls):
            raise AttributeError(f"{name} of {cls.__name__!r}, which is not plain data, is not trusted")
        found = link.special("getattr", cls, name)
        if isinstance(found, RemoteClass):
            found._assay_names.add(name)
        return found

    @property
    def __annotations__(cls) -> Any:  # type: ignore[override]  # as the candidate says
        return target_of(cls)[0].special("getattr", cls, "__annotations__")

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
        refuse_dunder(self, name)
        link_of(self)[0].special("setattr", self, name, value)

    def __delattr__(self, name: str) -> None:
        refuse_dunder(self, name)
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
    if is_dunder(name) and name not in VISIBLE:
        if name == "__dict__":
            return trust.exact("__dict__", dict, link_of(obj)[0].special("vars", obj))
        raise AttributeError(f"{type(obj).__name__!r} object has no attribute {name!r}")
    link, _ = link_of(obj)
    if name in type(obj)._assay_methods or (is_predicate(name) and not trust.is_subject(type(obj))):
        return MethodStub(obj, name)
    value = trust.derive(link.special("getattr", obj, name))
    return MethodStub(obj, name) if name == "index" and callable(value) else value


def _conversion(method: str, operation: str, result: type | None) -> Callable[..., Any]:
    def convert(self: Any) -> Any:
        value = link_of(self)[0].special(operation, self)
        if result is not None:
            return trust.exact(method, result, value)
        return value if value is self else trust.derive(value)

    return convert


def _arithmetic(operation: str, *, reflected: bool = False) -> Callable[..., Any]:
    allowed = trust.may_match if operation in ("sub", "isub") else trust.may_absorb

    def compute(self: Any, other: Any, *more: Any) -> Any:
        if not allowed(self, other):
            return NotImplemented
        operands = (other, self) if reflected else (self, other)
        value = link_of(self)[0].special(operation, *operands, *more)
        return trust.derive(value) if trust.is_result(self) or trust.is_result(other) else value

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
    if trust.may_contain(self, item):
        return trust.exact("__contains__", bool, link_of(self)[0].special("contains", self, item))
    is_iterable = any({"__iter__", "__getitem__"} & vars(base).keys() for base in type(self).__mro__)
    if not is_iterable and trust.is_subject(type(self)) and type(item) not in (str, bytes):
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
