"""In the oracle: stand-ins for the candidate's functions and methods."""

from typing import Any  # arguments and results are of every type

from assay.verifiers.split import trust
from assay.verifiers.split.guests import signature_from
from assay.verifiers.split.kinds import VISIBLE, Link, Standin, is_dunder, is_predicate, link_of, refuse_dunder
from assay.verifiers.split.likeness import code_like


class MethodStub(Standin):
    """A method of the candidate's object, not yet called."""

    __slots__ = ("__self__", "_assay_name")

    def __init__(self, owner: Any, name: str) -> None:
        self.__self__ = owner
        self._assay_name = name

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        trust.check_method(self.__self__, self._assay_name, args, kwargs)
        if trust.is_looked_up(self.__self__, self._assay_name, args, kwargs):
            return trust.look_up(self.__self__, args[0])
        link, handle = link_of(self.__self__)
        return trust.derive(link.method(handle, self._assay_name, args, kwargs))

    @property
    def __name__(self) -> str:
        return self._assay_name

    def __getattr__(self, name: str) -> Any:
        if is_dunder(name) and name not in VISIBLE and name not in ("__func__", "__doc__"):
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
    """A function of the candidate's. One that was asked for by name outlives its candidate."""

    __slots__ = ("__weakref__", "_assay_anchor", "_assay_at", "_assay_name", "_is_coroutine")
    _is_coroutine: Any
    __module__ = _told(2)

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
        hidden = is_dunder(name) and name not in VISIBLE | {"__defaults__", "__kwdefaults__"}
        if hidden or is_predicate(name):
            raise AttributeError(f"function {self.__name__!r} has no attribute {name!r}")
        return link.special("getattr", self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        refuse_dunder(self, name)
        where(self)[0].special("setattr", self, name, value)

    def __copy__(self) -> "FunctionStub":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "FunctionStub":
        return self

    def __repr__(self) -> str:
        return f"<function {self.__name__} of the completion>"


setattr(FunctionStub, "__doc__", _told(3))  # noqa: B010 - of the instances, in place of the text above
setattr(FunctionStub, "__annotations__", property(lambda self: self.__getattr__("__annotations__")))  # noqa: B010 - the same


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
