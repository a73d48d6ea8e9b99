"""What the tests see of the completion: `remote.Candidate` in another process, or `InProcess` in their own."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Protocol  # values of any type cross

from assay.outcomes import Outcome


@dataclass(frozen=True)
class Returned:
    """A call that returned."""

    value: Any


@dataclass(frozen=True)
class Raised:
    """A call that raised."""

    error: BaseException


Call = tuple[tuple[Any, ...], dict[str, Any]]


class Subject(Protocol):
    """The completion's module as the tests reach it."""

    @property
    def names(self) -> frozenset[str]:
        """The names that the module defined when it was loaded."""
        ...

    @property
    def load_error(self) -> tuple[str, str] | None:
        """(outcome, message) if it could not be loaded."""
        ...

    @property
    def gone(self) -> str | None:
        """Why the candidate is no longer there, or None."""
        ...

    @property
    def was_asked(self) -> bool:
        """Whether the tests have read a name of the module: what they raise may be its doing."""
        ...

    def has(self, name: str) -> bool:
        """Whether the module has that name."""
        ...

    def get(self, name: str) -> Any:
        """Return the value or stub of a name. Raises AttributeError."""
        ...

    def set(self, name: str, value: Any) -> None:
        """Assign a name of the module."""
        ...

    def call_many(self, name: str, calls: Iterable[Call], *, ahead: bool = True) -> Iterator[Returned | Raised]:
        """Call a name once per element, in order; with `ahead` the next calls may be under way already."""
        ...

    def reset_clock(self) -> None:
        """A test begins: the time spent waiting starts at zero."""
        ...

    def look_for_cuts(self) -> bool:
        """Between tests, say whether a StopIteration that it raised has ended a loop of theirs so far.

        They then assert less than they say.
        """
        ...


class InProcess:
    """The completion in the tests' own process (shared mode): nothing crosses, and nothing is protected."""

    gone: str | None = None
    was_asked = False

    def __init__(self, module: ModuleType, error: tuple[str, str] | None) -> None:
        self.load_error = error
        self._module = module

    @property
    def names(self) -> frozenset[str]:
        """The names that the module defines now."""
        return frozenset(vars(self._module))

    def has(self, name: str) -> bool:
        """Whether the module has that name."""
        return name in vars(self._module)

    def get(self, name: str) -> Any:
        """Return the value of a name. Raises AttributeError."""
        self.was_asked = True
        try:
            return vars(self._module)[name]
        except KeyError:
            raise AttributeError(f"module {self._module.__name__!r} has no attribute {name!r}") from None

    def set(self, name: str, value: Any) -> None:
        """Assign a name of the module."""
        setattr(self._module, name, value)

    def call_many(self, name: str, calls: Iterable[Call], *, ahead: bool = True) -> Iterator[Returned | Raised]:
        """Call a name once per element, in order."""
        del ahead
        for args, kwargs in calls:
            try:
                yield Returned(self.get(name)(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - the completion may raise anything
                yield Raised(error)

    def reset_clock(self) -> None:
        """Nobody waits for anybody."""

    def look_for_cuts(self) -> bool:
        """Nobody looks: what the completion raises cannot be told from what the tests do."""
        return False


def outcome_of(error: BaseException) -> Outcome:
    """Return the outcome of a test that raised `error`."""
    if isinstance(error, AssertionError):
        return Outcome.FAILED
    return Outcome.MEMORY_EXCEEDED if isinstance(error, MemoryError) else Outcome.RUNTIME_ERROR


def mark_of(subject: Subject, outcome: Outcome, message: str) -> tuple[Outcome, str]:
    """Return what a test that came to an end comes to, given that."""
    if subject.look_for_cuts() and outcome is Outcome.PASSED:
        return Outcome.RUNTIME_ERROR, "StopIteration: a call raised it, and it ended a loop of the tests"
    return outcome, message
