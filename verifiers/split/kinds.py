"""What makes a value a stand-in for something of the candidate's, and how to get from it to the conversation."""

from enum import Enum
from typing import Any, Protocol  # operands and results are of every type

from assay.verifiers.split.wire import Ask

VISIBLE = frozenset({"__wrapped__", "__annotations__", "__match_args__", "__members__", "__name__", "__qualname__"})
"""Double-underscore attributes that may be asked for; all others do not exist on a proxy."""

_PREDICATES = frozenset(
    {
        "startswith", "endswith", "issubset", "issuperset", "isdisjoint", "intersection", "difference",
        "symmetric_difference", "equals", "identical", "compare", "isin", "eq", "ne",
    }
)  # fmt: skip
"""Methods of builtin or library types that compare with their argument."""


class Link(Protocol):
    """The conversation with the candidate, as proxies use it."""

    @property
    def gone(self) -> str | None:
        """Why the candidate is no longer there, or None."""
        ...

    def call(self, handle: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the object behind a handle."""
        ...

    def method(self, handle: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a method of the object behind a handle."""
        ...

    def special(self, operation: str, *args: Any) -> Any:
        """Have an operation done over there."""
        ...

    def handle_of(self, obj: Any) -> int | None:
        """Return the handle of a stand-in."""
        ...

    def next_item(self, handle: int, *, eager: bool) -> Any:
        """Return the next item of an iterator. Raises StopIteration."""
        ...

    def fields(self, handle: int) -> Any:
        """Return the compared fields of a dataclass instance."""
        ...

    def claim_function(self, handle: int) -> list[Any]:
        """Return the description of a function."""
        ...

    def renew(self, anchor: str) -> "tuple[Link, int]":
        """Return link and handle of a module-level name in the candidate that took this one's place."""
        ...

    def when_idle(self, kind: Ask, handle: int, *fields: str) -> None:
        """Ask this now or, within an exchange, after it: for what may run when an object is collected."""
        ...

    def start_task(self, handle: int) -> int:
        """Begin to run an awaitable of the candidate's; return the number of the task."""
        ...

    def cancel_task(self, number: int) -> None:
        """Ask a task to end."""
        ...

    def pump(self, seconds: float) -> None:
        """Let the candidate's loop run until a task is done, at most this long."""
        ...

    def task_outcome(self, number: int) -> list[Any] | None:
        """Return [number, succeeded, value or error] of a task that is done (None for succeeded: cancelled)."""
        ...


class Standin:
    """Marks the types of objects, functions and methods that stand for the candidate's."""

    __slots__ = ()


class ProxyObject(Standin):
    """Marks objects whose storage is in the candidate's process alone."""

    __slots__ = ("_assay_origin",)


class Origin(Enum):
    """Where a test has an object from: unmarked ones were got by name or returned by a function."""

    MADE = "by calling its class"
    RETURNED = "made by the test, and later returned by a method or an attribute"
    RESULT = "from a method, an attribute or an operation"


class StandinClass(type):
    """The type of stand-ins for the candidate's classes, as far as the rules of trust need to know it."""

    _assay_link: tuple[Link, int]
    _assay_used: bool
    _assay_names: set[str]
    """The names by which tests got the class."""
    _assay_methods: frozenset[str]
    _assay_compares_fields: bool
    _assay_defines_eq: bool


def link_of(obj: Any) -> tuple[Link, int]:
    """Return where the object behind a proxy, or behind an instance of a builtin's subclass, lives."""
    if isinstance(obj, ProxyObject):
        return object.__getattribute__(obj, "_assay_at")  # type: ignore[no-any-return]  # set when it was made
    link, _ = type(obj)._assay_link
    handle = link.handle_of(obj)
    if handle is None:
        raise AttributeError(f"{type(obj).__name__!r} object made by the tests has no such attribute")
    return link, handle


def is_standin(value: object) -> bool:
    """Say whether `value` already is an object of the candidate's."""
    return isinstance(value, Standin) or isinstance(type(value), StandinClass)


def is_predicate(name: str) -> bool:
    """Say whether a method of this name compares with its argument."""
    return name in _PREDICATES


def is_dunder(name: str) -> bool:
    """Say whether a name has two underscores on both sides."""
    return name.startswith("__") and name.endswith("__")


def refuse_dunder(obj: Any, name: str) -> None:
    """Raise AttributeError for a name with two underscores on both sides: those are not the tests' to set."""
    if is_dunder(name):
        raise AttributeError(f"{name} of a {type(obj).__name__} cannot be set from here")
